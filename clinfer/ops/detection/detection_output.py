"""The DetectionOutput primitive (OpenVINO DetectionOutput-1 and -8): the last layer of SSD and its kin."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, StaticShape, show
from clinfer.ops.detection.boxes import best_first, overlaps
from clinfer.ops.operation import by_attributes
from clinfer.symbolic.dimensions import differ, is_open, same_size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode

_Found = list[tuple[int, np.ndarray]]
"""(class, places among the priors, best first)."""


@dataclass(frozen=True)
class DetectionOutput(Primitive):
    """Boxes that are kept: picture, class, score and corners of each, [1, 1, most, 7]; -1 as the picture ends them.

    Inputs: 0: offsets of p boxes [n, p * l * 4] (l: 1 if `share_location`, else one for each class); 1: scores
    [n, p * c]; 2: priors [1 or n, 2, p * 4], with variances behind them, or, if `variance_encoded_in_target`, without
    [.., 1, ..]; not `normalized` they are pixels of a picture of `input_width` x `input_height` and have 5 numbers,
    of which the first is skipped. 3 and 4, optional: scores of what is an object [n, p * 2] (below
    `objectness_score` a box counts as background) and offsets that are applied to the priors before.
    `code_type`: offsets move corners ("CORNER") or the centre and the logarithms of sizes ("CENTER_SIZE").
    Of each class above `confidence_threshold` the best `top_k` compete (-1: all): those that overlap a better one by
    more than `nms_threshold` go. With `decrease_label_id` a box belongs to its best class alone, and classes are
    counted without the background. `keep_top_k` of a picture are kept.
    """

    background_label_id: int = 0
    top_k: int = -1
    variance_encoded_in_target: bool = False
    keep_top_k: tuple[int, ...] = (-1,)
    code_type: str = "caffe.PriorBoxParameter.CORNER"
    share_location: bool = True
    nms_threshold: float = 0.0
    confidence_threshold: float = 0.0
    clip_after_nms: bool = False
    clip_before_nms: bool = False
    decrease_label_id: bool = False
    normalized: bool = False
    input_height: int = 1
    input_width: int = 1
    objectness_score: float = 0.0
    op_type: ClassVar[str] = "DetectionOutput"
    opset: ClassVar[str] = "opset8"

    @property
    def computed_on_host(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        known = [shape for shape in shapes if shape is not None]
        if len(known) < len(shapes) or [*map(len, known)] != [2, 2, 3, 2, 2][:len(known)]:
            return None
        if is_open(*(shape[1:] for shape in known)) or not self._fit(*known):
            return None
        pictures, count = same_size((known[0][0], known[1][0])), self._count(known[2])
        assert pictures is not None
        return ((1, 1, pictures * self._most(count, known[1][1] // count), 7),) if count else None

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        if not self._fit(*shapes):
            raise ClinferError("offsets, scores and priors do not belong together", where=self.where, values={
                "offsets": show(shapes[0]), "scores": show(shapes[1]), "priors": show(shapes[2])})

    def _fit(self, offsets: Shape, scores: Shape, priors: Shape, *refined: Shape) -> bool:
        """Whether these belong together; the number of pictures may be open."""
        count, pictures = self._count(priors), scores[0]
        classes = scores[1] // max(count, 1)
        numbers = count * 4 * (1 if self.share_location else classes)
        parts = 1 if self.variance_encoded_in_target else 2
        wanted = ((pictures, numbers), (pictures, count * classes),
                  (priors[0], parts, count * (4 if self.normalized else 5)), (pictures, count * 2), (pictures, numbers))
        given = (offsets, scores, priors, *refined)
        return (priors[0] == 1 or not differ(priors[0], pictures)) and not any(
            map(differ, chain(*given), chain(*wanted[:len(given)])))

    def _count(self, priors: Shape) -> int:
        """How many priors there are."""
        return priors[2] // (4 if self.normalized else 5)

    def _most(self, priors: int, classes: int) -> int:
        """The rows of one picture."""
        most = self.keep_top_k[0]
        return most if most > 0 else (self.top_k if most < 0 < self.top_k else priors) * classes

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        offsets, scores, priors, *refined = (np.asarray(value, np.float32) for value in values)
        pictures, count = len(scores), priors.shape[-1] // (4 if self.normalized else 5)
        scores = scores.reshape(pictures, count, scores.shape[1] // max(count, 1))
        if refined:
            scores = self._without_background(scores, refined[0].reshape(pictures, count, 2))
        rows: list[np.ndarray] = []
        for picture in range(pictures):
            refining = refined[1][picture] if refined else None
            boxes = self._boxes(offsets[picture], priors[picture % len(priors)], refining)
            found = self._best_of_all(self._found(boxes, scores[picture]), scores[picture])
            rows += [self._row(picture, number, place, boxes, scores[picture]) for number, places in found
                     for place in places]
        return (self._filled(rows, pictures, count, scores.shape[2]),)

    # -- boxes ----------------------------------------------------------------------------------

    def _boxes(self, offsets: np.ndarray, priors: np.ndarray, refining: np.ndarray | None) -> np.ndarray:
        """The corners of the boxes, [l, p, 4]."""
        corners = priors[0].reshape(-1, 4 if self.normalized else 5)[:, -4:]
        if not self.normalized:
            corners = corners / np.array([self.input_width, self.input_height] * 2, np.float32)
        variances = None if self.variance_encoded_in_target else priors[1].reshape(-1)[:corners.size].reshape(-1, 4)
        by_box = offsets.reshape(len(corners), -1, 4).transpose(1, 0, 2)
        if refining is not None:
            by_refined = refining.reshape(len(corners), -1, 4).transpose(1, 0, 2)
            corners = self._moved(corners, by_refined, variances)
        return self._moved(corners, by_box, variances)

    def _moved(self, priors: np.ndarray, offsets: np.ndarray, variances: np.ndarray | None) -> np.ndarray:
        steps = offsets if variances is None else offsets * variances
        if self.code_type.endswith("CENTER_SIZE"):
            sizes = priors[..., 2:] - priors[..., :2]
            centres = (priors[..., :2] + priors[..., 2:]) / 2 + steps[..., :2] * sizes
            half = np.exp(steps[..., 2:]) * sizes / 2
            moved = np.concatenate([centres - half, centres + half], -1)
        else:
            moved = priors + steps
        return moved.clip(0, 1) if self.clip_before_nms else moved

    def _without_background(self, scores: np.ndarray, objects: np.ndarray) -> np.ndarray:
        background = np.zeros(scores.shape[2], np.float32)
        if self.background_label_id < len(background):
            background[self.background_label_id] = 1
        return np.where(objects[..., 1:] < np.float32(self.objectness_score), background, scores)

    # -- choosing -------------------------------------------------------------------------------

    def _found(self, boxes: np.ndarray, scores: np.ndarray) -> _Found:
        classes = [c for c in range(scores.shape[1]) if c != self.background_label_id]
        if not self.decrease_label_id:
            return [(c, self._apart(boxes, c, self._candidates(scores[:, c]), [])) for c in classes]
        if not classes or not len(scores):
            return []
        own = np.array(classes)[scores[:, classes].argmax(1)]
        order = self._candidates(scores[np.arange(len(scores)), own])
        return [(c, self._apart(boxes, c, order[own[order] == c], [])) for c in classes]

    def _candidates(self, scores: np.ndarray) -> np.ndarray:
        above = np.flatnonzero(scores > self.confidence_threshold)
        return above[best_first(scores[above], self.top_k)]

    def _apart(self, boxes: np.ndarray, number: int, order: np.ndarray, kept: list[int]) -> np.ndarray:
        own = boxes[number % len(boxes)]
        for place in order:
            if not kept or (overlaps(own[place], own[kept], 0.0) <= np.float32(self.nms_threshold)).all():
                kept.append(int(place))
        return np.array(kept, np.int64)

    def _best_of_all(self, found: _Found, scores: np.ndarray) -> _Found:
        """The best `keep_top_k`, by class again."""
        most = self.keep_top_k[0]
        if most < 0 or sum(len(places) for _, places in found) <= most:
            return found
        numbers = np.concatenate([np.full(len(places), number) for number, places in found])
        places = np.concatenate([places for _, places in found])
        best = best_first(scores[places, numbers], most)
        return [(number, places[best[numbers[best] == number]]) for number, _ in found]

    # -- what is handed out ---------------------------------------------------------------------

    def _row(self, picture: int, number: int, place: int, boxes: np.ndarray, scores: np.ndarray) -> np.ndarray:
        corners = boxes[number % len(boxes), place]
        label = number - self.decrease_label_id
        return np.array([picture, label, scores[place, number],
                         *(corners.clip(0, 1) if self.clip_after_nms else corners)], np.float32)

    def _filled(self, rows: Sequence[np.ndarray], pictures: int, priors: int, classes: int) -> np.ndarray:
        most = self._most(priors, classes)
        result = np.zeros((1, 1, pictures * most, 7), np.float32)
        if rows:
            result[0, 0, :len(rows)] = rows
        if len(rows) < pictures * most:
            result[0, 0, len(rows), 0] = -1
        return result


@dataclass(frozen=True)
class DetectionOutput1(DetectionOutput):
    """The version of opset 1, which states the number of classes."""

    num_classes: int = 0
    opset: ClassVar[str] = "opset1"


def convert_detection_output(node: SourceNode) -> Primitive | Sequence[Primitive]:
    """The primitive of the node's version."""
    return by_attributes(DetectionOutput1 if node.opset == "opset1" else DetectionOutput)(node)
