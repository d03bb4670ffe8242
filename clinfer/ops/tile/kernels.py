"""Kernels of Tile."""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from clinfer.base.tensor_view import Pitch, TensorView
from clinfer.kernels.contract import Formats, KernelTable, Stage, input_operand, output_operand
from clinfer.ops.shared.copying import CopyReference, CopyRows, local_items
from clinfer.ops.shared.data_formats import unblocked_data_formats
from clinfer.ops.shared.view_copy import CopyProblem, ViewCopy, raw_view
from clinfer.ops.shared.views import open_view
from clinfer.ops.tile.op import Tile


@dataclass(frozen=True)
class TileProblem(CopyProblem):
    """A copy in which every axis of the output is two: the repetition and the place within the data."""

    primitive: Tile

    @property
    def formats(self) -> Formats:
        return unblocked_data_formats(self)

    @cached_property
    def lifted(self) -> TensorView:
        """The data with as many axes as the output."""
        data = TensorView.of(self.inputs[0])
        return data.insert_axes(tuple(range(self.outputs[0].rank - data.rank)), pitch=1)

    @cached_property
    def copies(self) -> tuple[ViewCopy, ...]:
        data, output = self.lifted, TensorView.of(self.outputs[0])
        if not self.is_static:
            return (replace(self.copy_to_output(None), target=open_view(output.element_type, output.rank)),)
        sizes: list[int] = []
        source: list[Pitch] = []
        target: list[Pitch] = []
        for axis, (length, whole) in enumerate(zip(data.sizes, output.sizes, strict=True)):
            pitch = output.pitches[axis]
            sizes += [whole // length if length else 0, length]  # type: ignore[list-item]
            source += [0, data.pitches[axis]]
            target += [pitch * length, pitch]  # type: ignore[operator]
        paired = replace(output, sizes=tuple(sizes), pitches=tuple(target), blocks=(None,) * len(sizes))
        read = replace(paired, element_type=data.element_type, pitches=tuple(source), offset=data.offset)
        return (replace(self.copy_to_output(read), target=paired),)


class Reference(CopyReference):
    """One element per work-item, the place of which in the data is a remainder."""

    def stage(self, problem: CopyProblem, copy: ViewCopy) -> Stage:
        assert isinstance(problem, TileProblem)
        rank = problem.outputs[0].rank
        wrapped = " ".join(f"(c)[{axis}] %= INPUT0_SIZE_{axis};" for axis in range(rank))
        operands = (input_operand(problem, 0, raw_view(problem.lifted)),
                    output_operand(problem, 0, raw_view(TensorView.of(problem.outputs[0]))))
        return Stage("tile_ref.cl", operands, local_items(problem.outputs[0].count),
                     {"WRAP(c)": f"do {{ {wrapped} }} while (0)"}, moves=(copy.move,))


KERNELS = KernelTable((CopyRows("tile"), Reference("tile")), TileProblem)
