"""What bf16 is for: products, and what leads to them."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as op

from clinfer.frontend.conversions import all_nodes
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.transformations import prepare
from tests.frontend.models import Rng, normal, parameter, result


def types_in(model: ov.Model) -> dict[str, str]:
    """The type of what each operation makes, by its kind; for models that hold one of each."""
    return {node.get_type_name(): node.get_output_element_type(0).get_type_name()
            for node in all_nodes(prepare(model, "bf16")) if node.get_type_name() != "Convert"}


def test_what_follows_the_last_product_stays_f32(rng: Rng) -> None:
    x = parameter("x", [-1, 8])
    scores = op.softmax(op.matmul(op.tanh(x), op.constant(normal(rng, 8, 8)), False, False), 1)
    found = types_in(ov.Model([result(scores, "scores"), result(op.sigmoid(x), "other")], [x], "m"))
    assert [found[kind] for kind in ("Tanh", "MatMul", "Softmax", "Sigmoid")] == ["bf16", "bf16", "f32", "f32"]


@pytest.mark.parametrize("whole", ["levels", "integers"])
def test_quantised_models_stay_f32(whole: str, rng: Rng) -> None:
    x, weights = parameter("x", [-1, 8]), normal(rng, 8, 8)
    if whole == "levels":
        low, high = (np.float32(each) for each in (-1, 1))
        product = op.matmul(op.fake_quantize(x, low, high, low, high, 256), op.constant(weights), False, False)
    else:
        numbers = op.convert(op.round(x), "i32")
        product = op.convert(op.matmul(numbers, op.constant(weights.astype(np.int32)), False, False), "f32")
    y = op.matmul(op.relu(product), op.constant(weights), False, False)
    assert types_in(ov.Model([result(y, "y")], [x], "m"))["Relu"] == "f32"


@pytest.mark.parametrize(("constant", "inside"), [(True, "bf16"), (False, "f32")])
def test_a_loop_converts_what_it_carries_for_products_with_weights(constant: bool, inside: str, rng: Rng) -> None:
    part, state = op.parameter([1, 1, 8], np.float32), op.parameter([1, 8, 8], np.float32)
    other = op.constant(normal(rng, 1, 8, 8)) if constant else state
    after = op.add(op.matmul(op.exp(part), other, False, False), state)
    iterator = op.tensor_iterator()
    iterator.set_function(ov.Model([after], [part, state]))
    x = parameter("x", [1, -1, 8])
    iterator.set_sliced_input(part, op.relu(x).output(0), 0, 1, 1, -1, 1)
    iterator.set_merged_input(state, op.constant(np.zeros((1, 8, 8), np.float32)).output(0), after.output(0))
    y = op.matmul(op.tanh(iterator.get_iter_value(after.output(0), -1)), op.constant(normal(rng, 8, 8)), False, False)
    found = types_in(ov.Model([result(y, "y")], [x], "m"))
    assert [found[kind] for kind in ("Exp", "Add", "Relu", "Tanh")] == [inside, "f32", "f32", "bf16"]
