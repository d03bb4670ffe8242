"""The kernels of TakeFrames and OverlapFrames."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Operand, input_operand, output_operand
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, SpanProblem, only_kernel
from clinfer.ops.shared.views import static
from clinfer.ops.stft.op import OverlapFrames, TakeFrames


@dataclass(frozen=True)
class FramesProblem(OnlyKernelProblem):
    """Signals, frames and their window."""

    primitive: TakeFrames | OverlapFrames

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Signals and frames with an axis for the signal's number."""
        data, result = (TensorView.of(layout) for layout in (self.inputs[0], self.outputs[0]))
        if min(data.rank, result.rank) == 1:
            data, result = data.insert_axes((0,)), result.insert_axes((0,))
        return input_operand(self, 0, data), input_operand(self, 1), output_operand(self, 0, result)

    @property
    def arguments(self) -> dict[str, int]:
        """The elements of a frame before its window, and how far frames are apart."""
        window = static(self.inputs[1].shape)[0]
        size, step = (self.values[i].reshape(-1).tolist()[0] if i in self.values else window for i in (2, 3))
        return {"before": (size - window) // 2, "step": step}


@dataclass(frozen=True)
class TakeProblem(FramesProblem, SpanProblem):
    """Frames that are taken."""

    primitive: TakeFrames


@dataclass(frozen=True)
class OverlapProblem(FramesProblem):
    """Frames that overlap."""

    primitive: OverlapFrames

    @property
    def constants(self) -> dict[str, Constant]:
        return {"CENTER": self.primitive.center, "NORMALIZED": self.primitive.normalized}


FRAME_KERNELS = only_kernel("take_frames_ref", TakeProblem)
OVERLAP_KERNELS = only_kernel("overlap_frames_ref", OverlapProblem)
