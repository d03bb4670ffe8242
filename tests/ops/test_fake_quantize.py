"""FakeQuantize: its bounds, those that do not fit the data among them."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as op

import clinfer
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ops.fake_quantize import convert_fake_quantize
from clinfer.topology import Port, SourceNode


@pytest.mark.parametrize("data, bounds", [((-1, 4), (2, 1, 4)), ((-1, 1), (1, 4))])
def test_bounds_that_do_not_stretch_are_refused(data: tuple[int, ...], bounds: tuple[int, ...]) -> None:
    x = op.parameter(list(data), np.float32)
    model = ov.Model([op.fake_quantize(x, *[np.full(bounds, bound, np.float32) for bound in (-1, 1, -1, 1)], 5)], [x],
                     "misfit")
    given = np.ones([3 if size < 0 else size for size in data], np.float32)
    with pytest.raises(ClinferError, match="the bounds do not stretch to the data"):
        clinfer.Core().compile_model(model, "CPU").infer_new_request([given])


@pytest.mark.parametrize("bounds, places", [((-1, 1, -1, 1), (1, 2, 1, 2)), ((-1, 1, 0, 2), (1, 2, 3, 4)),
                                            ((0, 1, 0, 2), (1, 2, 1, 4)), ((-1, 1, [-1], 1), (1, 2, 3, 2))])
def test_bounds_that_are_alike_are_one(bounds: tuple[object, ...], places: tuple[int, ...]) -> None:
    constants = {index: np.array(bound, np.float32) for index, bound in enumerate(bounds, 1)}
    f32 = ElementType.of("f32")
    node = SourceNode("levels", "levels", "FakeQuantize", "opset1", {"levels": 256}, tuple(map(Port, "abcde")),
                      ((), *(bound.shape for bound in constants.values())), (f32,) * 5, ((),), (f32,), constants)
    assert convert_fake_quantize(node).inputs == (Port("a"), *(node.inputs[place] for place in places))
