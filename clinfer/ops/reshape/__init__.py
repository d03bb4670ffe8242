"""Reshape, Squeeze, Unsqueeze, Identity: the same elements under another shape, with no copy if memory allows."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.reshape.kernels import KERNELS
from clinfer.ops.reshape.op import Identity, Reshape, Squeeze, Unsqueeze

OPERATION = Operation("reshape",
            converters={"Reshape": by_attributes(Reshape), "Squeeze": by_attributes(Squeeze),
                        "Unsqueeze": by_attributes(Unsqueeze), "Identity": by_attributes(Identity)},
            kernels={Reshape: KERNELS, Squeeze: KERNELS, Unsqueeze: KERNELS,
                     Identity: KERNELS})

__all__ = ["OPERATION", "Identity", "Reshape", "Squeeze", "Unsqueeze"]
