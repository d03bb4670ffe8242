"""The transposed convolutions (OpenVINO ConvolutionBackpropData-1, GroupConvolutionBackpropData-1)."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Dim, Shape, Size, show
from clinfer.ops.operation import by_attributes
from clinfer.ops.shared.convolving import AnyConvolution
from clinfer.ops.shared.spatial import check_axes, check_channels, map_bounds, reach, shown
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class ConvolutionBackpropData(AnyConvolution):
    """Data [B, C, spatial...] with weights [C, O, filter...].

    Element i of the data adds its products with the filter to the outputs i * stride + k * dilation - pad.
    `output_extension`, OpenVINO's output_padding, makes the output larger at its end.
    With `has_output_shape`, input 2 gives the spatial sizes of the output, and the pads follow from them for
    `auto_pad` "same_upper" and "same_lower"; otherwise pads other than explicit ones are 0. One more input,
    where present, is the bias [O].
    """

    output_extension: tuple[int, ...] = ()
    has_output_shape: bool = False
    op_type: ClassVar[str] = "ConvolutionBackpropData"

    def __post_init__(self) -> None:
        super().__post_init__()
        axes = len(self.strides)
        for name, default in (("dilations", 1), ("pads_begin", 0), ("pads_end", 0), ("output_extension", 0)):
            given = getattr(self, name) or (default,) * axes
            object.__setattr__(self, name, tuple(given))
            if len(given) != axes:
                raise ClinferError(f"strides and {name} differ in the number of axes", where=self.where,
                                   values={"strides": self.strides, name: given})

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (2,) if self.has_output_shape else ()

    @property
    def channel_axes(self) -> tuple[int, ...]:
        return (0, 2) if self.is_grouped else (1,)

    @property
    def bias_input(self) -> int | None:
        first = 2 + self.has_output_shape
        return first if self.own_input_count > first else None

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data, weights = shapes[:2]
        if data is None or weights is None:
            return (None,)
        filters = weights[2 + self.is_grouped:]
        check_axes(self, data, weights, filters, len(self.strides))
        check_channels(self, data, weights, weights[0] * weights[1] if self.is_grouped else weights[0])
        channels = weights[0] * weights[2] if self.is_grouped else weights[1]
        spatial = self._output_sizes(data[2:], filters, values)
        if any((size if isinstance(size, int) else size.high) < 0 for size in spatial):
            raise ClinferError("the pads are larger than the output", where=self.where,
                               values={**shown(data, weights), "output": show(spatial)})
        return ((data[0], channels, *spatial),)

    def pad(self, axis: int, size: int, filter_size: int, output_size: int) -> int:
        """Elements of the full output that are cut off before a spatial axis of these sizes."""
        if self.auto_pad == "explicit":
            return self.pads_begin[axis]
        if self.auto_pad == "valid" or not self.has_output_shape:
            return 0
        total = max(self._full_size(axis, size, filter_size) + self.output_extension[axis] - output_size, 0)
        return total // 2 if self.auto_pad == "same_lower" else total - total // 2

    def _full_size(self, axis: int, size: int, filter_size: int) -> int:
        """One element's worth for data without elements, as OpenVINO's shape rule has it."""
        return (max(size, 1) - 1) * self.strides[axis] + reach(filter_size, self.dilations[axis])

    def _output_sizes(self, sizes: Shape, filters: Shape, values: Values) -> Shape:
        if not self.has_output_shape:
            return tuple(self._output_size(axis, size, filters[axis]) for axis, size in enumerate(sizes))
        if 2 not in values:
            return (Dim(1),) * len(sizes)
        wanted = tuple(int(size) for size in values[2].reshape(-1))
        if len(wanted) != len(sizes):
            raise ClinferError("the output shape must have one size per spatial axis", where=self.where,
                               values={"output shape": wanted, "data": show(sizes)})
        return wanted

    def _output_size(self, axis: int, size: Size, filter_size: Size) -> Size:
        if not isinstance(filter_size, int):
            return Dim()

        def grow(bound: int) -> int:
            pads = self.pads_begin[axis] + self.pads_end[axis] if self.auto_pad == "explicit" else 0
            return self._full_size(axis, bound, filter_size) - pads + self.output_extension[axis]
        return grow(size) if isinstance(size, int) else map_bounds(size, grow, 0)


@dataclass(frozen=True)
class GroupConvolutionBackpropData(ConvolutionBackpropData):
    """One per group of channels: weights are [G, I, O, filter...], output channel g*O + o is group g's o-th."""

    op_type: ClassVar[str] = "GroupConvolutionBackpropData"
    is_grouped: ClassVar[bool] = True


def convert_convolution_backprop_data(node: SourceNode) -> Primitive:
    """The primitive; a third input is the shape of the output."""
    cls = GroupConvolutionBackpropData if node.type_name.startswith("Group") else ConvolutionBackpropData
    primitive = by_attributes(cls)(node)
    assert isinstance(primitive, ConvolutionBackpropData)
    return replace(primitive, has_output_shape=len(node.inputs) > 2,
                   output_extension=tuple(node.attributes["output_padding"]))
