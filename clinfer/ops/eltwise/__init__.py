"""Element-wise operations of one, two or three inputs: arithmetic, comparison, logic, activations."""
from clinfer.ops.eltwise.kernels import KERNELS
from clinfer.ops.eltwise.modes import MODES
from clinfer.ops.eltwise.op import Eltwise, convert_eltwise, convert_prelu, is_add, is_multiply
from clinfer.ops.operation import Operation

OPERATION = Operation("eltwise",
            converters={**dict.fromkeys((*MODES, "Xor"), convert_eltwise), "PRelu": convert_prelu},
            kernels={Eltwise: KERNELS})

__all__ = ["OPERATION", "Eltwise", "is_add", "is_multiply"]
