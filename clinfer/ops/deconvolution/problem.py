"""Transposed convolution as its kernels see it."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from clinfer.base.tensor_view import TensorView
from clinfer.ops.deconvolution.op import ConvolutionBackpropData
from clinfer.ops.shared.convolving import AnyConvolutionProblem, Groups


@dataclass(frozen=True)
class DeconvolutionProblem(AnyConvolutionProblem):
    """Data [B, G * inputs, Z, Y, X] with weights [G, inputs, outputs, Z, Y, X]."""

    primitive: ConvolutionBackpropData

    @cached_property
    def groups(self) -> Groups:
        count, inputs, outputs, *_ = self.inputs[1].static_shape if self.primitive.is_grouped else (
            1, *self.inputs[1].static_shape)
        return Groups(count, outputs, inputs)

    @property
    def flops(self) -> float:
        return 2.0 * self.batch * self.groups.number * self.groups.outputs * self.pixels * self.products

    @cached_property
    def pads(self) -> tuple[int, ...]:
        rank = self.inputs[0].rank - 2
        sizes = (layout.static_shape[-rank:] for layout in (*self.inputs[:2], self.outputs[0]))
        return tuple(self.primitive.pad(axis, *of_axis) for axis, of_axis in enumerate(zip(*sizes, strict=True)))

    @cached_property
    def phases(self) -> int:
        """How many pixels of the output lie between two steps of the stride: each reads other filter elements."""
        return prod(self.strides)

    @cached_property
    def products(self) -> float:
        """What is added up for a pixel and channel of the output, on average."""
        return self.depth / self.phases

    @property
    def weights_view(self) -> TensorView:
        """The weights as [G, outputs, inputs, Z, Y, X]."""
        return super().weights_view.permute((0, 2, 1, 3, 4, 5))
