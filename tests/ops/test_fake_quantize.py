"""FakeQuantize of what its bounds do not fit."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as op

import clinfer
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov


@pytest.mark.parametrize("data, bounds", [((-1, 4), (2, 1, 4)), ((-1, 1), (1, 4))])
def test_bounds_that_do_not_stretch_are_refused(data: tuple[int, ...], bounds: tuple[int, ...]) -> None:
    x = op.parameter(list(data), np.float32)
    model = ov.Model([op.fake_quantize(x, *[np.full(bounds, bound, np.float32) for bound in (-1, 1, -1, 1)], 5)], [x],
                     "misfit")
    given = np.ones([3 if size < 0 else size for size in data], np.float32)
    with pytest.raises(ClinferError, match="the bounds do not stretch to the data"):
        clinfer.Core().compile_model(model, "CPU").infer_new_request([given])
