"""The NonMaxSuppression primitive (OpenVINO NonMaxSuppression-5, -9, NMSRotated-13) and the one that selects for it."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, UNBOUNDED, Dim, Shape, Size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port, Primitive, SourceNode

_SUPPORTED = ("opset5", "opset9")


@dataclass(frozen=True)
class SelectBoxes(Primitive):
    """Chooses boxes for each batch and class, best first, until their number or their scores end.

    Inputs 0 and 1 are the boxes [n, b, 4] and the scores [n, c, b]; the values 2 to 5 (any may be missing from
    the end on, 0 stands in): how many boxes to choose for each class, the overlap (intersection over union) above
    which a chosen box suppresses others, the score that a box must exceed, and sigma of soft suppression. With a
    sigma nothing is suppressed, but scores are multiplied by exp(-overlap^2 / (2 sigma)). Of equal scores the first
    box is better.
    `box_encoding` "corner": two opposite corners y, x; "center": x, y, width, height; "rotated": these and an angle in
    radians, to the right if `clockwise`. Corners that are the last of a box lie `extent` beyond its last point.

    Output 0: how many were chosen in all, i64 [1]. For each of the n * c lists: boxes i32 and scores f32
    [n * c, k], best first; how many, i32 [n * c]; how many the lists before it have, i32 [n * c].
    """

    box_encoding: str = "corner"
    clockwise: bool = True
    extent: float = 0.0

    @property
    def output_count(self) -> int:
        return 5

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return tuple(range(2, len(self.inputs)))

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return tuple(map(ElementType.of, ("i64", "i32", "f32", "i32", "i32")))

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        boxes, scores = shapes[:2]
        if boxes is None or scores is None:
            return (1,), (ANY, ANY), (ANY, ANY), (ANY,), (ANY,)
        self._check(boxes, scores)
        lists: Size = scores[0] * scores[1]
        longest = self._longest(scores[2], values)
        return (1,), (lists, longest), (lists, longest), (lists,), (lists,)

    def _longest(self, boxes: Size, values: Values) -> Size:
        if 2 in self.value_inputs and 2 not in values:
            return Dim(0, boxes if isinstance(boxes, int) else boxes.high)
        wanted = max(values[2].reshape(-1).tolist()[0], 0) if 2 in values else 0
        return min(boxes, wanted) if isinstance(boxes, int) else Dim(0, min(boxes.high, wanted))

    def _check(self, boxes: Shape, scores: Shape) -> None:
        known, numbers = len(boxes) == 3 and len(scores) == 3, 5 if self.box_encoding == "rotated" else 4
        pairs = ((boxes[0], scores[0]), (boxes[1], scores[2]), (boxes[2], numbers)) if known else ()
        if not known or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs):
            raise ClinferError("boxes and scores do not belong together", where=self.where, values={
                "boxes": boxes, "scores": scores, "expected": f"[n, b, {numbers}] and [n, c, b]"})

    def number(self, index: int, values: Values) -> float:
        """The value of input 3, 4 or 5; 0 where it is missing or unknown."""
        return float(values[index].reshape(-1)[0]) if index in values else 0.0


@dataclass(frozen=True)
class NonMaxSuppression(Primitive):
    """What SelectBoxes (inputs: its outputs) has chosen: (batch, class, box) and (batch, class, score), and how many.

    Best first, if `sort_result_descending`; else list by list. Input 5 is the scores, whose shape tells
    the classes.
    """

    sort_result_descending: bool = True
    types: tuple[ElementType, ...] = ()

    @property
    def output_count(self) -> int:
        return 3

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (0,)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return self.types

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        count: Size = values[0].reshape(-1).tolist()[0] if 0 in values else Dim(0, _most(shapes[1]))
        return (count, 3), (count, 3), (1,)


def convert_non_max_suppression(node: SourceNode) -> tuple[Primitive, ...]:
    """The selecting primitive, `<id>/select`, and NonMaxSuppression itself."""
    if node.opset not in _SUPPORTED:
        raise ClinferError("this version of NonMaxSuppression is not supported", where=f"layer {node.name!r}",
                           values={"version": node.opset, "supported": ", ".join(_SUPPORTED)},
                           hint="export with a newer opset")
    return _of(node, SelectBoxes(f"{node.id}/select", node.inputs, origin=node.name,
                                 box_encoding=str(node.attributes["box_encoding"]).lower()))


def convert_nms_rotated(node: SourceNode) -> tuple[Primitive, ...]:
    """The same of boxes that are turned."""
    return _of(node, SelectBoxes(f"{node.id}/select", node.inputs, origin=node.name, box_encoding="rotated",
                                 clockwise=bool(node.attributes["clockwise"])))


def _of(node: SourceNode, select: SelectBoxes) -> tuple[Primitive, ...]:
    chosen = tuple(Port(select.id, index) for index in range(select.output_count))
    return select, NonMaxSuppression(node.id, (*chosen, node.inputs[1]), origin=node.name, types=node.output_types,
                                     sort_result_descending=bool(node.attributes["sort_result_descending"]))


def _most(lists: Shape | None) -> int:
    """The largest number of boxes that lists of this shape can hold."""
    if lists is None:
        return UNBOUNDED
    a, b = (d.high if isinstance(d, Dim) else d for d in lists)
    return min(a * b, UNBOUNDED)
