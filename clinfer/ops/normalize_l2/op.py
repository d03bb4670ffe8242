"""The NormalizeL2 primitive (OpenVINO NormalizeL2-1, GRN-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape
from clinfer.ops.shared.reduction import check_given_axes
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Constant, Port, Primitive, SourceNode


@dataclass(frozen=True)
class NormalizeL2(Primitive):
    """Input 0 over the root of its sum of squares along the axes in input 1 (none: of each element alone).

    `eps` is added to the sum ("add"), or the sum is at least `eps` ("max").
    """

    eps: float = 1e-9
    eps_mode: str = "add"
    op_type: ClassVar[str] = "NormalizeL2"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eps_mode.lower() not in ("add", "max"):
            raise ClinferError("eps_mode must be add or max", where=self.where, values={"eps_mode": self.eps_mode})

    @property
    def takes_fused_ops(self) -> bool:
        return True

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        check_given_axes(self, shapes[0], values)
        return (shapes[0],)


def convert_grn(node: SourceNode) -> tuple[Primitive, ...]:
    """Vectors along the channels, axis 1; the bias is what is added to the sum of squares."""
    axes = Constant(f"{node.id}/axes", value=np.array([1], np.int64), element_type=ElementType.of("i64"))
    return axes, NormalizeL2(node.id, (node.inputs[0], Port(axes.id)), origin=node.name, eps=node.attributes["bias"])
