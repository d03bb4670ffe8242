"""Cases of sparse_fill_empty_rows."""
import numpy as np

from clinfer.ops.operation import Case


def _row(kind: str, rows: int, *places: tuple[int, int], integers: type = np.int32) -> Case:
    default = np.array(9, {"f32": np.float32, "f16": np.float16, "i32": np.int32}[kind])
    return Case("SparseFillEmptyRows", "opset16", (((len(places),), kind), np.array([rows, 5], integers),
                                                   np.array(places, integers), default),
                id=f"SparseFillEmptyRows-{kind}-{rows}")


CASES = (
    _row("f32", 4, (0, 1), (2, 3), (2, 0)),
    _row("f16", 2, (1, 4), (0, 2), integers=np.int64),
    _row("i32", 6, (5, 1)),
)
