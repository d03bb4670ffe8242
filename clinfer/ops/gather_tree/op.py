"""The GatherTree primitive (OpenVINO GatherTree-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.topology import Primitive


@dataclass(frozen=True)
class GatherTree(Primitive):
    """The tokens (input 0 [steps, batch, beams]) of each beam from its last step back to the first.

    Input 1, of the same shape, names the beam that each one continues; input 2 [batch] says how many steps count. What
    stands behind them or behind the end token (input 3) is the end token.
    """

    op_type: ClassVar[str] = "GatherTree"
