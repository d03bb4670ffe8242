"""Sizes that may well come, for what a model leaves open: what is traced, and what memory is made for, ahead of need.

They are not those of `program/format_choice.py`: those are the ends at which other kernels win, these lie between,
where one trace holds.
"""
from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, StaticShape
from clinfer.network.plans.plan import Plan
from clinfer.network.plans.planner import Planner, open_segments
from clinfer.program.program import Program


@dataclass(frozen=True)
class Sizes:
    """A sample: the size of a first axis, of further ones of small ranks (words), and of those of large ranks
    (pictures)."""

    first: int
    words: int
    pictures: tuple[int, ...]

    def is_of_words(self, shape: Shape) -> bool:
        """Whether a shape is one of small rank."""
        return len(shape) <= len(self.pictures)

    def of(self, shape: Shape) -> tuple[int, ...]:
        """The sizes of a shape: those that are open, within their bounds, from the sample."""
        others = (self.words,) if self.is_of_words(shape) else self.pictures
        wanted = (self.first, *others, *(others[-1],) * len(shape))
        return tuple(size if isinstance(size, int) else max(size.low, min(size.high, want))
                     for size, want in zip(shape, wanted, strict=False))


SMALL, MIDDLE, LARGE = (5, (32, 48, 96)), (40, (96, 160, 224)), (250, (320, 480, 640))
LINE = (3, 48, 640)
"""Of text. What reads some takes pictures of no other height, though it may not declare that."""
SAMPLES = tuple(Sizes(first, *others) for others in (LARGE, SMALL, MIDDLE) for first in (3, 1))
"""A first axis (a batch) of several and of 1, and small and large others."""
_POINTS = 24
_MOST_WORDS, _MOST_APART, _LEAST_PIXELS, _MOST_PIXELS, _BLOCK = 512, 64, 40, 640, 32
NONE_APART: Mapping[int, Sizes] = MappingProxyType({})


def input_of_words(program: Program) -> int | None:
    """The last one of several inputs of words, which may have other sizes than the rest: a decoder's, beside what an
    encoder reads."""
    layouts = {tensor: program.tensors[tensor].layout for tensor in program.input_tensors.values()}
    words = [tensor for tensor, layout in layouts.items()
             if not layout.is_static and SAMPLES[0].is_of_words(layout.shape)]
    return words[-1] if len(words) > 1 else None


def spread_samples() -> Iterator[tuple[Sizes, Sizes]]:
    """Samples that lie evenly among all sizes that are likely, small ones as many as large ones: points of Halton's
    sequence, each with a first axis of 1 and of several. Pictures are of whole blocks, as many models want them; every
    other one is a line of text, of any width. Behind each is the one for `input_of_words` apart."""
    for number in range(1, _POINTS + 1):
        words, apart, *sides = (_radical_inverse(number, base) for base in (3, 5, 7, 11, 13))
        pixels = [_LEAST_PIXELS * (_MOST_PIXELS / _LEAST_PIXELS) ** side for side in sides]
        pictures = (*LINE[:-1], int(pixels[-1])) if number % 2 else tuple(map(_in_blocks, pixels))
        for first in (2 + number % 3, 1):
            yield (Sizes(first, int(_MOST_WORDS ** words), pictures), Sizes(first, int(_MOST_APART ** apart), pictures))


def _in_blocks(pixels: float) -> int:
    """Two blocks at least."""
    return max(2, round(pixels / _BLOCK)) * _BLOCK


def _radical_inverse(number: int, base: int) -> float:
    """The number's digits, mirrored at the point."""
    found, place = 0.0, 1 / base
    while number:
        number, digit = divmod(number, base)
        found, place = found + digit * place, place / base
    return found


def estimated_shape(program: Program, tensor: int, sizes: Sizes) -> StaticShape:
    """The shape of a tensor for a sample, as far as the model leaves it open; tables of states are empty."""
    if any(state.table and program.input_tensors[state.table] == tensor for state in program.states):
        return 0, sizes.first
    state = next((state for state in program.states if program.input_tensors[state.input] == tensor), None)
    return sizes.of(program.tensors[tensor].layout.shape) if state is None else state.stored(sizes.of(state.shape))


def incoming_shapes(program: Program, sizes: Sizes, apart: Mapping[int, Sizes] = NONE_APART) -> dict[int, StaticShape]:
    """The estimated shapes of what comes into the segments that may have more than one plan: all that a sample is to
    the program. `apart`: tensors that have the sizes of another sample."""
    return {tensor: estimated_shape(program, tensor, apart.get(tensor, sizes))
            for number in open_segments(program) for tensor in program.segments[number].incoming}


def likely_plans(program: Program, planner: Planner,
                 estimated: Mapping[int, StaticShape]) -> Iterator[tuple[int, Plan]]:
    """The plans of segments for the `incoming_shapes` of a sample, as far as there are any: (number of the segment,
    plan). Segments that need values, and sizes that contradict each other, are passed over."""
    shapes: ChainMap[int, StaticShape] = ChainMap()
    for number in open_segments(program):
        segment = program.segments[number]
        incoming = {tensor: shapes.get(tensor) or estimated[tensor] for tensor in segment.incoming}
        try:
            plan = None if segment.values else planner.plan(number, incoming, {})
        except ClinferError:
            continue
        if plan is not None:
            shapes.maps.append(plan.shapes)  # type: ignore[arg-type]
            yield number, plan
