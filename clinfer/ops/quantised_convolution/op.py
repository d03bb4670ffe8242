"""The primitive that passes put in the place of convolutions of rounded data (`note_data_grids`)."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.grid import TRIAL_GRID
from clinfer.base.layout import Layout
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

    def trial_inputs(self, inputs: Sequence[Layout], any_numbers: Callable[[int], np.ndarray],
                     ) -> Mapping[int, np.ndarray]:
        weights = any_numbers(1)
        sums = weights.sum(tuple(range(1, weights.ndim)), dtype=np.int64)
        grid = inputs[0].element_type.grid or TRIAL_GRID
        return {0: grid.nearest(any_numbers(0)), 3: grid.start(sums), 4: grid.numbers()}

    def with_factor(self, data: Port, factor: Port) -> Convolution | None:
        return None
