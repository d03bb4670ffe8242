"""The Interpolate primitive (OpenVINO Interpolate-11 and -4; version 1 becomes one)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite
from typing import ClassVar

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import UNBOUNDED, Dim, Shape, Size, StaticShape, empty, show
from clinfer.ops.operation import by_attributes
from clinfer.symbolic.shape_inference import Values
from clinfer.symbolic.symbols import computed, pure, single
from clinfer.topology import Constant, Port, Primitive, SourceNode

MODES = ("nearest", "linear_onnx", "linear", "cubic", "bilinear_pillow", "bicubic_pillow")
COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners")
PILLOW_CUBIC = -0.5
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")


@dataclass(frozen=True)
class Interpolate(Primitive):
    """Input 0 resized to the sizes or by the scales in input 1 (`shape_calculation_mode`) along axes (2).

    Without input 2 every axis is resized. `pads_begin` and `pads_end` put zeros around the data first.
    """

    mode: str = "nearest"
    shape_calculation_mode: str = "sizes"
    coordinate_transformation_mode: str = "half_pixel"
    nearest_mode: str = "round_prefer_floor"
    antialias: bool = False
    pads_begin: tuple[int, ...] = ()
    pads_end: tuple[int, ...] = ()
    cube_coeff: float = -0.75
    op_type: ClassVar[str] = "Interpolate"
    opset: ClassVar[str] = "opset11"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("mode", MODES), ("coordinate_transformation_mode", COORDINATES),
                            ("nearest_mode", NEAREST)):
            if getattr(self, name) not in known:
                raise ClinferError(f"Interpolate does not know this {name}", where=self.where,
                                   values={name: getattr(self, name), "known": ", ".join(known)})

    @property
    def cubic_parameter(self) -> float:
        """The slope of the cubic filter at 1: Keys' a. Pillow's filter has its own, whatever `cube_coeff` says, and so
        have PyTorch's antialiased bicubic and OpenVINO's CPU plugin."""
        return PILLOW_CUBIC if self.mode == "bicubic_pillow" else float(self.cube_coeff)

    @property
    def takes_fused_ops(self) -> bool:
        return True

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return tuple(range(1, self.own_input_count))

    @property
    def axes_input(self) -> int:
        """The input that holds the axes, if there are as many."""
        return 2

    @property
    def scales_input(self) -> int:
        """The input that holds the scales, if `shape_calculation_mode` is "scales"."""
        return 1

    def axes_of(self, values: Values, rank: int) -> tuple[int, ...] | None:
        """The resized axes in the order of the sizes or scales, or None while they are unknown."""
        if self.own_input_count <= self.axes_input:
            return tuple(range(rank))
        if self.axes_input not in values:
            return None
        return tuple(int(axis) % rank for axis in values[self.axes_input].reshape(-1))

    def on_reordered(self, order: tuple[int, ...], shape: Shape, values: Values) -> Mapping[int, np.ndarray] | None:
        """How it gives the same result, axis `order[i]` of it at i, on data (input 0, of that shape) whose axes stand
        in that order: the inputs that are other constants then. None: it cannot, or is none the better for it.

        It is where the last two of four axes are resized then, and were not before: the kernels are made for these.
        """
        if len(shape) != 4 or self.axes_input not in values or any(self.pads_begin) or any(self.pads_end):
            return None
        axes = self.axes_of(values, 4) or ()
        moved = [order.index(axis) for axis in axes]
        return {self.axes_input: np.array(moved, np.int64)} if min(moved, default=0) >= 2 > min(axes) else None

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, by_scales = shapes[0], self.shape_calculation_mode == "scales"
        axes = None if data is None else self.axes_of(values, len(data))
        numbers = values.get(self.scales_input if by_scales else 1)
        if data is None or axes is None or numbers is None or min((*self.pads_begin, *self.pads_end), default=0) < 0:
            return None
        given = numbers.reshape(-1).tolist()
        if len(given) != len(axes) or len(set(axes)) != len(axes) or any(number < 0 for number in given):
            return None
        if by_scales and not all(map(isfinite, given)):
            return None
        sizes = [size + sum(self.pads(axis)) for axis, size in enumerate(data)]
        for axis, number in zip(axes, given, strict=True):
            sizes[axis] = _scaled(sizes[axis], number) if by_scales else number
        return (tuple(sizes),)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        """OpenVINO's rule makes something out of nothing, and nothing out of negative sizes."""
        by_scales = self.shape_calculation_mode == "scales"
        given = values[self.scales_input if by_scales else 1].reshape(-1).tolist()
        if any(number < 0 for number in given) or (by_scales and not all(map(isfinite, given))):
            raise ClinferError("nothing can be resized to or by a negative number, or one that is not finite",
                               where=self.where, values={"given": given})
        if 0 in shapes[0] and not empty(outputs):
            raise ClinferError("data without elements cannot be interpolated", where=self.where,
                               values={"data": show(shapes[0]), "output": show(outputs[0])})

    def pads(self, axis: int) -> tuple[int, int]:
        """Zeros before and after an axis of the data."""
        return (self.pads_begin[axis] if axis < len(self.pads_begin) else 0,
                self.pads_end[axis] if axis < len(self.pads_end) else 0)


def _scaled(size: Size, scale: float) -> Size:
    if scale % 1 == 0:
        return size * int(scale)
    if isinstance(size, Dim):
        return Dim(_scaled_number(size.low, scale),
                   UNBOUNDED if size.high >= UNBOUNDED else min(_scaled_number(size.high, scale), UNBOUNDED))
    return computed(_scaled_number, size, scale)


@pure
def _scaled_number(size: int, scale: float) -> int:
    """A size by a scale as OpenVINO has it: in single precision, by a little more."""
    return floor(single(single(size) * single(single(scale) + single(1e-6))))


@dataclass(frozen=True)
class Interpolate4(Interpolate):
    """The same with sizes in input 1, scales in input 2 and axes in input 3."""

    opset: ClassVar[str] = "opset4"

    @property
    def axes_input(self) -> int:
        return 3

    @property
    def scales_input(self) -> int:
        return 2


def convert_interpolate(node: SourceNode) -> Primitive | Sequence[Primitive]:
    """The primitive of any version; the axes of version 1 become a constant."""
    if node.opset in ("opset4", "opset5", "opset6", "opset7", "opset8", "opset9", "opset10"):
        return by_attributes(Interpolate4)(node)
    if node.opset not in ("opset1", "opset2", "opset3"):
        return by_attributes(Interpolate)(node)
    given = node.attributes
    axes = Constant(f"{node.id}/axes", origin=node.name, value=np.array(sorted(given["axes"]), np.int64),
                    element_type=ElementType.of("i64"))
    return axes, Interpolate(
        node.id, (*node.inputs, Port(axes.id)), origin=node.name, antialias=bool(given["antialias"]),
        mode="linear_onnx" if given["mode"] == "linear" and not given["antialias"] else given["mode"],
        coordinate_transformation_mode="align_corners" if given["align_corners"] else "asymmetric",
        nearest_mode="simple", pads_begin=tuple(given["pads_begin"]), pads_end=tuple(given["pads_end"]))
