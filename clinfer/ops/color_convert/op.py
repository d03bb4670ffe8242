"""The colour conversion primitive (OpenVINO NV12toRGB-8, NV12toBGR-8, I420toRGB-8, I420toBGR-8)."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Dim, Shape, Size, show
from clinfer.ops.shared.parts import ReadsParts
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import SourceNode


@dataclass(frozen=True)
class ColorConvert(ReadsParts):
    """Pictures [n, h, w, 3], h and w even, from planes: brightness Y for each pixel, and colour U, V for each square
    of two by two.

    `source` "nv12": Y [n, h, w, 1] and U beside V [n, h/2, w/2, 2]; "i420": Y, U and V [n, h/2, w/2, 1] apart. Either
    may have all in one input [n, h * 3/2, w, 1], one plane behind the other. `target`: "rgb" or "bgr". Results lie in
    0..255 and are rounded (to the nearest, halves to even) where the planes are u8, also if `stored_type` ("": that
    of the planes) can hold more.
    """

    source: str = "nv12"
    target: str = "rgb"
    stored_type: str = ""
    result_keeps_last: ClassVar[bool] = False

    @property
    def takes_fused_ops(self) -> bool:
        return True

    def with_output_type(self, kind: ElementType) -> ColorConvert | None:
        """The primitive with its results converted to another type before they are stored; None: it stores its own."""
        return replace(self, stored_type=kind.name) if kind.is_float and not self.fused_ops else None

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of(self.stored_type) if self.stored_type else input_types[0],)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        return (None,) if None in shapes else super().infer_shapes(shapes, values)

    def result_shape(self, seen: tuple[Shape, ...]) -> Shape:
        if any(len(shape) != 4 for shape in seen):
            raise self._refused("planes have four axes", seen)
        return self._of_one(seen) if len(seen) == 1 else self._of_planes(seen)

    def _of_one(self, seen: tuple[Shape, ...]) -> Shape:
        (batch, rows, width, last), = seen
        if not (_may_be(last, 1) and _may_be(rows % 3, 0) and _may_be(width % 2, 0)):
            raise self._refused("all planes in one need an even width and a height that is a multiple of 3", seen)
        return batch, rows // 3 * 2, width, 3

    def _of_planes(self, seen: tuple[Shape, ...]) -> Shape:
        luma, *chroma = seen
        batch, height, width, _ = luma
        deep = 1 if len(chroma) == 2 else 2
        for plane in chroma:
            batch, height, width = _same(batch, plane[0]), _same(height, plane[1] * 2), _same(width, plane[2] * 2)
        fits = all(_may_be(plane[0], batch) and _may_be(plane[1] * 2, height) and _may_be(plane[2] * 2, width)
                   and _may_be(plane[3], deep) for plane in chroma)
        if not fits or not _may_be(luma[3], 1):
            raise self._refused("the planes do not fit together", seen)
        return batch, height, width, 3

    def _refused(self, what: str, seen: tuple[Shape, ...]) -> ClinferError:
        return ClinferError(what, where=self.where, values={"planes": " ".join(map(show, seen))},
                            hint="height and width of pictures are even, those of their colour half as large")


def _may_be(size: Size, other: Size) -> bool:
    return not differ(size, other)


def _same(one: Size, other: Size) -> Size:
    """The one of two sizes, which are the same, that tells more."""
    return other if isinstance(one, Dim) and not isinstance(other, Dim) else one


def convert_color_conversion(node: SourceNode) -> ColorConvert:
    """The conversion whose type says from what to what: NV12toRGB."""
    source, _, target = node.type_name.lower().partition("to")
    return ColorConvert(node.id, node.inputs, origin=node.name, source=source, target=target)
