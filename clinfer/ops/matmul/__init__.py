"""The matrix product."""
from clinfer.ops.matmul.kernels import KERNELS
from clinfer.ops.matmul.op import QUANTISED_TYPES, MatMul, convert_matmul
from clinfer.ops.matmul.problem import FLOAT_TYPES, SAMPLE_SIZES, sample_problem
from clinfer.ops.operation import Operation

OPERATION = Operation("matmul", converters={"MatMul": convert_matmul}, kernels={MatMul: KERNELS},
            sample=sample_problem, sample_sizes=SAMPLE_SIZES)

__all__ = ["FLOAT_TYPES", "OPERATION", "QUANTISED_TYPES", "MatMul"]
