"""The MatrixNms-8 and MulticlassNms-8/-9 primitives of OpenVINO."""
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import UNBOUNDED, Dim, Shape, Size, StaticShape, show
from clinfer.ops.detection.boxes import Kept, best_first, overlaps
from clinfer.ops.operation import by_attributes
from clinfer.symbolic.dimensions import differ, same_size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class Selection(Primitive):
    """Boxes that are kept per class, the best `keep_top_k` of each picture (-1: all).

    Input 0: boxes [n, b, 4]; 1: scores [n, c, b]. Output 0: class, score and corners [m, 6]; 1: where each box
    stood among the boxes of all pictures [m, 1]; 2: how many each picture has [n]. `sort_result_type`: "score",
    "classid" (and score) or "none"; across pictures or within each. Of a class only boxes above `score_threshold`
    count, of these the best `nms_top_k` (-1: all); `background_class` is left out. Corners of boxes that are not
    `normalized` are pixels, which belong to the box.
    """

    sort_result_type: str = "none"
    sort_result_across_batch: bool = False
    output_type: str = "i64"
    score_threshold: float = 0.0
    nms_top_k: int = -1
    keep_top_k: int = -1
    background_class: int = -1
    normalized: bool = True
    sorts_pictures: ClassVar[bool] = True

    @property
    def output_count(self) -> int:
        return 3

    @property
    def computed_on_host(self) -> bool:
        return True

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        places = ElementType.of(self.output_type)
        return input_types[0], places, places

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        """How many boxes there are at most."""
        counted = None if None in shapes else self._counted(*shapes)  # type: ignore[arg-type]
        if counted is None:
            return None
        pictures, classes, most = (size.high if isinstance(size, Dim) else size for size in counted)
        if self.nms_top_k >= 0:
            most = min(most, self.nms_top_k)
        most *= classes
        if self.keep_top_k >= 0:
            most = min(most, self.keep_top_k)
        kept = Dim(0, min(pictures * most, UNBOUNDED))
        return (kept, 6), (kept, 1), (counted[0],)

    def _counted(self, boxes: Shape, scores: Shape) -> tuple[Size, Size, Size] | None:
        """How many pictures, classes, and boxes of each there are; None where the shapes do not fit."""
        if len(boxes) != 3 or len(scores) != 3 or differ(boxes[2], 4):
            return None
        pictures, places = same_size((boxes[0], scores[0])), same_size((boxes[1], scores[2]))
        return None if pictures is None or places is None else (pictures, scores[1], places)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        boxes, scores = shapes[:2]
        if boxes != (scores[0], scores[-1], 4):
            self._refuse(shapes, "[n, b, 4] and [n, c, b]")

    def _refuse(self, shapes: tuple[StaticShape, ...], expected: str) -> NoReturn:
        raise ClinferError("boxes and scores do not belong together", where=self.where, values={
            "boxes": show(shapes[0]), "scores": show(shapes[1]), "expected": expected})

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        pictures = [kept.take(best_first(kept.scores, self.keep_top_k)) for kept in self.pictures(values)]
        if self.sorts_pictures and not self.sort_result_across_batch:
            pictures = [kept.take(self._order(kept, np.zeros(len(kept.scores)))) for kept in pictures]
        counts = np.array([len(kept.scores) for kept in pictures], np.int64)
        everything = Kept.joined(pictures)
        numbers = np.repeat(np.arange(len(counts)), counts)
        if self.sort_result_across_batch:
            everything = everything.take(self._order(everything, numbers))
        kind = ElementType.of(self.output_type).numpy
        return everything.rows(), everything.places[:, None].astype(kind), counts.astype(kind)

    def pictures(self, values: tuple[np.ndarray, ...]) -> list[Kept]:
        """What is kept of each picture, class by class; places count through all pictures."""
        boxes, scores = (np.asarray(value, np.float32) for value in values[:2])
        return [Kept.joined([
            self.keep(number, boxes[picture], scores[picture, number], picture * boxes.shape[1])
            for number in range(scores.shape[1]) if number != self.background_class])
            for picture in range(len(boxes))]

    @abstractmethod
    def keep(self, number: int, boxes: np.ndarray, scores: np.ndarray, first: int) -> Kept:
        """What is kept of one class: boxes [b, 4], scores [b]; `first` is the place of box 0."""

    def _order(self, kept: Kept, pictures: np.ndarray) -> np.ndarray:
        """Best first by score or class; what is equal by picture, class, place."""
        if self.sort_result_type == "score":
            return np.lexsort((kept.places, kept.classes, pictures, -kept.scores))
        if self.sort_result_type == "classid":
            return np.lexsort((kept.places, -kept.scores, pictures, kept.classes))
        return np.arange(len(kept.scores))

    @property
    def extent(self) -> float:
        """By how much the sides of a box are longer than its corners are apart."""
        return 0.0 if self.normalized else 1.0


