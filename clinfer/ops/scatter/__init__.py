"""ScatterUpdate, ScatterElementsUpdate and ScatterNDUpdate: a tensor changed at the places that another names."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.scatter.kernels import KERNELS
from clinfer.ops.scatter.op import ScatterElementsUpdate, ScatterNDUpdate, ScatterUpdate

OPERATION = Operation("scatter",
            converters={cls.op_type: by_attributes(cls)
                        for cls in (ScatterUpdate, ScatterElementsUpdate, ScatterNDUpdate)},
            kernels=dict.fromkeys((ScatterUpdate, ScatterElementsUpdate, ScatterNDUpdate), KERNELS))

__all__ = ["OPERATION", "ScatterElementsUpdate", "ScatterNDUpdate", "ScatterUpdate"]
