"""Operations that OpenVINO computes on the host in the middle of a compiled model."""
from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as op

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError, UnsupportedError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ops import CONVERTERS
from clinfer.runtime.device import DeviceInfo
from tests.api.blob_models import exported
from tests.api.models import F32
from tests.oracle import CpuPlugin, assert_close


@pytest.fixture(autouse=True)
def few_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations that stand for those without kernels."""
    for name in ("CTCLoss", "ErfInv", "SparseFillEmptyRows"):
        monkeypatch.delitem(CONVERTERS, name)


def hosted(compiled: CompiledModel) -> list[str]:
    """The operations that OpenVINO computes."""
    return [dict(node.attributes)["operation"] for node in compiled.program.explain().nodes
            if node.type == "HostOperation"]


# -- in the middle of models ------------------------------------------------------------------------


def between(middle: Callable[[Any], Any], shape: tuple[int, ...] = (-1, 4, -1)) -> ov.Model:
    """x -> Abs -> middle -> + 1 -> y"""
    x = op.parameter(list(shape), np.float32, name="x")
    node = middle(op.abs(x))
    node.set_friendly_name("middle")
    return ov.Model([op.result(op.add(node, np.float32(1)), name="y")], [x], "between")


def erfinv(node: Any) -> Any:
    return ov.opset17.erfinv(node)


def expected_erfinv(x: np.ndarray) -> np.ndarray:
    """What OpenVINO says, whose approximation is good to some 1e-5."""
    data = op.parameter(list(x.shape), np.float32)
    return CpuPlugin(ov.Model([erfinv(data)], [data]))([np.abs(x)])[0] + 1


def drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(-0.7, 0.7, shape).astype(np.float32)


def shapes() -> Iterator[tuple[int, ...]]:
    yield from ((2, 4, 5), (1, 4, 9), (3, 4, 1), (2, 4, 5))


def check_erfinv(compiled: CompiledModel, rng: np.random.Generator) -> None:
    assert hosted(compiled) == ["ErfInv"]
    for shape in shapes():
        x = drawn(rng, shape)
        assert_close(compiled(x)[0], expected_erfinv(x), 1e-6)


def test_between_kernels_with_shapes_that_change(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    check_erfinv(core.compile_model(between(erfinv), device.name, F32), rng)


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_the_same_shape_with_other_values(core: Core, device: DeviceInfo, rng: np.random.Generator, kind: str) -> None:
    """What is read from the device goes into one array; that of bf16 is decoded each time."""
    x = op.parameter([2, 4, 5], np.float32)
    node = op.convert(erfinv(op.convert(op.abs(x), kind)), "f32")
    compiled = core.compile_model(ov.Model([node], [x]), device.name, F32)
    assert hosted(compiled) == ["ErfInv"]
    for _ in range(3):
        given = drawn(rng, (2, 4, 5))
        rounded = {"f32": np.float32, "f16": np.float16, "bf16": np.float32}[kind]
        assert_close(compiled(given)[0], expected_erfinv(given.astype(rounded).astype(np.float32)) - 1,
                     1e-5 if kind == "f32" else 2e-2)


def test_in_a_model_of_f16_it_computes_in_f32(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    compiled = core.compile_model(between(erfinv), device.name, {"INFERENCE_PRECISION_HINT": "f16"})
    middle = next(n for n in compiled.program.explain().nodes if n.type == "HostOperation")
    assert all(layout.startswith("f32") for layout in middle.outputs)
    x = drawn(rng, (2, 4, 5))
    assert_close(compiled(x)[0], expected_erfinv(x), 2e-3)


def test_ranks_that_are_open(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    x = ov.op.Parameter(ov.Type.f32, ov.PartialShape.dynamic())
    compiled = core.compile_model(ov.Model([op.add(erfinv(op.abs(x)), np.float32(1))], [x]), device.name, F32)
    for shape in ((3,), (2, 5), (2, 3, 4), (7,)):
        given = drawn(rng, shape)
        assert_close(compiled(given)[0], expected_erfinv(given), 1e-6)


def test_a_shape_that_data_decides(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    """SparseFillEmptyRows adds as many rows as are missing; kernels read what it gives."""
    indices, values = op.parameter([-1, 2], np.int64), op.parameter([-1], np.float32)
    filled = ov.opset16.sparse_fill_empty_rows(op.multiply(values, np.float32(2)), np.array([4, 5]), indices,
                                               np.float32(9))
    model = ov.Model([op.add(filled.output(1), np.float32(1)), op.shape_of(filled.output(1))], [indices, values])
    compiled = core.compile_model(model, device.name, F32)
    assert hosted(compiled) == ["SparseFillEmptyRows"]
    for rows in ((0, 2), (0, 1, 2, 3), (3,), (0, 2)):
        given = rng.random(len(rows)).astype(np.float32)
        found = compiled([np.array([(row, 1) for row in rows], np.int64), given])
        own = dict(zip(rows, given * 2, strict=True))
        assert_close(found[0], np.array([own.get(row, 9) + 1 for row in range(4)], np.float32), 1e-6)
        assert found[1].tolist() == [4]


def test_in_the_body_of_a_loop_and_of_a_branch(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    x, taken = op.parameter([-1, 4, -1], np.float32, name="x"), op.parameter([], np.bool_, name="taken")
    inner = op.parameter([-1, 4, -1], np.float32)
    body = ov.Model([op.constant(True), op.abs(erfinv(op.multiply(inner, np.float32(0.5))))], [inner])
    loop = op.loop(op.constant(np.int64(3)), op.constant(True))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 0])
    loop.set_merged_input(inner, x.output(0), body.get_results()[1].output(0))
    last = loop.get_iter_value(body.get_results()[1].output(0), -1)
    one, other = op.parameter([-1, 4, -1], np.float32), op.parameter([-1, 4, -1], np.float32)
    branch = op.if_op(taken)
    branch.set_then_body(ov.Model([erfinv(one)], [one]))
    branch.set_else_body(ov.Model([op.negative(other)], [other]))
    branch.set_input(last, one, other)
    results = branch.set_output(branch.get_function(0).get_results()[0], branch.get_function(1).get_results()[0])
    model = ov.Model([results], [x, taken], "bodies")
    compiled, oracle = core.compile_model(model, device.name, F32), CpuPlugin(model)
    inside = [type.type for node in compiled.program.explain().nodes for body in node.bodies for type in body.nodes]
    assert inside.count("HostOperation") == 2
    for shape, wanted in zip(shapes(), (True, False, True, True), strict=True):
        given = [drawn(rng, shape), np.array(wanted)]
        assert_close(compiled(given)[0], oracle(given)[0], 1e-5)


def _of_u4(make: Callable[..., Any]) -> ov.Model:
    parameters = [ov.op.Parameter(ov.Type.u4, ov.PartialShape([-1, 4])) for _ in range(2)]
    return ov.Model([make(*parameters)], parameters)


UNTAKEN = {
    "types that no kernel takes": lambda: _of_u4(lambda a, b: op.concat([a, b], 0)),
    "a second operation on them": lambda: _of_u4(lambda a, b: op.transpose(op.add(a, b), np.array([1, 0]))),
    "axes that are not constant": lambda: ov.Model(
        [op.roll(x := op.parameter([-1, 4], np.float32), np.array([1]), axes := op.parameter([1], np.int64))],
        [x, axes]),
}


@pytest.mark.parametrize("name", UNTAKEN)
def test_what_kernels_do_not_take(core: Core, device: DeviceInfo, rng: np.random.Generator, name: str) -> None:
    """There are kernels, or a converter, for the operation."""
    model = UNTAKEN[name]()
    with pytest.raises(ClinferError):
        core.compile_model(model, device.name, F32 | {"host_fallback": "NO"})
    assert "HOST" in core.query_model(model, device.name).values()
    ours = core.compile_model(model, device.name, F32).create_infer_request()
    theirs = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    for rows in (2, 5, 2):
        tensors = []
        for port in model.inputs:
            shape = [size.get_length() if size.is_static else rows for size in port.partial_shape]
            tensors.append(ov.Tensor(port.element_type, ov.Shape(shape)))
            tensors[-1].data[:] = rng.integers(0, 2 if len(shape) == 1 else 256, tensors[-1].data.shape)
        for request in (ours, theirs):
            for index, tensor in enumerate(tensors):
                request.set_input_tensor(index, tensor)
            request.infer()
        assert_close(ours.get_output_tensor(0).data, theirs.get_output_tensor(0).data, 1e-5)


def test_what_only_the_host_reads_is_not_on_the_device(core: Core, device: DeviceInfo,
                                                       rng: np.random.Generator) -> None:
    x = op.parameter([-1, 4, -1], np.float32)
    model = ov.Model([op.add(erfinv(erfinv(op.abs(x))), np.float32(1)), erfinv(x)], [x])
    compiled, oracle = core.compile_model(model, device.name, F32), CpuPlugin(model)
    calls = [node for node in compiled.program.nodes if node.kind == "call"]
    stored = [compiled.program.tensors[node.outputs[0]].storage for node in calls]
    assert sorted(stored) == ["body", "body", "host"]
    for shape in shapes():
        given = drawn(rng, shape)
        found = compiled(given)
        for index, expected in enumerate(oracle([given])):
            assert_close(found[index], expected, 1e-5)


def test_random_numbers_are_drawn_anew(core: Core, device: DeviceInfo) -> None:
    numbers = op.random_uniform(op.constant(np.array([100])), np.float32(0), np.float32(1), "f32", 7, 9)
    compiled = core.compile_model(ov.Model([numbers], []), device.name, F32)
    theirs = ov.Core().compile_model(ov.Model([numbers], []), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    first, second = compiled()[0].copy(), compiled()[0].copy()
    assert np.array_equal(first, theirs()[0]) and np.array_equal(second, theirs()[0])
    assert not np.array_equal(first, second)


class Doubled(ov.Op):
    """Twice its input, computed by NumPy."""

    def __init__(self, inputs: list[ov.Output] | None = None) -> None:
        super().__init__(self)
        if inputs is not None:
            self.set_arguments(inputs)
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

    def clone_with_new_inputs(self, new_inputs: list[ov.Output]) -> Doubled:
        return Doubled(new_inputs)

    def visit_attributes(self, visitor: Any) -> bool:
        return True

    def has_evaluate(self) -> bool:
        return True

    def evaluate(self, outputs: list[ov.Tensor], inputs: list[ov.Tensor]) -> bool:
        outputs[0].shape = inputs[0].shape
        if inputs[0].data.size == 7:
            raise ValueError("seven are one too many")
        outputs[0].data[:] = inputs[0].data * 2
        return True


def test_operations_that_are_written_in_python(device: DeviceInfo, rng: np.random.Generator) -> None:
    own = Core()
    own.add_extension(Doubled)
    compiled = own.compile_model(between(lambda node: Doubled([node.output(0)]), (-1,)), device.name, F32)
    imported = own.import_model(exported(compiled), device.name)
    for size in (3, 9, 1):
        x = rng.standard_normal(size).astype(np.float32)
        for each in (compiled, imported):
            assert_close(each(x)[0], np.abs(x) * 2 + 1, 1e-6)
    with pytest.raises(ClinferError, match=r"middle(.|\n)*seven are one too many"):
        compiled(np.ones(7, np.float32))
    assert_close(compiled(x)[0], np.abs(x) * 2 + 1, 1e-6)
    with pytest.raises(ClinferError, match="extension"):
        Core().import_model(exported(compiled), device.name)


# -- what is told of it, and errors -----------------------------------------------------------------


def test_it_is_told(core: Core, device: DeviceInfo, capfd: pytest.CaptureFixture[str],
                    monkeypatch: pytest.MonkeyPatch) -> None:
    model = between(erfinv, (2, 4, 5))
    assert core.query_model(model, device.name)["middle"] == "HOST"
    monkeypatch.setenv("CLINFER_DEBUG", "1")
    compiled = core.compile_model(model, device.name, F32 | {"PERF_COUNT": True})
    told = [line for line in capfd.readouterr().err.splitlines() if "on the host" in line]
    assert len(told) == 1 and "middle (ErfInv)" in told[0] and "reads 160 bytes, writes 160 bytes" in told[0]
    node = next(n for n in compiled.program.explain().nodes if n.type == "HostOperation")
    assert node.layer == "middle" and node.implementation_type == "host" and "reads 160 bytes" in node.why
    request = compiled.create_infer_request()
    request.infer([np.zeros((2, 4, 5), np.float32)])
    row = next(row for row in request.get_profiling_info() if row.node_name == "middle")
    assert row.status == ov.ProfilingInfo.Status.EXECUTED and row.exec_type.startswith("host")


def test_it_can_be_forbidden(core: Core, device: DeviceInfo) -> None:
    without = F32 | {"host_fallback": "NO"}
    with pytest.raises(UnsupportedError, match="ErfInv"):
        core.compile_model(between(erfinv), device.name, without)
    assert "middle" not in core.query_model(between(erfinv), device.name, without)
    assert core.compile_model(between(op.relu), device.name, without).get_property("host_fallback") is False


def test_what_openvino_finds_wrong_while_it_runs(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    scores, lengths = op.parameter([2, 6, 5], np.float32), op.parameter([2], np.int32)
    labels = np.array([[0, 1, 0, 0, 0, 0], [3, 1, 0, 0, 0, 0]], np.int32)
    node = op.ctc_loss(op.negative(scores), op.abs(lengths), labels, np.array([2, 2], np.int32), np.int32(4))
    node.set_friendly_name("loss")
    model = ov.Model([node], [scores, lengths])
    request = core.compile_model(model, device.name, F32).create_infer_request()
    given = rng.standard_normal((2, 6, 5)).astype(np.float32)
    with pytest.raises(ClinferError, match=r"loss(.|\n)*[Ll]ogit length"):
        request.infer([given, np.array([6, 9], np.int32)])
    inputs = [given, np.array([6, 5], np.int32)]
    assert_close(request.infer(inputs)[0], CpuPlugin(model)(inputs)[0], 1e-6)


# -- blobs ------------------------------------------------------------------------------------------


def test_blobs_hold_it(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    blob = exported(core.compile_model(between(erfinv), device.name, F32))
    check_erfinv(Core().import_model(blob, device.name), rng)


def test_the_cache_of_models_holds_it(device: DeviceInfo, rng: np.random.Generator, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    for is_cached in (False, True):
        compiled = Core().compile_model(between(erfinv), device.name, F32 | {"CACHE_DIR": str(folder)})
        assert compiled.get_property("LOADED_FROM_CACHE") == is_cached
        check_erfinv(compiled, rng)


@pytest.mark.parametrize("kind", ["two operations", "another number of inputs", "other types", "no model"])
def test_a_blob_with_another_model_in_it_is_refused(core: Core, device: DeviceInfo, kind: str,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = core.compile_model(between(erfinv), device.name, F32)
    node = next(n.primitive for n in compiled.program.nodes if n.kind == "call")
    x, y = op.parameter([-1, 4, -1], np.float32), op.parameter([-1, 4, -1], np.float32)
    half = op.parameter([-1, 4, -1], np.float16)
    other = {"two operations": ov.Model([op.relu(erfinv(x))], [x]), "other types": ov.Model([erfinv(half)], [half]),
             "another number of inputs": ov.Model([op.add(x, y)], [x, y]), "no model": None}[kind]
    if other is None:
        monkeypatch.setattr(type(node.function), "serialized", lambda self: (b"<net", b""))
    else:
        monkeypatch.setattr(node.function, "_model", other)
    blob = io.BytesIO(exported(compiled).getvalue())
    monkeypatch.undo()
    with pytest.raises(ClinferError, match="blob"):
        Core().import_model(blob, device.name)
