"""ScatterUpdate, ScatterElementsUpdate and ScatterNDUpdate: a tensor changed at the places that another names."""
from functools import partial

from clinfer.ops.operation import Operation
from clinfer.ops.scatter.kernels import KERNELS
from clinfer.ops.scatter.op import ScatterElementsUpdate, ScatterNDUpdate, ScatterUpdate, convert_scattering

OPERATION = Operation("scatter",
            converters={cls.op_type: partial(convert_scattering, cls)
                        for cls in (ScatterUpdate, ScatterElementsUpdate, ScatterNDUpdate)},
            kernels=dict.fromkeys((ScatterUpdate, ScatterElementsUpdate, ScatterNDUpdate), KERNELS))

__all__ = ["OPERATION", "ScatterElementsUpdate", "ScatterNDUpdate", "ScatterUpdate"]
