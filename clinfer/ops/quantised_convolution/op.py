"""The primitive that passes put in the place of convolutions of rounded data (`note_data_grids`)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.ops.convolution import Convolution
from clinfer.topology import Port


@dataclass(frozen=True)
class QuantisedConvolution(Convolution):
    """Data [B, C, spatial...] with weights [O, C, filter...] stored as i8.

    All elements of the data are (whole number of 0 to 255 - zero point) * step. Inputs 2 to 4: scales [O] of the
    weights; i32 [O], -zero point times the sum of each channel's stored weights; and [1, 3], 1 / step, zero point and
    step. Input 5, where present, is the bias [O].
    """

    op_type: ClassVar[str] = "QuantisedConvolution"

    @property
    def bias_input(self) -> int | None:
        return 5 if self.own_input_count > 5 else None

    @property
    def factor_input(self) -> int | None:
        return None

    def with_factor(self, data: Port, factor: Port) -> Convolution | None:
        return None
