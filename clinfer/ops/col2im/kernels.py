"""The kernel of Col2Im."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, Kernel, KernelTable, Lowered, Problem, Stage, all_operands
from clinfer.ops.col2im.op import Col2Im
from clinfer.ops.shared.copying import local_items


@dataclass(frozen=True)
class Col2ImProblem(Problem):
    """Blocks that are summed up to images."""

    primitive: Col2Im

    @property
    def constants(self) -> dict[str, Constant]:
        """Strides, dilations and pads along both sides."""
        primitive = self.primitive
        return {f"{name}_{side}": value for name, pair in (
            ("STRIDE", primitive.strides), ("DILATION", primitive.dilations), ("PAD", primitive.pads_begin))
            for side, value in zip("HW", pair, strict=True)}

    @property
    def arguments(self) -> dict[str, int]:
        """The size of a block and how many blocks there are along each side."""
        primitive, values = self.primitive, self.values
        arguments: dict[str, int] = {}
        for axis, side in enumerate("hw"):
            size, kernel = (int(values[i].reshape(-1)[axis]) if i in values else 1 for i in (1, 2))
            reach = primitive.dilations[axis] * (kernel - 1) + 1
            space = size + primitive.pads_begin[axis] + primitive.pads_end[axis] - reach
            arguments |= {f"kernel_{side}": kernel, f"blocks_{side}": space // primitive.strides[axis] + 1}
        return arguments


class Reference(Kernel[Col2ImProblem, None]):
    """One pixel per work-item."""

    name = "col2im_ref"
    supports_large = True

    def lower(self, problem: Col2ImProblem, config: None) -> Lowered:
        return Lowered((Stage("col2im_ref.cl", all_operands(problem), local_items(problem.outputs[0].count),
                              problem.constants, problem.arguments),))


KERNELS = KernelTable((Reference(),), Col2ImProblem)
