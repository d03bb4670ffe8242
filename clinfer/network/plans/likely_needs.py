"""Plans for sizes that may well come, made before the first inference, and what slots need for them."""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape
from clinfer.network.bindings import Bindings
from clinfer.network.plans.plan import Plan
from clinfer.network.plans.planner import Planner, open_segments
from clinfer.network.plans.samples import LARGE, LINE, MIDDLE, SMALL, Sizes, incoming_shapes, likely_plans
from clinfer.network.replay import Replay
from clinfer.program.program import Program

GROWING = (Sizes(1, 1, SMALL[1]), Sizes(1, 1, LINE), Sizes(4, 1, LINE), *(Sizes(first, *others) for first, others in (
    (1, SMALL), (1, MIDDLE), (1, LARGE), (2, LARGE), (4, LARGE))))
"""Samples that need ever more, the first ones of them a word, a line of text and several. What few need beside many is
small, and that of kernels and places which only they choose: parts of a single image lie within others."""

_MOST_INPUT_BYTES = 2**24

MANY = Sizes(2, *MIDDLE), Sizes(2, MIDDLE[0], LINE)
"""A sample like most that come, and one for models that take no such."""


def likely_needs(program: Program, planner: Planner) -> Iterator[tuple[tuple[int, int], ...]]:
    """(slot, bytes) for ever larger samples of open sizes, each time for all up to there. Segments that need values,
    and sizes that contradict each other, are passed over. The planner is to forget its plans afterwards."""
    most: dict[int, int] = {}
    for sizes in GROWING if open_segments(program) else ():
        for _, plan in likely_plans(program, planner, incoming_shapes(program, sizes)):
            for slot, nbytes in _needs(program, plan):
                most[slot] = max(nbytes, most.get(slot, 0))
        yield tuple(most.items())


def _needs(program: Program, plan: Plan) -> tuple[tuple[int, int], ...]:
    """(slot, bytes) of a plan."""
    return *plan.slot_bytes, *((program.tensors[root].slot, nbytes) for root, nbytes in plan.output_bytes.items())


def likely_bytes(shape: Shape, element_type: ElementType) -> int:
    """The bytes of an input in the largest of these samples, or as many as an input may have before it is given."""
    return min(element_type.byte_size(math.prod(GROWING[-1].of(shape))), _MOST_INPUT_BYTES)


def set_likely_arguments(program: Program, planner: Planner, replays: Sequence[Replay], bindings: Bindings) -> None:
    """Give kernels arguments, and tensors places within others, before the first execution, which then exchanges what
    differs; not where slots have no room for the sample. The planner is to forget its plans afterwards."""
    plans = next(filter(None, ([*likely_plans(program, planner, incoming_shapes(program, sizes))]
                               for sizes in MANY)), ())
    if not all(bindings.has_room(slot, nbytes) for _, plan in plans for slot, nbytes in _needs(program, plan)):
        return
    for number, plan in plans:
        replays[number].take(plan)
        bindings.alias(number, plan.aliases)
