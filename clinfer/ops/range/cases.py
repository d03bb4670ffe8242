"""Cases of range. Rows with an input keep the kernel busy; constants alone are folded."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

_ROWS = (
    ("i64", np.int64, (-3, 11, 2)), ("i32", np.int32, (9, -4, -3)), ("f32", np.float32, (0.5, 3.0, 0.25)),
    ("f32", np.float32, (1.0, -2.0, -0.125)), ("f16", np.int32, (0, 300, 7)), ("u8", np.int32, (250, 255, 1)),
)


def _row(output_type: str, dtype: type, bounds: tuple[float, float, float], given: int) -> Case:
    """A row whose input `given` comes at run time, always with the same value."""
    inputs: tuple[Any, ...] = tuple(((), np.dtype(dtype).name.replace("float", "f").replace("int", "i")) if i == given
                   else np.array(bound, dtype) for i, bound in enumerate(bounds))
    value = bounds[given] if given >= 0 else 0.0
    return Case("Range", "opset4", inputs, {"output_type": output_type}, low=value, high=value,
                id=f"Range-{output_type}-{np.dtype(dtype).name}-{bounds}-{given}".replace(" ", ""))


CASES = (
    *(_row(*row, given=index % 3) for index, row in enumerate(_ROWS)),
    _row("i64", np.int64, (0, 5, 1), given=-1),
    Case("Range", "opset1", (((), "i32"), np.array(40, np.int32), np.array(3, np.int32)), id="Range-opset1"),
)
