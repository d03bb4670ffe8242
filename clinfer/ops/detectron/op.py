"""The ExperimentalDetectron primitives of OpenVINO's opset 6, but for the proposals (`ops/proposal/`)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, Shape, Size, StaticShape, show
from clinfer.ops.proposal.converters import best_places, listed, select
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port, Primitive, SourceNode

_F32 = ElementType.of("f32")
_ALL = 2**31 - 1


@dataclass(frozen=True)
class ExperimentalDetectronPriorGridGenerator(Primitive):
    """The anchors of input 0 [p, 4] at each place of a map, input 1 [1, c, y, x], row by row: [y * x * p, 4], or
    [y, x, p, 4] unless it is to `flatten`.

    Places are `stride_y` and `stride_x` pixels apart (0: as many as spread them over the picture, input 2
    [1, c, y, x]). `h` and `w`, unless 0, are taken for the map's height and width, and must be these.
    """

    flatten: bool = True
    h: int = 0
    w: int = 0
    stride_x: float = 0.0
    stride_y: float = 0.0
    op_type: ClassVar[str] = "ExperimentalDetectronPriorGridGenerator"
    opset: ClassVar[str] = "opset6"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        anchors, places, picture = shapes
        if anchors is None or places is None or picture is None:
            return None
        if (len(anchors), len(places), len(picture)) != (2, 4, 4):
            return None
        if differ(anchors[1], 4) or differ(places[0], picture[0]):
            return None
        rows, columns = places[2:]
        return ((rows * columns * anchors[0], 4) if self.flatten else (rows, columns, anchors[0], 4),)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values, outputs: tuple[StaticShape, ...]) -> None:
        rows, columns = shapes[1][2:]
        if self.h not in (0, rows) or self.w not in (0, columns):
            raise ClinferError("the map is not as large as the grid", where=self.where, values={
                "map": show(shapes[1]), "grid": f"{self.h} x {self.w}"})


@dataclass(frozen=True)
class ExperimentalDetectronROIFeatureExtractor(Primitive):
    """The maps in inputs 1, 2... [1, c, y, x], pooled within the regions of input 0 [r, 4] (x1, y1, x2, y2).

    A region is pooled in the map that belongs to its size, which is 224 for the third. Of map i a pixel is
    `pyramid_scales[i]` pixels of the picture large. There are `output_size` squared bins, each sampled at
    `sampling_ratio` places along each axis (0: as many as it has pixels). `aligned`: pixels are counted from their
    centres. Regions without an area give zeros. Output 1 is input 0.
    """

    output_size: int = 1
    sampling_ratio: int = 0
    pyramid_scales: tuple[int, ...] = ()
    aligned: bool = False
    op_type: ClassVar[str] = "ExperimentalDetectronROIFeatureExtractor"
    opset: ClassVar[str] = "opset6"

    @property
    def output_count(self) -> int:
        return 2

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        regions, first = shapes[:2]
        if regions is None or len(regions) != 2 or differ(regions[1], 4) or first is None:
            return None
        if any(each is None or len(each) != 4 or differ(each[0], 1) or differ(each[1], first[1])
               for each in shapes[1:]):
            return None
        if len(self.pyramid_scales) < len(shapes) - 1:
            raise ClinferError("each map needs a scale", where=self.where, values={
                "maps": len(shapes) - 1, "scales": len(self.pyramid_scales)})
        return (regions[0], first[1], self.output_size, self.output_size), (regions[0], 4)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values, outputs: tuple[StaticShape, ...]) -> None:
        if shapes[0][0] and any(0 in each[2:] for each in shapes[1:]):
            raise ClinferError("maps without pixels cannot be pooled", where=self.where,
                               values={"maps": ", ".join(map(show, shapes[1:]))})


@dataclass(frozen=True)
class BestRegions(Primitive):
    """Those of input 0 [r, 4] that input 1 names, f32 [count, 4]; zeros where it names fewer."""

    count: int = 1

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        regions = shapes[0]
        if regions is not None and (len(regions) != 2 or differ(regions[1], 4)):
            raise ClinferError("regions have four numbers", where=self.where, values={"regions": show(regions)})
        return ((self.count, 4),)


@dataclass(frozen=True)
class ClassBoxes(Primitive):
    """Boxes f32 [c - 1, r, 4], longer by a pixel, and scores f32 [c - 1, 1, r] of all classes but the first.

    Input 0: regions [r, 4]; 1: for each class offsets of their centres, as parts of their sides, and logarithms of
    factors of their sides [r, c * 4], each divided by its weight in `deltas_weights`, the logarithms at most
    `max_delta_log_wh`; 2: scores [r, c]. Regions without an area have boxes of zeros, with score 0.
    """

    max_delta_log_wh: float = 0.0
    deltas_weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)

    @property
    def output_count(self) -> int:
        return 2

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return _F32, _F32

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        regions, offsets, scores = shapes
        if scores is None:
            return (ANY, ANY, 4), (ANY, 1, ANY)
        count, classes = scores
        wrong = regions is not None and (len(regions) != 2 or differ(regions[0], count) or differ(regions[1], 4))
        if wrong or (offsets is not None and (differ(offsets[0], count) or differ(offsets[1], classes * 4))):
            raise ClinferError("regions, offsets and scores do not belong together", where=self.where, values={
                "regions": show(regions), "offsets": show(offsets), "scores": show(scores)})
        others: Size = classes - 1
        return (others, count, 4), (others, 1, count)


@dataclass(frozen=True)
class Detections(Primitive):
    """The best `count` of the boxes that were selected: corners [count, 4], classes [count], scores [count].

    Input 0: boxes [c, r, 4], longer than meant by a pixel; 1 to 4: the lists of SelectBoxes, one for each class.
    Best first (of equal scores first of box, then of class), or class by class if there are no more than `count`;
    zeros where there are fewer.
    """

    count: int = 1
    types: tuple[ElementType, ...] = ()

    @property
    def output_count(self) -> int:
        return 3

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return self.types

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return (self.count, 4), (self.count,), (self.count,)


def convert_top_k_rois(node: SourceNode) -> tuple[Primitive, ...]:
    """The places of the best, and the regions there."""
    best = best_places(node, node.inputs[1], int(node.attributes["max_rois"]))
    return (*best, BestRegions(node.id, (node.inputs[0], Port(best[-1].id, 1)), origin=node.name,
                               count=int(node.attributes["max_rois"])))


def convert_detection_output(node: SourceNode) -> tuple[Primitive, ...]:
    """Input 3, the picture's size, says nothing: boxes end at 0 alone."""
    given = node.attributes
    boxes = ClassBoxes(f"{node.id}/boxes", node.inputs[:3], origin=node.name,
                       max_delta_log_wh=float(given["max_delta_log_wh"]),
                       deltas_weights=tuple(map(float, given["deltas_weights"])))
    most = int(given["post_nms_count"])
    chosen = select(node, boxes, 1.0, _ALL if most < 0 else most, float(given["nms_threshold"]),
                    float(given["score_threshold"]))
    return (boxes, *chosen, Detections(node.id, (Port(boxes.id), *listed(chosen[-1])), origin=node.name,
                                       count=int(given["max_detections_per_image"]), types=node.output_types))
