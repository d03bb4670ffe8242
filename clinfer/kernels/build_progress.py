"""How far the builds of one compilation are."""
from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Takes how many kernels are built, and how many shall be."""


def untold(built: int, wanted: int) -> None:
    """For those who do not want to know."""


class BuildProgress:
    """Adds up what is built in several rounds, and tells `progress`.

    How many kernels there will be is not known before: each round adds those that it has to build.
    """

    def __init__(self, progress: Progress = untold) -> None:
        self._progress = progress
        self._built = 0

    def round(self) -> Progress:
        """What is told of a round's kernels alone."""
        before = self._built

        def tell(built: int, wanted: int) -> None:
            self._built = before + built
            self._progress(self._built, before + wanted)
        return tell