@dataclass(frozen=True)
class MatrixNms(Selection):
    """Scores decay by the overlap with better boxes of the class; what stays above `post_threshold` is kept.

    The decay is the least over the better boxes of (1 - overlap) / (1 - their own largest overlap), "linear", or of
    exp((largest^2 - overlap^2) * gaussian_sigma), "gaussian". Within pictures the boxes stand by score, whatever
    `sort_result_type` says, as in OpenVINO.
    """

    decay_function: str = "linear"
    gaussian_sigma: float = 2.0
    post_threshold: float = 0.0
    sorts_pictures: ClassVar[bool] = False
    op_type: ClassVar[str] = "MatrixNms"
    opset: ClassVar[str] = "opset8"

    def keep(self, number: int, boxes: np.ndarray, scores: np.ndarray, first: int) -> Kept:
        above = np.flatnonzero(scores > self.score_threshold)
        order = above[best_first(scores[above], self.nms_top_k)]
        decayed = scores[order].copy()
        largest = np.zeros(len(order), np.float32)
        for i in range(1, len(order)):
            aliases = overlaps(boxes[order[i]], boxes[order[:i]], self.extent)
            largest[i] = aliases.max()
            decayed[i] *= min(1.0, self._decays(aliases, largest[:i]).min())
        kept = np.flatnonzero(decayed > self.post_threshold)
        return Kept(np.full(len(kept), number), decayed[kept], first + order[kept], boxes[order[kept]])

    def _decays(self, aliases: np.ndarray, largest: np.ndarray) -> np.ndarray:
        if self.decay_function == "gaussian":
            return np.exp((largest ** 2 - aliases ** 2) * np.float32(self.gaussian_sigma))
        return (1 - aliases) / (1 - largest + np.float32(1e-10))


@dataclass(frozen=True)
class MulticlassNms(Selection):
    """A box is kept unless it overlaps a better one of its class, that is kept, by `iou_threshold` or more. Boxes of
    pixels overlap where they are less than a pixel apart, unlike those of MatrixNms.

    With `nms_eta` below 1 the threshold is multiplied by it after each box that is kept, while it is above 0.5.
    With input 2, how many boxes each picture has [n], the boxes are [c, b, 4] and the scores [c, b], of all pictures
    behind each other; where a box stood is then told as box * c + class.
    """

    iou_threshold: float = 0.0
    nms_eta: float = 1.0
    op_type: ClassVar[str] = "MulticlassNms"
    opset: ClassVar[str] = "opset9"

    def _counted(self, boxes: Shape, scores: Shape, counts: Shape | None = None) -> tuple[Size, Size, Size] | None:
        if counts is None:
            return super()._counted(boxes, scores)
        if len(boxes) != 3 or len(scores) != 2 or len(counts) != 1 or differ(boxes[2], 4):
            return None
        classes, places = same_size((boxes[0], scores[0])), same_size((boxes[1], scores[1]))
        return None if classes is None or places is None else (counts[0], classes, places)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        if len(shapes) < 3:
            super().check_inputs(shapes, values, outputs)
        elif shapes[0] != (*shapes[1], 4) or values[2].sum() != shapes[0][1]:
            self._refuse(shapes, f"[c, b, 4] and [c, b], with {values[2].sum()} boxes")

    def pictures(self, values: tuple[np.ndarray, ...]) -> list[Kept]:
        if len(values) < 3:
            return super().pictures(values)
        boxes, scores = (np.asarray(value, np.float32) for value in values[:2])
        ends = np.cumsum(values[2])
        return [Kept.joined([
            self.keep(number, boxes[number, start:end], scores[number, start:end], start).spread(len(scores), number)
            for number in range(len(scores)) if number != self.background_class])
            for start, end in zip((0, *ends[:-1]), ends, strict=True)]

    def keep(self, number: int, boxes: np.ndarray, scores: np.ndarray, first: int) -> Kept:
        above = np.flatnonzero(scores >= self.score_threshold)
        order = above[best_first(scores[above], self.nms_top_k)]
        kept: list[int] = []
        threshold = self.iou_threshold
        for place in order:
            shares = overlaps(boxes[place], boxes[kept], self.extent, reach=self.extent)
            if (shares >= np.float32(threshold)).any():
                continue
            kept.append(int(place))
            if self.nms_eta < 1 and threshold > 0.5:
                threshold *= self.nms_eta
        places = np.array(kept, np.int64)
        return Kept(np.full(len(kept), number), scores[places], first + places, boxes[places])


@dataclass(frozen=True)
class MulticlassNms8(MulticlassNms):
    """The version of opset 8, without input 2."""

    opset: ClassVar[str] = "opset8"


def convert_multiclass_nms(node: SourceNode) -> Primitive | Sequence[Primitive]:
    """The primitive of the node's version."""
    return by_attributes(MulticlassNms8 if node.opset == "opset8" else MulticlassNms)(node)
