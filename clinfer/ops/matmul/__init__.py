"""The matrix product."""
from clinfer.ops.matmul.kernels import KERNELS
from clinfer.ops.matmul.op import MatMul
from clinfer.ops.room import Room, by_attributes

ROOM = Room("matmul", converters={"MatMul": by_attributes(MatMul)}, kernels={MatMul: KERNELS})
