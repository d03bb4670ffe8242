"""What slots need for sizes that may well come, told before the first inference by planning for them."""
from __future__ import annotations

from collections.abc import Iterator

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape
from clinfer.network.plans.planner import Planner, open_segments
from clinfer.network.plans.trace_ahead import LARGE, MIDDLE, SMALL, Sizes, estimated_shape
from clinfer.program.program import Program

GROWING = (Sizes(1, 1, SMALL[1]), Sizes(4, 1, (3, 48, 640)), *(Sizes(first, *others) for first, others in (
    (1, SMALL), (1, MIDDLE), (1, LARGE), (2, LARGE), (4, LARGE))))
"""Samples that need ever more, the first two of them single words and lines of text. What few need beside many is
small, and that of kernels which only they choose."""


def likely_needs(program: Program, planner: Planner) -> Iterator[tuple[tuple[int, int], ...]]:
    """(slot, bytes) for ever larger samples of open sizes, each time for all up to there. Segments that need values,
    and sizes that contradict each other, are passed over. The planner is to forget its plans afterwards."""
    most: dict[int, int] = {}
    for sizes in GROWING if open_segments(program) else ():
        for slot, nbytes in _needs(program, planner, sizes):
            most[slot] = max(nbytes, most.get(slot, 0))
        yield tuple(most.items())


def _needs(program: Program, planner: Planner, sizes: Sizes) -> Iterator[tuple[int, int]]:
    shapes: dict[int, StaticShape] = {}
    for number in open_segments(program):
        segment = program.segments[number]
        incoming = {tensor: shapes.get(tensor) or estimated_shape(program, tensor, sizes)
                    for tensor in segment.incoming}
        try:
            plan = None if segment.values else planner.plan(number, incoming, {})
        except ClinferError:
            continue
        if plan is not None:
            shapes.update(plan.shapes)
            yield from plan.slot_bytes
            yield from ((program.tensors[root].slot, nbytes) for root, nbytes in plan.output_bytes)
