"""TopK: the largest or smallest elements along one axis, with their places."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.topk.kernels import KERNELS
from clinfer.ops.topk.op import TopK

OPERATION = Operation("topk", converters={"TopK": by_attributes(TopK)}, kernels={TopK: KERNELS})

__all__ = ["OPERATION", "TopK"]
