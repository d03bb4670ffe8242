"""Older versions of NonMaxSuppression, which declare another shape than they give, and of Gather in shapes."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as op
from openvino.utils.node_factory import NodeFactory

from clinfer.api.core import Core
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32
from tests.oracle import CpuPlugin


def _model(opset: str, inputs: int, **attributes: object) -> ov.Model:
    """The boxes that are found, how many, and their scores as rows picked by them."""
    boxes, scores = op.parameter([-1, -1, 4], np.float32), op.parameter([-1, 3, -1], np.float32)
    numbers = [op.constant(np.array(6)), *(op.constant(np.array(x, np.float32)) for x in (0.3, 0.2))][:inputs - 2]
    found = NodeFactory(opset).create(
        "NonMaxSuppression", [node.output(0) for node in (boxes, scores, *numbers)], attributes)
    found.set_friendly_name("found")
    found.output(0).set_names({"chosen"})
    picked = op.add(op.gather_nd(scores, found), op.constant(np.float32(1)))
    return ov.Model([op.result(node) for node in (found, op.shape_of(found), picked)], [boxes, scores], "selecting")


def _inputs(rng: np.random.Generator, batch: int, boxes: int, best: float = 1.0) -> list[np.ndarray]:
    corners = np.sort(rng.random((batch, boxes, 2, 2), np.float32), axis=2).reshape(batch, boxes, 4)
    return [corners, rng.random((batch, 3, boxes), np.float32) * np.float32(best)]


@pytest.mark.parametrize("opset, inputs", [("opset1", 5), ("opset3", 5), ("opset4", 5), ("opset4", 4), ("opset3", 2)])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_selections(core: Core, device: DeviceInfo, rng: np.random.Generator, opset: str, inputs: int,
                    is_sorted: bool) -> None:
    kind = {} if opset == "opset1" else {"output_type": "i32"}
    model = _model(opset, inputs, box_encoding="corner", sort_result_descending=is_sorted, **kind)
    compiled, oracle = core.compile_model(model, device.name, F32), CpuPlugin(model)
    for batch, boxes, best in ((1, 20, 1), (2, 33, 1), (1, 20, 0.1), (1, 1, 1), (2, 33, 1)):
        given = _inputs(rng, batch, boxes, best)
        found = compiled(given)
        for number, expected in enumerate(oracle(given)):
            assert found[number].shape == expected.shape
            assert np.array_equal(found[number], expected), f"output {number}"
        assert found["chosen"] is found[0]
    assert compiled([np.empty((1, 0, 4), np.float32), np.empty((1, 3, 0), np.float32)])[0].shape == (0, 3)


@pytest.mark.parametrize("opset", ["opset1", "opset7"])
@pytest.mark.parametrize("index", [-1, -2, 1])
def test_sizes_are_counted_from_the_end(core: Core, device: DeviceInfo, rng: np.random.Generator, opset: str,
                                        index: int) -> None:
    """The index is a negative number, of shapes that are known and of open ones."""
    for declared in ([-1, -1], [3, 5]):
        data = op.parameter(declared, np.float32)
        read = [op.shape_of(data).output(0), op.constant(np.array(index)).output(0), op.constant(np.array(0)).output(0)]
        size = NodeFactory(opset).create("Gather", read, {} if opset == "opset1" else {"batch_dims": 0})
        model = ov.Model([op.multiply(data, op.convert(size, "f32"))], [data], "sizes")
        compiled, oracle = core.compile_model(model, device.name, F32), CpuPlugin(model)
        for shape in ((3, 5),) if declared[0] == 3 else ((3, 5), (7, 2)):
            given = rng.random(shape, np.float32)
            found = compiled([given])[0]
            assert np.allclose(found, given * shape[index]) and np.allclose(found, oracle([given])[0])
