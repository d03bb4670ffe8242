"""Integer keys that stand in the order of the values, for kernels that sort or select."""
from __future__ import annotations

from clinfer.base.element_type import ElementType
from clinfer.kernels.contract import Constant

# x is the value. NaN stands above every number, -0 equals 0.
_KEYS = {
    "float": ("int", "(isnan(x) ? INT_MAX : as_int((x) == 0 ? 0.0f : (x)) "
                     "^ ((as_int((x) == 0 ? 0.0f : (x)) >> 31) & INT_MAX))"),
    "double": ("long", "(isnan(x) ? LONG_MAX : as_long((x) == 0 ? 0.0 : (x)) "
                       "^ ((as_long((x) == 0 ? 0.0 : (x)) >> 63) & LONG_MAX))"),
}


def key_constants(element_type: ElementType, descending: bool = False) -> dict[str, Constant]:
    """KEY_TYPE and KEY(x), an integer that is larger for larger values, or for smaller ones if `descending`."""
    compute = element_type.cl_compute
    kind, key = _KEYS.get(compute, (compute, "(x)"))
    return {"KEY_TYPE": kind, "KEY(x)": f"(~{key})" if descending else key}
