"""Multinomial: classes, drawn by their probabilities."""
from clinfer.ops.multinomial.kernels import KERNELS
from clinfer.ops.multinomial.op import DrawClasses, convert_multinomial
from clinfer.ops.operation import Operation

OPERATION = Operation("multinomial", converters={"Multinomial": convert_multinomial}, kernels={DrawClasses: KERNELS})
