"""The kernel of ExtractImagePatches."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, Formats, Work, present_formats
from clinfer.ops.extract_image_patches.op import ExtractImagePatches
from clinfer.ops.shared.copying import span_constants, span_dispatch
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.views import static


@dataclass(frozen=True)
class PatchesProblem(OnlyKernelProblem):
    """Pictures, and the windows in them."""

    primitive: ExtractImagePatches

    @property
    def formats(self) -> Formats:
        return present_formats(self)

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        pairs = (("WINDOW", primitive.sizes), ("STRIDE", primitive.strides), ("RATE", primitive.rates))
        return {"PADS": primitive.auto_pad.startswith("same"), **span_constants(self),
                **{f"{name}_{side}": value for name, pair in pairs for side, value in zip("YX", pair, strict=True)}}

    @property
    def arguments(self) -> dict[str, int]:
        sizes = static(self.inputs[0].shape)[2:]
        return {f"pad_{side}": self.primitive.pad(axis, sizes[axis]) if self.is_static else 0
                for axis, side in enumerate("yx")}

    @property
    def work(self) -> Work:
        return span_dispatch(self, self.outputs[0].shape)


KERNELS = only_kernel("extract_image_patches_ref", PatchesProblem)
