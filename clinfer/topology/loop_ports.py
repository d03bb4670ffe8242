"""How the runs of a loop's body hang together: what each takes from the inputs, from the run before, and gives."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from clinfer.base.errors import ClinferError
from clinfer.base.schema import AtLeast


@dataclass(frozen=True)
class Slicing:
    """Run number n takes the n-th slice of `size` elements along `axis`, from `start` on to `end`, both included.

    Negative places count from behind. `backwards` the slices lie in falling order (from start down to end), the
    elements within each as they are.
    """

    axis: int
    start: int = 0
    end: int = -1
    size: Annotated[int, AtLeast(1)] = 1
    backwards: bool = False

    def count(self, length: int) -> int:
        """How many slices an axis of that length has. Errors: places beyond it, or a rest behind the last slice."""
        if length == 0:
            return 0
        first, last = self._place(self.start, length), self._place(self.end, length)
        low, high = (last, first) if self.backwards else (first, last)
        span = high - low + 1
        if low < 0 or high >= length or span < 1 or span % self.size:
            raise ClinferError("an axis cannot be cut into these slices", values={
                "length": length, "start": self.start, "end": self.end, "slice": self.size,
                "direction": "backwards" if self.backwards else "forwards"})
        return span // self.size

    def offset(self, number: int, length: int) -> int:
        """Where slice `number` begins on an axis of that length."""
        first = self._place(self.start, length)
        return first - (number + 1) * self.size + 1 if self.backwards else first + number * self.size

    @staticmethod
    def _place(place: int, length: int) -> int:
        return place + length if place < 0 else place


@dataclass(frozen=True)
class Joining:
    """The results of all runs, one behind the other along `axis` (`backwards`: one before the other).

    Results without axes count as rows of one element.
    """

    axis: int
    backwards: bool = False


@dataclass(frozen=True)
class LoopPorts:
    """What each run of a body takes and gives, besides inputs that are the same for all runs.

    `sliced`, by the body's inputs. `carried`: the body's input -> its output that is this input in the next
    run. `joined`, by the operation's outputs; its others are what the last run gave. `counter`: the body's
    input that is the number of the run, from 0 ("": none). `condition`: the body's output that says whether
    another run follows ("": as many runs as there are slices).
    """

    sliced: Mapping[str, Slicing] = field(default_factory=dict)
    carried: Mapping[str, str] = field(default_factory=dict)
    joined: Mapping[int, Joining] = field(default_factory=dict)
    counter: str = ""
    condition: str = ""

    def stays(self, given: str, result: str) -> bool:
        """Whether an input of the body, which gives it back as this result, is one tensor in all runs."""
        return given not in self.sliced and given != self.counter and self.carried.get(given) in (None, result)


def run_count(slices: Mapping[str, Any], limit: int | None, is_limited: bool, goes_on: bool | None) -> Any:
    """How many runs there are, by the numbers of slices of the inputs; None: no number limits them.

    `limit`: of a loop that `is_limited`, else there are as many as slices. `goes_on`: whether each run is followed by
    another one (None: that is seen behind each, and may end them earlier).
    """
    counts = list(slices.values())
    if not is_limited:
        if not counts or any(count != counts[0] for count in counts):
            raise ClinferError("the inputs of a loop must have the same number of slices",
                               values={"slices": dict(slices) or "none"})
        return counts[0]
    if goes_on is False:
        limit = 1 if limit is None or limit > 1 else limit
    if limit is None and goes_on:
        raise ClinferError("this loop would never end", hint="give it a trip count or a condition that changes")
    short = {name: count for name, count in slices.items() if limit is not None and count < limit}
    if short:
        raise ClinferError("a loop has fewer slices than runs", values={"runs": limit, "slices": short})
    return limit
