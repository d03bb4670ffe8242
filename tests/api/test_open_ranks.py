"""Models whose ranks are known only when inputs are given."""
from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from openvino import opset13 as op
from openvino import opset16
from openvino.utils.node_factory import NodeFactory

from clinfer.api import open_ranks
from clinfer.api.async_infer_queue import AsyncInferQueue
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32

OPEN = ov.PartialShape.dynamic()
PAIRS = (((2, 3), (3,)), ((4, 1, 2), (5, 2)), ((), ()), ((5, 3), (1,)), ((0, 3), (1,)), ((2, 3), (3,)))


def _adding() -> ov.Model:
    """relu(x + y), and the shape of x."""
    x, y = (op.parameter(OPEN, np.float32, name=name) for name in "xy")
    for node in (x, y):
        node.output(0).set_names({node.friendly_name})
    return ov.Model([op.result(op.relu(op.add(x, y))), op.result(op.shape_of(x))], [x, y], "adding")


def _reshaping() -> ov.Model:
    """x in the shape that the values of t are: of as many axes as t is long."""
    x, t = op.parameter([-1, -1], np.float32), op.parameter([-1], np.int64)
    return ov.Model([op.result(op.relu(op.reshape(x, t, False)))], [x, t], "reshaping")


def _squeezing() -> ov.Model:
    x = op.parameter([-1, -1, -1], np.float32)
    return ov.Model([op.result(op.relu(NodeFactory("opset1").create("Squeeze", [x.output(0)], {})))], [x], "squeezing")


