"""BatchNormInference: normalisation per channel with given statistics."""
from clinfer.ops.batch_norm.kernels import KERNELS
from clinfer.ops.batch_norm.op import BatchNormInference, convert_batch_norm
from clinfer.ops.operation import Operation

OPERATION = Operation("batch_norm", converters={"BatchNormInference": convert_batch_norm},
            kernels={BatchNormInference: KERNELS})

__all__ = ["OPERATION", "BatchNormInference"]
