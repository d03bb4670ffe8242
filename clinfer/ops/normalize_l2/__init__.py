"""NormalizeL2 and GRN: vectors along some axes divided by their length."""
from clinfer.ops.normalize_l2.kernels import KERNELS
from clinfer.ops.normalize_l2.op import NormalizeL2, convert_grn
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("normalize_l2", converters={"GRN": convert_grn, "NormalizeL2": by_attributes(NormalizeL2)},
                      kernels={NormalizeL2: KERNELS})

__all__ = ["OPERATION", "NormalizeL2"]
