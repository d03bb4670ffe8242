"""The kernel of ExtractImagePatches."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, present_formats
from clinfer.ops.extract_image_patches.op import ExtractImagePatches
from clinfer.ops.shared.only_kernel import SpanProblem, only_kernel
from clinfer.ops.shared.spatial import pad_arguments, side_constants


@dataclass(frozen=True)
class PatchesProblem(SpanProblem):
    """Pictures, and the windows in them."""

    primitive: ExtractImagePatches

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        return {"PADS": primitive.auto_pad.startswith("same"), **super().constants,
                **side_constants(WINDOW=primitive.sizes, STRIDE=primitive.strides, RATE=primitive.rates)}

    @property
    def arguments(self) -> dict[str, int]:
        return pad_arguments(self, self.primitive.pad)


KERNELS = only_kernel("extract_image_patches_ref", PatchesProblem, present_formats)
