"""The kernels of AnchorScores, AnchorBoxes and Proposals."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, Operand, Work, input_operand, output_operand
from clinfer.kernels.jitter import literal
from clinfer.ops.proposal.op import AnchorBoxes, AnchorScores, Decoding, Proposals
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.views import static


def decoding_constants(decoding: Decoding | None) -> dict[str, Constant]:
    """What `anchors.h` reads."""
    assert decoding is not None
    anchors = ", ".join("{" + ", ".join(map(literal, anchor)) + "}" for anchor in decoding.anchors or ((0.0,) * 4,))
    return {"ANCHORS": "{" + anchors + "}", "HAS_ANCHORS": bool(decoding.anchors),
            "ANCHOR_COUNT": max(len(decoding.anchors), 1), "EXTENT": decoding.extent,
            "LEAST": decoding.least, "STRIDE": decoding.stride, "TURNED": decoding.turned,
            "POSITION_SCALE": decoding.position_scale, "SIZE_SCALE": decoding.size_scale,
            "LONGEST": decoding.longest, "CLIPS_ANCHORS": decoding.clips_anchors,
            "CLIPS_BOXES": decoding.clips_boxes, "ENDS_EARLY": decoding.ends_early,
            "SCALES_LEAST": decoding.scales_least}


@dataclass(frozen=True)
class AnchorScoresProblem(OnlyKernelProblem):
    """All anchors of a map."""

    primitive: AnchorScores

    @property
    def constants(self) -> dict[str, Constant]:
        return decoding_constants(self.primitive.decoding)


@dataclass(frozen=True)
class AnchorBoxesProblem(OnlyKernelProblem):
    """Some anchors of a map."""

    primitive: AnchorBoxes

    @property
    def constants(self) -> dict[str, Constant]:
        return {**decoding_constants(self.primitive.decoding), "DROPS_SMALL": self.primitive.drops_small,
                "EXTENDED": self.primitive.is_extended}

    @property
    def work(self) -> Work:
        return local_items(self.outputs[1].count)


@dataclass(frozen=True)
class ProposalsProblem(OnlyKernelProblem):
    """Boxes that were selected, in lists."""

    primitive: Proposals

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*(input_operand(self, index) for index in range(5)),
                *(output_operand(self, index) for index in range(len(self.outputs))))

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        return {"OUTPUTS": len(self.outputs), "FIXED": bool(primitive.rows), "NUMBERED": primitive.numbered,
                "EXTENT": primitive.extent, "TURNED": primitive.turned, "CLIPS": primitive.clips,
                "NORMALIZES": primitive.normalizes}

    @property
    def arguments(self) -> dict[str, int]:
        return {"rows": self._rows}

    @property
    def work(self) -> Work:
        return local_items(static(self.inputs[3].shape)[0] * self._rows)

    @property
    def _rows(self) -> int:
        """Of each picture; where they are not fixed one more than there may be, so that one writes their number."""
        return self.primitive.rows or static(self.inputs[1].shape)[1] + 1


SCORE_KERNELS = only_kernel("anchor_scores_ref", AnchorScoresProblem, supports_large=False)
BOX_KERNELS = only_kernel("anchor_boxes_ref", AnchorBoxesProblem, supports_large=False)
PROPOSAL_KERNELS = only_kernel("proposals_ref", ProposalsProblem, supports_large=False)
