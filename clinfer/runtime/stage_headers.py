"""What stands before the arguments of stages, of all stages of some launches at a time."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clinfer.runtime.body_key import OPEN_ITEMS, WARP, BodyKey
from clinfer.runtime.launches import Launches
from clinfer.runtime.ptx_megakernel import work_words


class StageHeaders:
    """The first parts of the headers of those launches that are at `positions`, of which bodies have these numbers."""

    def __init__(self, numbers: Mapping[BodyKey, int], positions: Sequence[int]) -> None:
        self._numbers = numbers
        self._positions = list(positions)
        self._local = np.zeros((len(positions), 3), np.int64)
        self._bodies = np.zeros(len(positions), np.int64)

    def words(self, launches: Launches) -> np.ndarray | None:
        """A row of words for each stage; None: a body is missing."""
        sizes = launches.sizes()[self._positions]
        wide = np.where(np.arange(3) < sizes[:, :1], sizes[:, 1:4], 1)
        local = np.maximum(sizes[:, 4:], 1)
        is_open = sizes[:, 4] == 0
        local[is_open, 0] = np.minimum(OPEN_ITEMS, -(-np.maximum(wide[is_open, 0], 1) // WARP) * WARP)
        for stage in np.flatnonzero((local != self._local).any(axis=1)).tolist():
            kernel, _ = launches[self._positions[stage]]
            number = self._numbers.get(BodyKey(kernel.program, kernel.entry, tuple(local[stage].tolist())))
            if number is None:
                return None
            self._bodies[stage], self._local[stage] = number, local[stage]
        return work_words(self._bodies, -(-wide // local), wide[:, 0])
