"""What clinfer believes of a library that it does not promise: a check, and words for the day on which it fails."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import TypeAlias

import pytest

Check: TypeAlias = Callable[[], None]


@dataclass(frozen=True)
class Belief:
    """`text`: what holds, as a sentence; `places`: the files of clinfer that lean on it; `check` raises if it does not
    hold; `private`: the names that it is about and that the library does not document."""

    library: str
    text: str
    places: tuple[str, ...]
    check: Check
    private: tuple[str, ...] = ()

    def hold(self) -> None:
        """Check it. A failure of the test says in words what the library does otherwise, and who must be mended."""
        told = self._failure()
        if told:
            pytest.fail(
                f"{self.library} {version(self.library)} behaves otherwise than clinfer believes.\n"
                f"  believed: {self.text}\n  leaning on it: {', '.join(self.places)}\n  what happened: {told}\n"
                f"  Mend those files for both versions, or leave the upper bound of {self.library} in pyproject.toml "
                "below this one.", pytrace=False)

    def _failure(self) -> str:
        try:
            self.check()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""


class Beliefs(list[Belief]):
    """The beliefs about one library, in the order in which they are declared."""

    def __init__(self, library: str) -> None:
        super().__init__()
        self._library = library

    def that(self, text: str, *places: str, private: tuple[str, ...] = ()) -> Callable[[Check], Check]:
        """Declare the check below it."""
        def keep(check: Check) -> Check:
            self.append(Belief(self._library, text, places, check, private))
            return check
        return keep
