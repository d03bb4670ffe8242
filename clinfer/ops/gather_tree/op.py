"""The GatherTree primitive (OpenVINO GatherTree-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.shape import Shape
from clinfer.symbolic.dimensions import same_size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class GatherTree(Primitive):
    """The tokens (input 0 [steps, batch, beams]) of each beam from its last step back to the first.

    Input 1, of the same shape, names the beam that each one continues; input 2 [batch] says how many steps count. What
    stands behind them or behind the end token (input 3) is the end token.
    """

    op_type: ClassVar[str] = "GatherTree"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        tokens, parents, counts, end = shapes
        if tokens is None or parents is None or counts is None or end != ():
            return None
        if (len(tokens), len(parents), len(counts)) != (3, 3, 1):
            return None
        (steps, batch, beams), (others, batches, other_beams) = tokens, parents
        sizes = same_size((steps, others)), same_size((batch, batches, *counts)), same_size((beams, other_beams))
        return None if None in sizes else (sizes,)  # type: ignore[return-value]