def _random(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [np.asarray(rng.standard_normal(shape), np.float32) for shape in shapes]


@pytest.fixture(scope="module")
def adding(core: Core, device: DeviceInfo) -> CompiledModel:
    return core.compile_model(_adding(), device.name, F32)


def _check(found: object, x: np.ndarray, y: np.ndarray) -> None:
    total, shape = found[0], found[1]  # type: ignore[index]
    expected = np.maximum(x + y, 0)
    assert total.shape == expected.shape
    assert np.array_equal(total, expected)
    assert shape.tolist() == list(x.shape)


def test_inputs_of_any_rank(adding: CompiledModel, rng: np.random.Generator) -> None:
    request = adding.create_infer_request()
    for shapes in PAIRS:
        x, y = _random(rng, *shapes)
        _check(request.infer({"x": x, "y": y}), x, y)
        assert tuple(request.get_output_tensor(0).shape) == np.maximum(x + y, 0).shape


def test_ranks_that_were_seen_compile_nothing(adding: CompiledModel, rng: np.random.Generator,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    adding(_random(rng, (2, 3, 4), (4,)))
    monkeypatch.setattr(adding, "_compile_model", lambda model: pytest.fail("compiled again"))
    for shapes in (((5, 1, 2), (1,)), ((0, 2, 2), (2,)), ((1, 1, 1), (9,))):
        x, y = _random(rng, *shapes)
        _check(adding([x, y]), x, y)


def test_a_length_that_is_a_rank(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    compiled = core.compile_model(_reshaping(), device.name, F32)
    for shape, target in (((4, 6), (2, 3, 4)), ((4, 6), (24,)), ((2, 3), (3, -1)), ((0, 2), (3, 0, 5)),
                          ((8, 3), (24,))):
        x, = _random(rng, shape)
        assert np.array_equal(compiled([x, np.array(target)])[0], np.maximum(x.reshape(target), 0))


def test_data_without_elements_has_no_other_shape(core: Core, device: DeviceInfo) -> None:
    x, t = op.parameter([-1, -1], np.float32), op.parameter([3], np.int64)
    model = ov.Model([op.result(op.relu(op.reshape(x, t, True)))], [x, t], "copying sizes")
    compiled = core.compile_model(model, device.name, F32)
    for _ in range(3):
        with pytest.raises(ClinferError, match="as many elements as its new shape"):
            compiled([np.empty((0, 2), np.float32), np.array([3, 0, 5])])
        assert compiled([np.empty((0, 2), np.float32), np.array([-1, 0, 5])])[0].shape == (0, 2, 5)


def test_sizes_that_are_squeezed_out(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    compiled = core.compile_model(_squeezing(), device.name, F32)
    for shape in ((1, 2, 3), (4, 2, 3), (1, 1, 1), (1, 0, 4), (1, 7, 9), (5, 1, 1)):
        x, = _random(rng, shape)
        assert np.array_equal(compiled([x])[0], np.maximum(x.squeeze(), 0))


@pytest.mark.parametrize("rows", [1, 3])
def test_rows_that_a_constant_tells(core: Core, device: DeviceInfo, rows: int) -> None:
    values, matrix = op.parameter([2], np.float32), op.constant(np.array([rows, 4]))
    filled = opset16.sparse_fill_empty_rows(values, matrix, op.constant(np.array([[0, 1], [rows - 1, 3]])),
                                            op.constant(np.array(9, np.float32)))
    model = ov.Model([op.result(opset16.squeeze(filled.output(2)))], [values], "squeezing rows")
    found = core.compile_model(model, device.name, F32)([np.ones(2, np.float32)])[0]
    assert found.tolist() == (False if rows == 1 else [False, True, False])


def test_coordinates_for_as_many_axes_as_are_given(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    x, places = op.parameter([-1, -1, -1], np.float32), op.parameter([-1, -1], np.int64)
    model = ov.Model([op.result(op.relu(op.gather_nd(x, places, 0)))], [x, places], "gathering")
    compiled = core.compile_model(model, device.name, F32)
    for shape, count, width in (((2, 3, 4), 5, 1), ((2, 3, 4), 5, 3), ((7, 2, 2), 1, 2), ((3, 3, 3), 4, 1)):
        data, = _random(rng, shape)
        at = rng.integers(0, shape[:width], (count, width))
        assert np.array_equal(compiled([data, at])[0], np.maximum(data[tuple(at.T)], 0))
    assert len(compiled._forms) == 3


def test_a_rank_that_is_computed_from_sizes(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    """Half as many axes as x is long."""
    x = op.parameter([-1], np.float32)
    half = op.divide(op.gather(op.shape_of(x), np.array(0), np.array(0)), np.int64(2))
    shape = op.concat([np.array([-1]), op.broadcast(np.int64(1), op.unsqueeze(half, np.array(0)))], 0)
    compiled = core.compile_model(ov.Model([op.result(op.relu(op.reshape(x, shape, False)))], [x]), device.name, F32)
    for length in (4, 5, 9, 4):
        data, = _random(rng, (length,))
        assert np.array_equal(compiled([data])[0], np.maximum(data, 0).reshape(-1, *[1] * (length // 2)))


def test_lengths_of_shapes_to_broadcast_to(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    """Also where data has more axes than what is tried when the model is compiled."""
    x, target = op.parameter([-1, -1], np.float32), op.parameter([-1], np.int64)
    model = ov.Model([op.result(op.relu(op.broadcast(x, target)))], [x, target], "broadcasting")
    compiled = core.compile_model(model, device.name, F32)
    data, = _random(rng, (3, 4))
    for shape in ((3, 4), (2, 3, 4), (1, 2, 3, 4), (3, 4)):
        assert np.array_equal(compiled([data, np.array(shape)])[0], np.broadcast_to(np.maximum(data, 0), shape))
    for shape in ((4,), (2, 4)):
        with pytest.raises(ClinferError):
            compiled([data, np.array(shape)])


def test_what_depends_on_data_is_an_error_at_once(core: Core, device: DeviceInfo) -> None:
    x = op.parameter([-1, -1], np.float32)
    places = op.reshape(op.non_zero(x, "i64"), op.constant(np.array([-1])), False)
    model = ov.Model([op.result(op.reshape(x, places, False))], [x], "by data")
    with pytest.raises(ClinferError, match="rank of a tensor depends on data"):
        core.compile_model(model, device.name, F32)


def test_a_rank_depends_on_places_that_sizes_decide(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    x = op.parameter(OPEN, np.float32)
    coordinates = op.transpose(op.non_zero(x, "i64"), op.constant(np.array([1, 0])))
    depth = op.gather(op.shape_of(coordinates), op.constant(np.array([-1])), op.constant(np.array(0)))
    is_any = op.greater(depth, op.constant(np.array([0])))
    places = op.transpose(op.non_zero(is_any, "i64"), op.constant(np.array([1, 0])))
    compiled = core.compile_model(ov.Model([op.result(op.gather_nd(depth, places))], [x], "depths"), device.name, F32)
    for shape in ((2, 3, 4), (5, 3), (2, 3, 4)):
        assert np.array_equal(compiled([*_random(rng, shape)])[0], [len(shape)])


def test_ranks_that_the_model_refuses(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    x = op.parameter(OPEN, np.float32)
    model = ov.Model([op.result(op.transpose(x, op.constant(np.array([1, 0]))))], [x], "turning")
    compiled = core.compile_model(model, device.name, F32)
    wrong, right = _random(rng, (2, 3, 4), (2, 3))
    with pytest.raises(ClinferError, match="does not take inputs of these ranks"):
        compiled([wrong])
    assert np.array_equal(compiled([right])[0], right.T)


def test_the_oldest_forms_are_given_up(core: Core, device: DeviceInfo, rng: np.random.Generator,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_ranks, "MODELS_KEPT", 2)
    compiled = core.compile_model(_adding(), device.name, F32)
    for shapes in (*PAIRS, *PAIRS):
        x, y = _random(rng, *shapes)
        _check(compiled([x, y]), x, y)
    assert len(compiled._forms) == 2


def test_several_threads(adding: CompiledModel, rng: np.random.Generator) -> None:
    inputs = [[_random(rng, *PAIRS[(i + j) % len(PAIRS)]) for j in range(8)] for i in range(4)]
    errors: list[BaseException] = []

    def run(mine: list[list[np.ndarray]]) -> None:
        try:
            request = adding.create_infer_request()
            for x, y in mine:
                _check(request.infer([x, y]), x, y)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(mine,)) for mine in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_in_the_background(adding: CompiledModel, rng: np.random.Generator) -> None:
    queue, found = AsyncInferQueue(adding, 2), {}
    queue.set_callback(lambda request, number: found.update({number: list(request.results.values())}))
    inputs = [_random(rng, *shapes) for shapes in PAIRS]
    for number, pair in enumerate(inputs):
        queue.start_async(pair, number)
    queue.wait_all()
    for number, (x, y) in enumerate(inputs):
        _check(found[number], x, y)


def test_tensors_of_the_request(adding: CompiledModel, rng: np.random.Generator) -> None:
    request = adding.create_infer_request()
    x, y = _random(rng, (2, 3), (3,))
    request.infer([x, y])
    held = request.get_input_tensor(0)
    assert np.array_equal(held.data, x)
    held.data[:] += 1
    _check(request.infer({1: y}), x + 1, y)
    other, = _random(rng, (4, 2, 3))
    request.set_tensor("x", ov.Tensor(other))
    _check(request.infer(), other, y)


def test_what_it_tells(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    compiled = core.compile_model(_adding(), device.name, F32 | {"PERF_COUNT": True})
    assert compiled.input("x").partial_shape.rank.is_dynamic
    assert compiled.get_property("NETWORK_NAME") == "adding"
    with pytest.raises(ClinferError, match="run an inference first"):
        compiled.get_runtime_model()
    with pytest.raises(ClinferError, match="cannot be exported"):
        compiled.export_model()
    request = compiled.create_infer_request()
    with pytest.raises(ClinferError, match=r"'x' was never given(.|\n)*its rank is open"):
        request.infer()
    x, y = _random(rng, (2, 3), (3,))
    request.infer([x, y])
    assert any(row.real_time.total_seconds() > 0 for row in request.get_profiling_info())
    assert len(compiled.get_runtime_model().get_parameters()) == 2
    compiled.release_memory()
    _check(request.infer([x, y]), x, y)


def test_forms_in_the_cache(core: Core, device: DeviceInfo, tmp_path: Path, rng: np.random.Generator) -> None:
    file = tmp_path / "model.xml"
    ov.save_model(_adding(), file, compress_to_fp16=False)
    config = F32 | {"CACHE_DIR": str(tmp_path / "blobs")}
    x, y = _random(rng, (2, 3), (3,))
    for expected in (False, True):
        compiled = core.compile_model(file, device.name, config)
        _check(compiled([x, y]), x, y)
        form, = compiled._forms.values()
        assert form.result().get_property("LOADED_FROM_CACHE") == expected
