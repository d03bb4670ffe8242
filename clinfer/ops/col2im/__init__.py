"""Col2Im: columns of sliding blocks added up to images."""
from clinfer.ops.col2im.kernels import KERNELS
from clinfer.ops.col2im.op import Col2Im
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("col2im", converters={"Col2Im": by_attributes(Col2Im)}, kernels={Col2Im: KERNELS})
