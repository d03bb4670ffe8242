"""Cases of multinomial."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case


def _row(shape: tuple[int, int], count: int, replaces: bool, is_log: bool, seeds: tuple[int, int], kind: str = "i32",
         sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    return Case("Multinomial", "opset13", ((shape, "f32"), np.array([count], np.int64)),
                {"convert_type": kind, "with_replacement": replaces, "log_probs": is_log, "global_seed": seeds[0],
                 "op_seed": seeds[1]}, sequence, low=-2.0 if is_log else 0.1, high=2.0, ordered=True,
                id=f"Multinomial-{shape}-{count}-{replaces}-{is_log}-{seeds}".replace(" ", ""))


CASES = (
    _row((2, 5), 6, True, True, (3, 5), sequence=(((4, 9),), ((1, 1),))),
    _row((3, 200), 40, True, False, (0, 7), "i64"),
    _row((2, 9), 5, False, True, (2**40 + 3, 2**33 + 5)),
    _row((1, 20), 19, False, False, (11, 0)),
)
