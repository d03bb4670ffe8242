"""The matrix product."""
from clinfer.ops.matmul.kernels import COMPRESSED_KERNELS, KERNELS
from clinfer.ops.matmul.op import CompressedMatMul, MatMul, convert_matmul
from clinfer.ops.matmul.weights import COMPRESSED_TYPES, FLOAT_TYPES
from clinfer.ops.room import Room

ROOM = Room("matmul", converters={"MatMul": convert_matmul},
            kernels={MatMul: KERNELS, CompressedMatMul: COMPRESSED_KERNELS})

__all__ = ["COMPRESSED_TYPES", "FLOAT_TYPES", "ROOM", "CompressedMatMul", "MatMul"]
