"""The ReverseSequence primitive (OpenVINO ReverseSequence-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.topology import Primitive


@dataclass(frozen=True)
class ReverseSequence(Primitive):
    """Input 0 with the first n elements along `seq_axis` backwards; input 1 has an n for each place of `batch_axis`."""

    batch_axis: int = 0
    seq_axis: int = 1
    op_type: ClassVar[str] = "ReverseSequence"
