"""Proposal, GenerateProposals and its kin: the regions of a picture that anchors and their scores propose."""
from clinfer.ops.operation import Operation
from clinfer.ops.proposal.converters import (
    convert_generate_proposals,
    convert_generate_proposals_single_image,
    convert_proposal,
)
from clinfer.ops.proposal.kernels import BOX_KERNELS, PROPOSAL_KERNELS, SCORE_KERNELS
from clinfer.ops.proposal.op import AnchorBoxes, AnchorScores, Proposals

OPERATION = Operation("proposal", converters={
    "Proposal": convert_proposal, "GenerateProposals": convert_generate_proposals,
    "ExperimentalDetectronGenerateProposalsSingleImage": convert_generate_proposals_single_image},
    kernels={AnchorScores: SCORE_KERNELS, AnchorBoxes: BOX_KERNELS, Proposals: PROPOSAL_KERNELS})
