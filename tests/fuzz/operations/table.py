"""The table of operations that random graphs draw from."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fuzz.draft import Draft

Operation = Callable[[Draft], None]
GROUPS: dict[str, list[Operation]] = {}


def operation(group: str, share: int = 1) -> Callable[[Operation], Operation]:
    """Enter an operation into a group, `share` times as often as others."""
    def enter(make: Operation) -> Operation:
        GROUPS.setdefault(group, []).extend([make] * share)
        return make
    return enter


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def scalar(value: int) -> np.ndarray:
    return np.array(value, np.int64)
