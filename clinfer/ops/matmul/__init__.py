"""The matrix product."""
from clinfer.ops.matmul.kernels import KERNELS
from clinfer.ops.matmul.op import MatMul, convert_matmul
from clinfer.ops.room import Room

ROOM = Room("matmul", converters={"MatMul": convert_matmul}, kernels={MatMul: KERNELS})
