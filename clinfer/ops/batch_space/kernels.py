"""The kernel of BatchToSpace and SpaceToBatch."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, present_formats
from clinfer.ops.batch_space.op import BatchToSpace, SpaceToBatch
from clinfer.ops.shared.only_kernel import SpanProblem, only_kernel


@dataclass(frozen=True)
class BatchSpaceProblem(SpanProblem):
    """A batch that becomes places, or places that become a batch."""

    primitive: BatchToSpace | SpaceToBatch

    @property
    def constants(self) -> dict[str, Constant]:
        axes = range(self.inputs[0].rank)
        return {"TO_SPACE": isinstance(self.primitive, BatchToSpace), **super().constants,
                "INPUT_SIZES": "{" + ", ".join(f"INPUT0_SIZE_{a}" for a in axes) + "}",
                "BLOCKS": "{" + ", ".join(f"ARG_BLOCK_{a}" for a in axes) + "}",
                "BEGINS": "{" + ", ".join(f"ARG_BEGIN_{a}" for a in axes) + "}"}

    @property
    def arguments(self) -> dict[str, int]:
        return {f"{name}_{axis}": self.values[index].reshape(-1).tolist()[axis] if index in self.values else 1
                for index, name in ((1, "block"), (2, "begin")) for axis in range(self.inputs[0].rank)}


KERNELS = only_kernel("batch_space_ref", BatchSpaceProblem, present_formats)
