"""The pooling primitives (OpenVINO MaxPool-1, -8, -14, AvgPool-1, -14, -16, AdaptiveMaxPool-8, AdaptiveAvgPool-8)."""
from __future__ import annotations

from dataclasses import dataclass, replace

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.schema import Positive
from clinfer.base.shape import UNBOUNDED, Dim, Shape, Size, show
from clinfer.ops.operation import by_attributes
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class Pooling(Primitive):
    """Combines windows of `kernel` elements of data [B, C, spatial...], one to three spatial axes.

    The attributes have one value per spatial axis; left out, strides and dilations are 1 and pads 0.
    With `auto_pad` "same_upper", "same_lower" or "valid" the pads follow from the shapes. `rounding_type`
    is "floor", "ceil", or "ceil_torch" (no window starts behind the data and its first padding).
    """

    kernel: tuple[Positive, ...] = ()
    strides: tuple[Positive, ...] = ()
    pads_begin: tuple[int, ...] = ()
    pads_end: tuple[int, ...] = ()
    dilations: tuple[Positive, ...] = ()
    rounding_type: str = "floor"
    auto_pad: str = "explicit"

    def __post_init__(self) -> None:
        super().__post_init__()
        axes = len(self.kernel)
        for name, default in (("strides", 1), ("dilations", 1), ("pads_begin", 0), ("pads_end", 0)):
            given = getattr(self, name) or (default,) * axes
            object.__setattr__(self, name, tuple(given))
            if len(given) != axes:
                raise ClinferError(f"kernel and {name} differ in the number of axes", where=self.where,
                                   values={"kernel": self.kernel, name: given})

    @property
    def takes_fused_ops(self) -> bool:
        return self.output_count == 1

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data = shapes[0]
        if data is None:
            return (None,) * self.output_count
        if len(data) - 2 != len(self.kernel):
            raise ClinferError("data and kernel differ in the number of spatial axes", where=self.where,
                               values={"data": show(data), "kernel": self.kernel})
        spatial = tuple(self._output_size(axis, size, data) for axis, size in enumerate(data[2:]))
        return ((*data[:2], *spatial),) * self.output_count

    def reach(self, axis: int) -> int:
        """From the first to behind the last element of a window."""
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1

    def pads(self, axis: int, size: int) -> tuple[int, int]:
        """Elements put before and after a spatial axis of that size."""
        if self.auto_pad in ("same_upper", "same_lower"):
            stride = self.strides[axis]
            total = max((-(-size // stride) - 1) * stride + self.reach(axis) - size, 0)
            less, more = total // 2, total - total // 2
            return (less, more) if self.auto_pad == "same_upper" else (more, less)
        if self.auto_pad == "valid":
            return 0, 0
        return self.pads_begin[axis], self.pads_end[axis]

    def _output_size(self, axis: int, size: Size, data: Shape) -> Size:
        if isinstance(size, Dim):
            low = self._static_output_size(axis, size.low)
            high = UNBOUNDED if size.high >= UNBOUNDED else self._static_output_size(axis, size.high)
            return Dim(low, high)
        found = self._static_output_size(axis, size)
        if found < 1:
            raise ClinferError("the window is larger than the padded data", where=self.where,
                               values={"data": show(data), "kernel": self.kernel, "pads_begin": self.pads_begin,
                                       "pads_end": self.pads_end})
        return found

    def _static_output_size(self, axis: int, size: int) -> int:
        before, after = self.pads(axis, size)
        stride = self.strides[axis]
        steps = size + before + after - self.reach(axis)
        if steps < 0:
            return 0
        if self.rounding_type == "floor":
            return steps // stride + 1
        count = -(-steps // stride) + 1
        starts_behind = self.rounding_type == "ceil_torch" and (count - 1) * stride >= size + before
        return count - 1 if starts_behind else count


@dataclass(frozen=True)
class MaxPool(Pooling):
    """The largest element of each window.

    With an `index_element_type`, output 1 holds where it stands: its position in the data flattened
    from `axis` on.
    """

    index_element_type: str = ""
    axis: int = 0

    @property
    def output_count(self) -> int:
        return 2 if self.index_element_type else 1

    @property
    def picked_inputs(self) -> tuple[int, ...]:
        return () if self.index_element_type else (0,)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        indices = (ElementType.of(self.index_element_type),) if self.index_element_type else ()
        return (input_types[0], *indices)


@dataclass(frozen=True)
class AvgPool(Pooling):
    """The mean of each window, of the elements inside the data (`exclude_pad`) or with zeros for the pads."""

    exclude_pad: bool = True


@dataclass(frozen=True)
class AdaptivePool(Primitive):
    """Cuts each spatial axis of data [B, C, spatial...] into as many windows as input 1 asks for.

    Of n windows along an axis of `size` elements, window i reaches from i * size / n, rounded down, to
    (i + 1) * size / n, rounded up: neighbours overlap where n does not divide the size.
    """

    @property
    def takes_fused_ops(self) -> bool:
        return self.output_count == 1

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data = shapes[0]
        if data is None:
            return (None,) * self.output_count
        windows: Shape = (Dim(),) * (len(data) - 2)
        if 1 in values:
            windows = tuple(int(n) for n in values[1].reshape(-1))
        if len(windows) != len(data) - 2 or not 1 <= len(windows) <= 3 or any(
                isinstance(n, int) and n < 0 for n in windows):
            raise ClinferError("the output shape must have one size for each of one to three spatial axes",
                               where=self.where, values={"data": show(data), "output shape": show(windows)})
        return ((*data[:2], *windows),) * self.output_count


@dataclass(frozen=True)
class AdaptiveAvgPool(AdaptivePool):
    """The mean of each window."""


@dataclass(frozen=True)
class AdaptiveMaxPool(AdaptivePool):
    """The largest element of each window.

    With an `index_element_type`, output 1 holds where it stands: its position in the flattened spatial axes.
    """

    index_element_type: str = ""

    @property
    def output_count(self) -> int:
        return 2 if self.index_element_type else 1

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        indices = (ElementType.of(self.index_element_type),) if self.index_element_type else ()
        return (input_types[0], *indices)


def convert_max_pool(node: SourceNode) -> Primitive:
    """The primitive of a MaxPool or AdaptiveMaxPool; positions are computed if somebody reads them."""
    pool = by_attributes(AdaptiveMaxPool if node.type_name == "AdaptiveMaxPool" else MaxPool)(node)
    assert isinstance(pool, (AdaptiveMaxPool, MaxPool))
    reads_positions = len(node.output_types) > 1 and (not node.used_outputs or node.used_outputs[1])
    return replace(pool, index_element_type=node.output_types[1].name if reads_positions else "")
