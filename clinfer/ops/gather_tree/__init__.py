"""GatherTree: the sequences that a beam search has found."""
from clinfer.ops.gather_tree.kernels import KERNELS
from clinfer.ops.gather_tree.op import GatherTree
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("gather_tree", converters={"GatherTree": by_attributes(GatherTree)},
                      kernels={GatherTree: KERNELS})
