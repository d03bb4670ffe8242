"""The convolution primitives (OpenVINO Convolution-1, GroupConvolution-1)."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.schema import Positive
from clinfer.base.shape import Dim, Shape, Size
from clinfer.ops.shared.convolving import AnyConvolution
from clinfer.ops.shared.spatial import check_axes, check_channels, map_windows, reach, shown
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port


@dataclass(frozen=True)
class Convolution(AnyConvolution):
    """Data [B, C, spatial...] with weights [O, C, filter...].

    With `auto_pad` "same_upper", "same_lower" or "valid" the pads follow from the shapes and `pads_begin`, `pads_end`
    are not read. A third input, where present, is the bias [O]. With `has_factor`, the last input is a factor of the
    data, [B or 1, C, 1...].
    """

    has_factor: bool = False
    op_type: ClassVar[str] = "Convolution"

    @property
    def bias_input(self) -> int | None:
        return 2 if self.own_input_count - self.has_factor > 2 else None

    @property
    def channel_axes(self) -> tuple[int, ...]:
        return (0, 1) if self.is_grouped else (0,)

    @property
    def factor_input(self) -> int | None:
        """The input that holds the factor, if there is one."""
        return self.own_input_count - 1 if self.has_factor else None

    def with_factor(self, data: Port, factor: Port) -> Convolution | None:
        """The primitive on other data, each channel of which (axis 1) it multiplies with a factor, [B or 1, C, 1...];
        None: it does not do that. Outside of the data it sees zeros all the same."""
        if self.has_factor or self.is_grouped:
            return None
        found = self.with_more_inputs(factor)
        return replace(found, inputs=(data, *found.inputs[1:]), has_factor=True)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data, weights = shapes[:2]
        if data is None or weights is None:
            return (None,)
        filters = weights[2 + self.is_grouped:]
        check_axes(self, data, weights, filters, len(self.strides))
        check_channels(self, data, weights, weights[0] * weights[2] if self.is_grouped else weights[1])
        channels = weights[0] if not self.is_grouped else weights[0] * weights[1]
        spatial = tuple(self._output_size(axis, data[2 + axis], filters[axis]) for axis in range(len(filters)))
        least = 0 if self.auto_pad.startswith("same") else 1
        if any((size if isinstance(size, int) else size.high) < least for size in spatial):
            raise ClinferError("the filter is larger than the padded data", where=self.where,
                               values=shown(data, weights))
        return ((data[0], channels, *spatial),)

    def pads(self, axis: int, size: int, filter_size: int) -> tuple[int, int]:
        """Elements put before and after a spatial axis of that size."""
        if self.auto_pad in ("same_upper", "same_lower"):
            stride = self.strides[axis]
            total = max((-(-size // stride) - 1) * stride + reach(filter_size, self.dilations[axis]) - size, 0)
            less, more = total // 2, total - total // 2
            return (less, more) if self.auto_pad == "same_upper" else (more, less)
        if self.auto_pad == "valid":
            return 0, 0
        return self.pads_begin[axis], self.pads_end[axis]

    def _output_size(self, axis: int, size: Size, filter_size: Size) -> Size:
        if isinstance(size, int) and isinstance(filter_size, int):
            return self._static_output_size(axis, size, filter_size)
        if not isinstance(filter_size, int):
            return Dim()
        assert isinstance(size, Dim)
        pads = None if self.auto_pad.startswith("same") else self.pads(axis, size.low, filter_size)
        return map_windows(size, lambda bound: self._static_output_size(axis, bound, filter_size), pads,
                           reach(filter_size, self.dilations[axis]), self.strides[axis])

    def _static_output_size(self, axis: int, size: int, filter_size: int) -> int:
        before, after = self.pads(axis, size, filter_size)
        return (size + before + after - reach(filter_size, self.dilations[axis])) // self.strides[axis] + 1


@dataclass(frozen=True)
class GroupConvolution(Convolution):
    """A convolution per group of channels: weights are [G, O, I, filter...], channel g*I + i is group g's i-th.

    Each group consists of so many (`joined`) smaller ones, between which the weights are 0.
    """

    joined: Positive = 1
    op_type: ClassVar[str] = "GroupConvolution"
    is_grouped: ClassVar[bool] = True
