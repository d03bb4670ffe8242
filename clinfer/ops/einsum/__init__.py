"""Einsum: sums of products over named axes, as matrix products where they are such."""
from clinfer.ops.einsum.convert import convert_einsum
from clinfer.ops.einsum.kernels import KERNELS
from clinfer.ops.einsum.op import Einsum
from clinfer.ops.operation import Operation

OPERATION = Operation("einsum", converters={"Einsum": convert_einsum}, kernels={Einsum: KERNELS})

__all__ = ["OPERATION", "Einsum"]
