"""MVN: mean-variance normalisation along axes (layer and instance normalisation)."""
from clinfer.ops.mvn.kernels import KERNELS
from clinfer.ops.mvn.op import MVN, convert_mvn
from clinfer.ops.operation import Operation

OPERATION = Operation("mvn", converters={"MVN": convert_mvn}, kernels={MVN: KERNELS})

__all__ = ["KERNELS", "MVN", "OPERATION"]
