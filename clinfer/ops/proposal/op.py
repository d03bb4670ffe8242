"""What proposals of regions are made of, beside TopK and the selection of boxes that do not overlap."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, Shape, Size, StaticShape, show
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.symbolic.symbols import array_of
from clinfer.topology import Primitive

F32 = ElementType.of("f32")


@dataclass(frozen=True)
class AtMost(Primitive):
    """How many elements the last axis of input 0 has, but no more than `limit`: an i64."""

    limit: int = 1

    @property
    def can_evaluate(self) -> bool:
        return True

    @property
    def reads_shapes_only(self) -> bool:
        return True

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of("i64"),)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return ((),)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        size = cast("StaticShape", shapes[0])[-1]
        return (array_of((min(size, self.limit),), (), np.dtype(np.int64)),)


@dataclass(frozen=True)
class Decoding:
    """How anchors become boxes: offsets of centres, as parts of the anchor's sides, and logarithms of factors of sides.

    Sides are `extent` longer than corners are apart. Offsets are divided by `position_scale`, logarithms by
    `size_scale`, and these are `longest` at most. Anchors are clipped to the picture (`clips_anchors`), boxes too
    (`clips_boxes`); a box `ends_early` by the extent if it is as long as that. Of every box the sides must be `least`
    long, times the scales in the picture's data (`scales_least`). With `anchors`, x1, y1, x2, y2, these stand at each
    place of a map, `stride` pixels apart, whose height is a picture's width if `turned`.
    """

    extent: float
    least: float
    anchors: tuple[tuple[float, ...], ...] = ()
    stride: int = 1
    turned: bool = False
    position_scale: float = 1.0
    size_scale: float = 1.0
    longest: float = np.inf
    clips_anchors: bool = False
    clips_boxes: bool = True
    ends_early: bool = True
    scales_least: bool = True


@dataclass(frozen=True)
class AnchorScores(Primitive):
    """The scores of anchors, f32 [n, a * h * w], 0 for those whose boxes are too small.

    Input 0: scores [n, a, h, w], or [n, 2 * a, h, w], of which the second half counts, if the decoding has the anchors;
    1: offsets [n, 4 * a, h, w]; 2: height, width and scales of the pictures, [3 or 4] or [n, 3 or 4]; 3, unless the
    decoding has them: anchors [h * w * a, 4].
    """

    decoding: Decoding | None = None

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (F32,)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        scores, offsets, picture = shapes[:3]
        if scores is None or offsets is None:
            return ((ANY, ANY),)
        anchors = offsets[1] // 4
        halves = 2 if self.decoding and self.decoding.anchors else 1
        if len(scores) != 4 or any(map(differ, scores, (offsets[0], halves * anchors, *offsets[2:]))):
            raise _misfit(self, shapes)
        _check_anchors(self, self.decoding, offsets, picture, shapes[3:])
        return ((scores[0], anchors * scores[2] * scores[3]),)


@dataclass(frozen=True)
class AnchorBoxes(Primitive):
    """The boxes of some anchors, f32 [n, k, 4], and their scores, f32 [n, 1, k].

    Input 0: scores [n, k]; 1 and 2: as those of AnchorScores; 3: the anchors' places in [a, h, w] [n, k]; 4, unless the
    decoding has them: anchors [h * w * a, 4]. With `drops_small` the score of a box that is too small is minus
    infinity. `is_extended`: last corners are further than meant by the extent, so that sides are as long as corners are
    apart.
    """

    decoding: Decoding | None = None
    drops_small: bool = False
    is_extended: bool = True

    @property
    def output_count(self) -> int:
        return 2

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return F32, F32

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        scores, offsets, picture, _, *anchors = shapes
        pictures, kept = scores or (ANY, ANY)
        if offsets is not None:
            if differ(offsets[0], pictures):
                raise _misfit(self, shapes)
            _check_anchors(self, self.decoding, offsets, picture, anchors)
        return (pictures, kept, 4), (pictures, 1, kept)


def _check_anchors(primitive: Primitive, decoding: Decoding | None, offsets: Shape, picture: Shape | None,
                   anchors: Sequence[Shape | None]) -> None:
    """Raise ClinferError where offsets, data of pictures and anchors (those of an input, if any) do not fit."""
    own = len(decoding.anchors) if decoding else 0
    wrong = len(offsets) != 4 or (bool(own) and differ(offsets[1], own * 4))
    for listed in anchors:
        wrong |= listed is not None and (differ(listed[0] * 4, offsets[1] * offsets[2] * offsets[3])
                                         or differ(listed[1], 4))
    if picture is not None:
        wrong |= len(picture) > 2 or (len(picture) == 2 and differ(picture[0], offsets[0])) or (
            isinstance(picture[-1], int) and picture[-1] < 2)
    if wrong:
        raise _misfit(primitive, (offsets, picture, *anchors))


def _misfit(primitive: Primitive, shapes: Sequence[Shape | None]) -> ClinferError:
    return ClinferError("scores, offsets, pictures and anchors do not belong together", where=primitive.where,
                        values={"shapes": ", ".join(map(show, shapes))})


@dataclass(frozen=True)
class Proposals(Primitive):
    """The boxes that were selected: [rows, 4], or with their picture's number before them [rows, 5], and scores [rows].

    Input 0: boxes [n, k, 4], longer than meant by `extent`; 1 to 3: which were selected, their scores and how many, as
    SelectBoxes gives them. There are `rows` of each picture, of which the missing ones are zeros behind a first number
    of -1, if they are `numbered`, and input 4 is height and width of the pictures. 0 rows: as many as were selected,
    and output 2 is their number [n]; input 4: how many the pictures before have [n], 5: how many there are in all.
    `clips` to the picture, `normalizes` to parts of it.
    """

    extent: float = 0.0
    rows: int = 0
    numbered: bool = False
    turned: bool = False
    clips: bool = False
    normalizes: bool = False
    types: tuple[ElementType, ...] = ()

    @property
    def output_count(self) -> int:
        return len(self.types)

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return () if self.rows else (5,)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return self.types

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        pictures: Size = shapes[3][0] if shapes[3] else ANY
        rows: Size = pictures * self.rows
        if not self.rows:
            rows = values[5].reshape(-1).tolist()[0] if 5 in values else ANY
        return ((rows, 5 if self.numbered else 4), (rows,), (pictures,))[:self.output_count]
