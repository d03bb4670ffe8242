"""EmbeddingBag and EmbeddingSegments: rows of a table, summed up by bags of indices."""
from clinfer.ops.embedding_bag.kernels import KERNELS
from clinfer.ops.embedding_bag.op import CONVERTERS, EmbeddingBag
from clinfer.ops.operation import Operation

OPERATION = Operation("embedding_bag", converters=CONVERTERS, kernels={EmbeddingBag: KERNELS})
