"""LRN: local response normalisation."""
from clinfer.ops.lrn.kernels import KERNELS
from clinfer.ops.lrn.op import LRN
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("lrn", converters={"LRN": by_attributes(LRN)}, kernels={LRN: KERNELS})

__all__ = ["LRN", "OPERATION"]
