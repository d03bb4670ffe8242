"""Kernels of ShuffleChannels: a copy in which the axis is two, of groups and of places in them, that change places."""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Formats, KernelTable, Stage, input_operand, output_operand
from clinfer.ops.shared.copying import CopyReference, CopyRows, CopyTiles, local_items
from clinfer.ops.shared.data_formats import unblocked_data_formats
from clinfer.ops.shared.view_copy import CopyProblem, ViewCopy, raw_view
from clinfer.ops.shared.views import open_view, static
from clinfer.ops.shuffle_channels.op import ShuffleChannels


@dataclass(frozen=True)
class ShuffleProblem(CopyProblem):
    """Slices along an axis in another order."""

    primitive: ShuffleChannels

    @property
    def axis(self) -> int:
        """The axis, counted from the front."""
        return self.primitive.axis % self.inputs[0].rank

    @property
    def formats(self) -> Formats:
        return unblocked_data_formats(self)

    @cached_property
    def copies(self) -> tuple[ViewCopy, ...]:
        data, output = TensorView.of(self.inputs[0]), TensorView.of(self.outputs[0])
        if not self.is_static:
            return (replace(self.copy_to_output(open_view(data.element_type, data.rank + 1)),
                            target=open_view(output.element_type, output.rank + 1)),)
        axis, group = self.axis, self.primitive.group
        channels = static(data.sizes)[axis] // group
        order = (*range(axis), axis + 1, axis, *range(axis + 2, data.rank + 1))
        return (replace(self.copy_to_output(_split(data, axis, group, channels).permute(order)),
                        target=_split(output, axis, channels, group)),)


def _split(view: TensorView, axis: int, outer: int, inner: int) -> TensorView:
    """The view of an unblocked tensor in which an axis is two."""
    pitch = view.pitches[axis]
    assert pitch is not None
    return replace(view, sizes=(*view.sizes[:axis], outer, inner, *view.sizes[axis + 1:]),
                   pitches=(*view.pitches[:axis], pitch * inner, pitch, *view.pitches[axis + 1:]),
                   blocks=(None,) * (view.rank + 1))


class Reference(CopyReference):
    """One element per work-item."""

    def stage(self, problem: CopyProblem, copy: ViewCopy) -> Stage:
        assert isinstance(problem, ShuffleProblem)
        operands = (input_operand(problem, 0, raw_view(TensorView.of(problem.inputs[0]))),
                    output_operand(problem, 0, raw_view(TensorView.of(problem.outputs[0]))))
        return Stage("shuffle_channels_ref.cl", operands, local_items(problem.outputs[0].count),
                     {"AXIS": problem.axis, "AXIS_SIZE": f"INPUT0_SIZE_{problem.axis}",
                      "GROUPS": problem.primitive.group}, moves=(copy.move,))


KERNELS = KernelTable((CopyRows("shuffle_channels"), CopyTiles("shuffle_channels"), Reference("shuffle_channels")),
                      ShuffleProblem)
