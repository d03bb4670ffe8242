"""Convolutions in either direction: the primitive's common traits, and the problem under three spatial axes z, y, x,
whatever the model's number."""
from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod
from typing import ClassVar, NamedTuple

from clinfer.base.format import Format
from clinfer.base.schema import Positive
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import BufferRef, Operand, Problem, input_operand, output_operand, stretched_epilogue
from clinfer.kernels.cost import time_of
from clinfer.ops.shared.local_tiles import SIDE
from clinfer.ops.shared.spatial import axis_arguments, data_view, per_axis
from clinfer.ops.shared.views import static
from clinfer.topology import Primitive


@dataclass(frozen=True)
class AnyConvolution(Primitive):
    """Data [B, C, spatial...] with weights, one to three spatial axes.

    The attributes have one value per spatial axis; what `auto_pad` other than "explicit" means, and in which order the
    weights have their axes, each direction says.
    """

    strides: tuple[Positive, ...] = ()
    dilations: tuple[Positive, ...] = ()
    pads_begin: tuple[int, ...] = ()
    pads_end: tuple[int, ...] = ()
    auto_pad: str = "explicit"
    is_grouped: ClassVar[bool] = False

    @property
    def weights_input(self) -> int:
        return 1

    @property
    @abstractmethod
    def bias_input(self) -> int | None:
        """The input that holds the bias, if there is one."""

    @property
    @abstractmethod
    def channel_axes(self) -> tuple[int, ...]:
        """The axes of the weights that make the output's channels, in their order."""

    @property
    def bias_axis(self) -> int | None:
        return 1 if self.bias_input is None else None

    @property
    def is_heavy(self) -> bool:
        return True

    @property
    def takes_fused_ops(self) -> bool:
        return True


class Groups(NamedTuple):
    """The groups of the channels, and the channels of one."""

    number: int
    outputs: int
    inputs: int


@dataclass(frozen=True)
class AnyConvolutionProblem(Problem):
    """What kernels of either direction ask. Weights must be static where their sizes are asked for."""

    primitive: AnyConvolution

    @cached_property
    def strides(self) -> tuple[int, int, int]:
        """The steps along z, y, x."""
        return per_axis(self.primitive.strides, 1)

    @cached_property
    def dilations(self) -> tuple[int, int, int]:
        """The distance of filter elements along z, y, x."""
        return per_axis(self.primitive.dilations, 1)

    @cached_property
    def filter_sizes(self) -> tuple[int, int, int]:
        """The filter along z, y, x (1 where the operation has no such axis)."""
        return per_axis(self.inputs[1].static_shape[2 + self.primitive.is_grouped:], 1)

    @property
    @abstractmethod
    def groups(self) -> Groups:
        """How the weights share out the channels."""

    @property
    @abstractmethod
    def pads(self) -> tuple[int, ...]:
        """Per axis of the model: elements before the data, or cut off the full output; layouts must be static."""

    @property
    def batch(self) -> int:
        return static(self.outputs[0].shape)[0]

    @cached_property
    def output_sizes(self) -> tuple[int, int, int]:
        """The output along z, y, x."""
        return per_axis(static(self.outputs[0].shape[2:]), 1)

    @cached_property
    def pixels(self) -> int:
        """Of one channel of the output."""
        return prod(self.output_sizes)

    @cached_property
    def depth(self) -> int:
        """The products of a pixel and channel of a convolution's output."""
        return self.groups.inputs * prod(self.filter_sizes)

    @property
    def sizes(self) -> dict[str, int]:
        groups, outputs, inputs = self.groups
        return {"batch": self.batch, "groups": groups, "outputs": outputs, "inputs": inputs,
                "filter": prod(self.filter_sizes), "pixels": self.pixels, "width": self.output_sizes[2]}

    @property
    def steps(self) -> dict[str, int]:
        """Strides, dilations and pads as kernel arguments (pads are 0 while layouts are open)."""
        return axis_arguments(stride=self.strides, dilation=self.dilations,
                              pad=per_axis(self.pads, 0) if self.is_static else (0, 0, 0))

    @property
    def has_bias(self) -> dict[str, int]:
        """Whether there is a bias, as the kernels' constant."""
        return {"HAS_BIAS": int(self.primitive.bias_input is not None)}

    @property
    def weights_view(self) -> TensorView:
        """The weights as [G, first, second, Z, Y, X], in the order that they have."""
        view = TensorView.of(self.inputs[1])
        if not self.primitive.is_grouped:
            view = view.insert_axes((0,), pitch=1)
        return view.insert_axes(tuple(range(3, 9 - view.rank)), pitch=1)

    def operands(self) -> tuple[Operand, ...]:
        """Data, weights, BIAS and what the direction has besides, output, with all spatial axes."""
        return self.operands_of(data_view(self.inputs[0]), data_view(self.outputs[0]))

    def operands_of(self, data: TensorView, output: TensorView) -> tuple[Operand, ...]:
        """The operands with data and output under these views."""
        index = self.primitive.bias_input
        bias = () if index is None else (Operand("BIAS", BufferRef("input", index), TensorView.of(self.inputs[index])),)
        return (input_operand(self, 0, data), input_operand(self, 1, self.weights_view), *bias, *self.other_operands,
                output_operand(self, 0, output))

    @property
    def other_operands(self) -> tuple[Operand, ...]:
        """What stands between bias and output."""
        return ()

    def epilogue_views(self) -> tuple[TensorView, ...]:
        """What fused operations read beside `operands`."""
        return stretched_epilogue(self, data_view)


# -- what kernels of either direction take ----------------------------------------------------------

FEW_OUTPUTS = 8
_WASTED_TILES = 4.0
_GROUPS_PER_UNIT = 3
"""Groups at once that keep a compute unit busy."""
_REFERENCE_ON_GPU, _SCATTERED_ON_GPU, _REFERENCE_ON_CPU = 0.02, 0.01, 0.01
"""The share of the peak of f32 that reference kernels reach; on GPUs (measured on an H200) also where neighbours along
the last axis, as work-items are, do not lie side by side."""


def few_outputs(groups: Groups) -> float:
    """How many times longer tiles of local memory take (`tile_time`) where groups have so few outputs that most of one
    is wasted."""
    return _WASTED_TILES if groups.outputs < FEW_OUTPUTS else 1.0


def reference_time(problem: Problem, depth: float) -> float:
    """Nanoseconds of a kernel that adds up so many products for each element of the output, in a work-item of its own;
    GPUs take no less time for fewer work-items than keep all their units busy."""
    items, device = problem.outputs[0].count, problem.capabilities
    if problem.runs_on_cpu:
        return time_of(device.ceilings, flops=2 * items * depth, efficiency=_REFERENCE_ON_CPU,
                       nbytes=problem.moved_bytes)
    at_once, output = SIDE * SIDE * _GROUPS_PER_UNIT * device.compute_units, problem.outputs[0]
    share = _REFERENCE_ON_GPU if output.format == Format.planar(output.rank) else _SCATTERED_ON_GPU
    return time_of(device.ceilings, flops=2 * ceil(items / at_once) * at_once * depth, efficiency=share,
                   nbytes=problem.moved_bytes)
