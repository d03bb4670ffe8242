"""BatchToSpace and SpaceToBatch: elements moved between the batch and spatial blocks."""
from clinfer.ops.batch_space.kernels import KERNELS
from clinfer.ops.batch_space.op import BatchToSpace, SpaceToBatch
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("batch_space", converters={"BatchToSpace": by_attributes(BatchToSpace),
                                                 "SpaceToBatch": by_attributes(SpaceToBatch)},
                      kernels={BatchToSpace: KERNELS, SpaceToBatch: KERNELS})
