"""The MVN primitive (OpenVINO MVN-6; MVN-2 becomes one)."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, OpenRankError
from clinfer.base.schema import Natural
from clinfer.base.shape import Shape
from clinfer.ops.shared.reduction import check_given_axes
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Constant, Port, Primitive, SourceNode


@dataclass(frozen=True)
class MVN(Primitive):
    """Input 0 minus its mean along the axes in input 1 and, with `normalize_variance`, over its deviation.

    Without `centre` the mean is taken to be 0, so that the deviation is the root of the mean square. `eps` is
    added to the variance ("inside_sqrt") or to its root ("outside_sqrt"); any case of letters. Of at most
    `left_to_readers` rows nothing is computed here: all that read the result do so themselves (base/row_norm.py).
    """

    normalize_variance: bool = True
    eps: float = 1e-9
    eps_mode: str = "inside_sqrt"
    centre: bool = True
    left_to_readers: Natural = 0
    op_type: ClassVar[str] = "MVN"
    opset: ClassVar[str] = "opset6"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eps_mode.lower() not in ("inside_sqrt", "outside_sqrt"):
            raise ClinferError("eps_mode must be inside_sqrt or outside_sqrt", where=self.where,
                               values={"eps_mode": self.eps_mode})

    @property
    def takes_fused_ops(self) -> bool:
        return True

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    @property
    def eps_inside_sqrt(self) -> bool:
        """Whether `eps` is added before the root is taken."""
        return self.eps_mode.lower() == "inside_sqrt"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        check_given_axes(self, shapes[0], values)
        return (shapes[0],)


def convert_mvn(node: SourceNode) -> MVN | Sequence[Primitive]:
    """MVN-6 as it is; MVN-2 with its axes as a constant of their own."""
    attributes = node.attributes
    variance, eps = bool(attributes["normalize_variance"]), float(attributes["eps"])
    if len(node.inputs) == 2:
        return MVN(node.id, node.inputs, origin=node.name, normalize_variance=variance, eps=eps,
                   eps_mode=attributes["eps_mode"])
    shape = node.input_shapes[0]
    if shape is None:
        raise OpenRankError("MVN needs data of a known rank", where=f"layer {node.name!r}",
                            hint="give the model's inputs a static rank, for instance with model.reshape")
    first = 1 if attributes["across_channels"] else 2
    axes = Constant(f"{node.id}/axes", origin=node.name, value=np.arange(first, len(shape), dtype=np.int64),
                    element_type=ElementType.of("i64"))
    return axes, MVN(node.id, (node.inputs[0], Port(axes.id)), origin=node.name, normalize_variance=variance, eps=eps)
