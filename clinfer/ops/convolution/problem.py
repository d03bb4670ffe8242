"""Convolution as its kernels see it."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import BufferRef, Constant, Operand, stretched_epilogue
from clinfer.ops.convolution.op import Convolution, GroupConvolution
from clinfer.ops.shared.convolving import AnyConvolutionProblem, Groups
from clinfer.ops.shared.spatial import data_view
from clinfer.runtime.capabilities import Capabilities
from clinfer.topology import Port

DEPTHWISE_WEIGHTS = {4: "gs_oix_gsv16", 5: "gs_oiyx_gsv16", 6: "gs_oizyx_gsv16"}
"""By their rank, the format of weights of channels with a filter each: those of a tap of 16 channels lie together."""
_FLAT_FORMATS = {"b_fs_zyx_fsv16": "b_fs_yx_fsv16", "bfzyx": "bfyx"}


@dataclass(frozen=True)
class ConvolutionProblem(AnyConvolutionProblem):
    """Data [B, G * inputs, Z, Y, X] with weights [G, outputs, inputs, Z, Y, X]."""

    primitive: Convolution

    @cached_property
    def groups(self) -> Groups:
        shape = self.inputs[1].static_shape
        return Groups(*shape[:3]) if self.primitive.is_grouped else Groups(1, *shape[:2])

    @property
    def joined(self) -> int:
        """The smaller groups of which each group consists, between which the weights are 0."""
        return self.primitive.joined if isinstance(self.primitive, GroupConvolution) else 1

    @property
    def flops(self) -> float:
        return 2.0 * self.batch * self.groups.number * self.groups.outputs * self.pixels * self.depth / self.joined

    @cached_property
    def pads(self) -> tuple[int, ...]:
        rank = self.inputs[0].rank - 2
        data, weights = self.inputs[0].static_shape[-rank:], self.inputs[1].static_shape[-rank:]
        return tuple(self.primitive.pads(axis, data[axis], weights[axis])[0] for axis in range(rank))

    @property
    def constants(self) -> dict[str, Constant]:
        """Whether there are a bias and a factor."""
        return {**self.has_bias, "HAS_FACTOR": int(self.primitive.factor_input is not None)}

    @property
    def other_operands(self) -> tuple[Operand, ...]:
        """FACTOR, if there is one; it stands still along the batch where it has one for all."""
        index = self.primitive.factor_input
        if index is None:
            return ()
        view = data_view(self.inputs[index])
        stretched = view.broadcast((self.inputs[0].shape[0], *view.sizes[1:]))
        return (Operand("FACTOR", BufferRef("input", index), stretched),)

    # -- pointwise convolutions ---------------------------------------------------------------------

    @cached_property
    def is_pointwise(self) -> bool:
        """Whether every output pixel depends on the one input pixel at the same place, in unpadded memory."""
        primitive = self.primitive
        no_pads = primitive.auto_pad != "explicit" or not any(primitive.pads_begin + primitive.pads_end)
        return (no_pads and set(primitive.strides) == {1} and set(self.filter_sizes) == {1}
                and not self.inputs[0].padding and not self.outputs[0].padding
                and all(_is_flat(x, self.outputs[0]) for x in self.fused_inputs))

    @property
    def flat_rows(self) -> tuple[int, int]:
        """(rows of a picture, pixels of one); all pixels of a pointwise convolution stand in one row."""
        *rows, width = self.output_sizes
        return (1, self.pixels) if self.is_pointwise else (prod(rows), width)

    @property
    def flat_views(self) -> tuple[TensorView, TensorView]:
        """Data and output with all pixels of a pointwise convolution in one row."""
        view = _flat_view if self.is_pointwise else data_view
        return view(self.inputs[0]), view(self.outputs[0])

    def flat_operands(self) -> tuple[Operand, ...]:
        """The operands with all pixels of a pointwise convolution in one row."""
        return self.operands_of(*self.flat_views)

    def flat_epilogue_views(self) -> tuple[TensorView, ...]:
        """What fused operations read beside `flat_operands`."""
        return stretched_epilogue(self, _flat_view if self.is_pointwise else data_view)

    # -- columns ------------------------------------------------------------------------------------

    @cached_property
    def is_column(self) -> bool:
        """Whether data, filter and output are one pixel wide, in unpadded memory, and the data is not padded there."""
        data, weights, output = *self.inputs[:2], self.outputs[0]
        if data.rank != 4 or not weights.is_static or any(
                x.shape[-1] != 1 or x.padding for x in (data, weights, output)):
            return False
        primitive = self.primitive
        kept = primitive.auto_pad != "explicit" or primitive.pads_begin[-1] == primitive.pads_end[-1] == 0
        return kept and not self.is_pointwise

    @cached_property
    def turned(self) -> ConvolutionProblem:
        """The same memory and the same convolution with y and x exchanged: tiles lie along x."""
        given = self.primitive
        primitive = replace(given, strides=given.strides[::-1], dilations=given.dilations[::-1],
                            pads_begin=given.pads_begin[::-1], pads_end=given.pads_end[::-1])
        data, weights, *others = self.inputs
        return replace(self, primitive=primitive, inputs=(_turned(data), _turned(weights), *others),
                       outputs=(_turned(self.outputs[0]),), fused_inputs=tuple(map(_turned, self.fused_inputs)))

    def as_row(self, is_column: bool) -> ConvolutionProblem:
        """`turned` where it is a column of pixels, which tiles take as a row."""
        return self.turned if is_column else self


def _is_flat(fused: Layout, output: Layout) -> bool:
    """Whether a fused input is stretched along all spatial axes or along none."""
    stretched = {size == 1 for size, whole in zip(fused.shape[2:], output.shape[2:], strict=True) if whole != 1}
    return len(stretched) <= 1


def _flat_view(layout: Layout) -> TensorView:
    """Data or output as [B, C, 1, 1, pixels]; the layout must not be padded."""
    name = layout.format.name
    flat = Format.of(_FLAT_FORMATS[name]) if name in _FLAT_FORMATS else layout.format
    return data_view(Layout((*layout.shape[:2], prod(layout.shape[2:])), layout.element_type, flat))


def _turned(layout: Layout) -> Layout:
    *others, y, x = layout.shape
    return layout.with_shape((*others, x, y))


SAMPLE_SIZES = {"batch": 1, "inputs": 64, "outputs": 64, "height": 56, "width": 56, "filter": 3, "stride": 1}


def sample_problem(sizes: Mapping[str, int], kind: ElementType, device: Capabilities) -> ConvolutionProblem:
    """A convolution of pictures of this height and width with a square filter, padded so that a stride of 1 keeps
    them as large."""
    side, stride = sizes["filter"], sizes["stride"]
    pads = (side // 2,) * 2
    primitive = Convolution("sample", (Port("data"), Port("weights")), strides=(stride,) * 2, dilations=(1, 1),
                            pads_begin=pads, pads_end=pads)
    height, width = ((sizes[name] + 2 * (side // 2) - side) // stride + 1 for name in ("height", "width"))
    shapes = ((sizes["batch"], sizes["inputs"], sizes["height"], sizes["width"]),
              (sizes["outputs"], sizes["inputs"], side, side), (sizes["batch"], sizes["outputs"], height, width))
    data, weights, output = (Layout.planar(shape, kind) for shape in shapes)
    return ConvolutionProblem(primitive, (data, weights), (output,), device)
