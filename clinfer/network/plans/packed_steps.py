"""The steps of a plan as they are launched: records of memory, which become steps when somebody asks."""
from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from clinfer.network.plans.plan import Launch, OtherStep, Step
from clinfer.runtime.launches import PLANNED, SIZE_CODE, PlannedLaunches


class PackedSteps(Sequence[Step]):
    """Launches, and the other steps by the number of launches in front of them."""

    __slots__ = ("_steps", "launches", "others")

    def __init__(self, launches: PlannedLaunches, others: tuple[tuple[int, OtherStep], ...]) -> None:
        self.launches = launches
        self.others = others
        self._steps: tuple[Step, ...] | None = None

    def _unpacked(self) -> tuple[Step, ...]:
        if self._steps is None:
            steps: list[Step] = [Launch(*self.launches.launch(number)) for number in range(len(self.launches))]
            for number, (position, step) in enumerate(self.others):
                steps.insert(position + number, step)
            self._steps = tuple(steps)
        return self._steps

    def __len__(self) -> int:
        return len(self.launches) + len(self.others)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        return self._unpacked()[index]

    def __iter__(self) -> Iterator[Step]:
        return iter(self._unpacked())


def packed(steps: Iterable[Step]) -> PackedSteps:
    """Steps in that form."""
    if isinstance(steps, PackedSteps):
        return steps
    launches, blocks, others = bytearray(), bytearray(), []
    for step in steps:
        if isinstance(step, Launch):
            launches += PLANNED.pack(step.kernel, len(blocks), len(step.block), step.work)
            blocks += step.block
        else:
            others.append((len(launches) // PLANNED.size, step))
    return PackedSteps(PlannedLaunches(array(SIZE_CODE, bytes(launches)), bytes(blocks)), tuple(others))
