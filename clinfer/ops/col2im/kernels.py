"""The kernel of Col2Im: one pixel per work-item."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant
from clinfer.ops.col2im.op import Col2Im
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel


@dataclass(frozen=True)
class Col2ImProblem(OnlyKernelProblem):
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


KERNELS = only_kernel("col2im_ref", Col2ImProblem)
