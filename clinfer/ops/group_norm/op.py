"""The GroupNormalization primitive (OpenVINO GroupNormalization-12)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.schema import Positive
from clinfer.base.shape import Shape, show
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class GroupNormalization(Primitive):
    """Data [B, C, ...] minus the mean of its group of channels, over the group's deviation.

    Each of `num_groups` groups holds C / num_groups neighbouring channels; mean and variance are taken over
    these and all axes behind them, and `epsilon` is added to the variance. Inputs 1 and 2, [C], are a factor
    and a summand per channel.
    """

    num_groups: Positive = 1
    epsilon: float = 1e-5
    op_type: ClassVar[str] = "GroupNormalization"
    opset: ClassVar[str] = "opset12"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_groups < 1:
            raise ClinferError("the number of groups must be positive", where=self.where,
                               values={"num_groups": self.num_groups})

    @property
    def takes_fused_ops(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data = shapes[0]
        if data is None:
            return (None,)
        if len(data) < 2:
            raise ClinferError("GroupNormalization needs a batch and channels", where=self.where,
                               values={"data": show(data)})
        channels = data[1]
        if isinstance(channels, int) and channels % self.num_groups:
            raise ClinferError("the channels do not fill the groups", where=self.where,
                               values={"data": show(data), "num_groups": self.num_groups})
        for shape in shapes[1:]:
            if shape is not None and (len(shape) != 1 or (
                    isinstance(channels, int) and isinstance(shape[0], int) and shape[0] != channels)):
                raise ClinferError("scale and bias need one value per channel", where=self.where,
                                   values={"data": show(data), "given": show(shape)})
        return (data,)
