"""Where tensors go from one type to the other in models that compute in f16."""
from __future__ import annotations

import numpy as np
from openvino import opset13 as op

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.transformations import prepare
from tests.frontend.models import parameter, result


def test_nothing_is_converted_for_its_shape() -> None:
    """What a model computes in f16 does not become f32 again for who reads its shape alone."""
    x = parameter("x", [-1, 4])
    y = op.matmul(x, op.constant(np.eye(4, dtype=np.float32)), False, False)
    rows = op.gather(op.shape_of(op.exp(y)), op.constant(0), op.constant(0))
    prepared = prepare(ov.Model([result(op.relu(op.exp(y)), "y"), result(op.add(rows, op.constant(1)), "rows")], [x]),
                       "f16")
    shape, = (n for n in prepared.get_ordered_ops() if n.get_type_name() == "ShapeOf")
    assert shape.get_input_element_type(0) == ov.Type.f16
