"""The kernel of SampleTaps."""
from __future__ import annotations

from dataclasses import dataclass
from math import prod

from clinfer.kernels.contract import Constant, Formats, Work, present_formats
from clinfer.ops.deformable_convolution.op import SampleTaps
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.views import static


@dataclass(frozen=True)
class TapsProblem(OnlyKernelProblem):
    """Pictures, and the places at which the taps of filters see them."""

    primitive: SampleTaps

    @property
    def formats(self) -> Formats:
        return present_formats(self)

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        pairs = (("WINDOW", primitive.window), ("STRIDE", primitive.strides), ("DILATION", primitive.dilations))
        return {"GROUPS": primitive.deformable_group, "FADES": primitive.bilinear_interpolation_pad,
                "HAS_FACTORS": len(self.inputs) > 2,
                **{f"{name}_{side}": value for name, pair in pairs for side, value in zip("YX", pair, strict=True)}}

    @property
    def arguments(self) -> dict[str, int]:
        sizes = static(self.inputs[0].shape)[2:]
        return {f"pad_{side}": self.primitive.pad(axis, sizes[axis]) if self.is_static else 0
                for axis, side in enumerate("yx")}

    @property
    def work(self) -> Work:
        batch, _, rows, columns = static(self.outputs[0].shape)
        return local_items(batch * self.primitive.deformable_group * prod(self.primitive.window) * rows * columns)


KERNELS = only_kernel("sample_taps_ref", TapsProblem, supports_large=False)
