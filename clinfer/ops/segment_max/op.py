"""The SegmentMax primitive (OpenVINO SegmentMax-16)."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.shape import ANY, Shape, Size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class SegmentMax(Primitive):
    """The largest elements along axis 0 of input 0 in each segment; input 1 names the segment of each slice, in
    ascending order.

    Input 2 is the number of segments (`is_count`), or the segments once more, of which the last is the largest.
    `fill_mode`: an empty segment gives zeros ("zero") or the lowest number ("lowest").
    """

    fill_mode: str = "zero"
    is_count: bool = True

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (2,)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data = shapes[0]
        if data is None:
            return (None,)
        return ((self._count(values) if 2 in values else ANY, *data[1:]),)

    def _count(self, values: Values) -> Size:
        given = values[2].reshape(-1).tolist()
        if self.is_count:
            return given[0]
        return given[-1] + 1 if given else 0


def convert_segment_max(node: SourceNode) -> SegmentMax:
    """Where the number of segments is missing, the segments are read for it."""
    return SegmentMax(node.id, (*node.inputs[:2], node.inputs[-1]), origin=node.name,
                      fill_mode=str(node.attributes["fill_mode"]).lower(), is_count=len(node.inputs) > 2)
