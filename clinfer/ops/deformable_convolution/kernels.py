"""The kernel of SampleTaps."""
from __future__ import annotations

from dataclasses import dataclass
from math import prod

from clinfer.kernels.contract import Constant, Work, present_formats
from clinfer.ops.deformable_convolution.op import SampleTaps
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.spatial import pad_arguments, side_constants
from clinfer.ops.shared.views import static


@dataclass(frozen=True)
class TapsProblem(OnlyKernelProblem):
    """Pictures, and the places at which the taps of filters see them."""

    primitive: SampleTaps

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        return {"GROUPS": primitive.deformable_group, "FADES": primitive.bilinear_interpolation_pad,
                "HAS_FACTORS": len(self.inputs) > 2,
                **side_constants(WINDOW=primitive.window, STRIDE=primitive.strides, DILATION=primitive.dilations)}

    @property
    def arguments(self) -> dict[str, int]:
        return pad_arguments(self, self.primitive.pad)

    @property
    def work(self) -> Work:
        batch, _, rows, columns = static(self.outputs[0].shape)
        return local_items(batch * self.primitive.deformable_group * prod(self.primitive.window) * rows * columns)


KERNELS = only_kernel("sample_taps_ref", TapsProblem, present_formats, supports_large=False)
