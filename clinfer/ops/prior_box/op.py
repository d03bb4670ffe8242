"""The PriorBox primitives (OpenVINO PriorBox-1 and -8, PriorBoxClustered-1)."""
from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, Shape, Size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


class Box(NamedTuple):
    """Half of its sides, which are parts of the picture's height if it `grows`, and how far its centre is from the
    middle of the place; `is_clipped` to the picture whatever `clip` says."""

    half_width: float
    half_height: float
    grows: bool = False
    shift_x: float = 0.0
    shift_y: float = 0.0
    is_clipped: bool = False


@dataclass(frozen=True)
class Boxes(Primitive, ABC):
    """For each place of a map of the height and width in input 0 the same boxes, as parts of a picture of those in
    input 1: [2, boxes * 4] of x1, y1, x2, y2 and of their variances."""

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (0, 1)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of("f32"),)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        count: Size = ANY
        if 0 in values:
            sizes = values[0].reshape(-1).tolist()
            if len(sizes) != 2:
                raise ClinferError("a map needs a height and a width", where=self.where, values={"given": len(sizes)})
            height, width = sizes
            count = 4 * len(self.boxes) * height * width
        return ((2, count),)

    @property
    @abstractmethod
    def boxes(self) -> tuple[Box, ...]:
        """Those of a place, in their order."""

    @property
    @abstractmethod
    def steps(self) -> tuple[float, float, bool]:
        """From place to place along y and x in pixels, and whether they are multiplied by the picture's height. Along
        both 0: as many as make the map as large as the picture; below 0: the picture's height over the map's."""


@dataclass(frozen=True)
class PriorBoxClustered(Boxes):
    """Boxes of `width` and `height`; their middle is `offset` steps from the start of their place."""

    width: tuple[float, ...] = ()
    height: tuple[float, ...] = ()
    clip: bool = False
    step: float = 0.0
    step_w: float = 0.0
    step_h: float = 0.0
    offset: float = 0.0
    variance: tuple[float, ...] = ()

    @property
    def boxes(self) -> tuple[Box, ...]:
        return tuple(Box(width / 2, height / 2) for width, height in zip(self.width, self.height, strict=True))

    @property
    def steps(self) -> tuple[float, float, bool]:
        return self.step_h or self.step, self.step_w or self.step, False

    @property
    def middle(self) -> float:
        """Of a place, in steps from its start."""
        return self.offset


@dataclass(frozen=True)
class PriorBox(Boxes):
    """Boxes of `fixed_size` in all ratios of their sides and as densely as `density` says, then squares of `min_size`,
    the mean squares between these and `max_size`, and `min_size` in the ratios of `aspect_ratio`, with `flip` the
    inverse ones too. Without `scale_all_sizes` sizes are parts of the picture's height, there is no `max_size`, and the
    first size has the ratios, behind the squares."""

    min_size: tuple[float, ...] = ()
    max_size: tuple[float, ...] = ()
    aspect_ratio: tuple[float, ...] = ()
    density: tuple[float, ...] = ()
    fixed_ratio: tuple[float, ...] = ()
    fixed_size: tuple[float, ...] = ()
    clip: bool = False
    flip: bool = False
    step: float = 0.0
    offset: float = 0.0
    variance: tuple[float, ...] = ()
    scale_all_sizes: bool = True
    min_max_aspect_ratios_order: bool = True

    @property
    def steps(self) -> tuple[float, float, bool]:
        return self.step, self.step, not self.scale_all_sizes and self.step > 0

    @property
    def middle(self) -> float:
        """Of a place, in steps from its start."""
        return self.offset if self.step else 0.5

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        return (*self._fixed(), *self._sized())

    @property
    def _ratios(self) -> tuple[float, ...]:
        """The ratios but 1, each once, with their inverses if asked for."""
        found = [1.0]
        for ratio in self.aspect_ratio:
            if all(abs(ratio - other) >= 1e-6 for other in found):
                found += [ratio, 1 / ratio] if self.flip else [ratio]
        return tuple(ratio for ratio in found if abs(ratio - 1) >= 1e-6)

    def _fixed(self) -> Iterator[Box]:
        for index, size in enumerate(self.fixed_size):
            density = int(self.density[index]) if self.density else 1
            shift = int(size / density)
            ratios = self.fixed_ratio or ((1.0,) if self.density else ()) + self._ratios
            for ratio in ratios:
                root = math.sqrt(ratio)
                whole = size if self.fixed_ratio or abs(ratio - 1) >= 1e-6 else int(size)
                start = shift / 2 - int(size) / 2
                for row in range(density):
                    for column in range(density):
                        yield Box(whole / 2 * root, whole / 2 / root, False, start + column * shift,
                                  start + row * shift, True)

    def _sized(self) -> Iterator[Box]:
        if not self.scale_all_sizes:
            yield from (Box(size / 2, size / 2, True) for size in self.min_size)
            yield from self._shaped(self.min_size[0], True)
            return
        for index, size in enumerate(self.min_size):
            yield Box(size / 2, size / 2)
            sides = [math.sqrt(size * self.max_size[index])] if index < len(self.max_size) else []
            between = [Box(side / 2, side / 2) for side in sides]
            shaped = [*self._shaped(size, False)]
            yield from between + shaped if self.min_max_aspect_ratios_order else shaped + between

    def _shaped(self, size: float, grows: bool) -> Iterator[Box]:
        for ratio in self._ratios:
            yield Box(size / 2 * math.sqrt(ratio), size / 2 / math.sqrt(ratio), grows)
