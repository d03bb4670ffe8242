"""Core: devices, properties, reading and compiling, and what goes wrong there."""
from __future__ import annotations

import gc
import io
import threading
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import clinfer
from clinfer.api import core as core_module
from clinfer.api.core import Core, compile_model, natural_precision
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ops import CONVERTERS
from clinfer.runtime import device as devices
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32, IN_F16, assert_softmax, softmax, softmax_model


def test_devices_have_names(core: Core, device: DeviceInfo) -> None:
    assert device.name in core.available_devices == core.get_available_devices()
    assert core.get_property(device.name, "FULL_DEVICE_NAME") == device.full_name
    assert core.get_property(device.name, ov.properties.device.full_name) == device.full_name
    assert device.name.partition(".")[2] in core.get_property(device.name, "AVAILABLE_DEVICES")
    assert "FP32" in core.get_property(device.name, "OPTIMIZATION_CAPABILITIES")
    assert isinstance(core.get_property(device.name, "DEVICE_TYPE"), ov.properties.device.Type)
    assert core.get_versions(device.name)[device.name].build_number == device.driver_version


def test_every_supported_property_can_be_read(core: Core, device: DeviceInfo) -> None:
    supported = core.get_property(device.name, "SUPPORTED_PROPERTIES")
    assert supported["NUM_STREAMS"] == "RW"
    for name in supported:
        core.get_property(device.name, name)


def test_a_device_is_opened_once(core: Core, device: DeviceInfo) -> None:
    opened = []
    threads = [threading.Thread(target=lambda: opened.append(core.engine(device.name))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, opened))) == 1


def test_defaults_per_device_and_for_all(device: DeviceInfo) -> None:
    core = Core()
    core.set_property({"NUM_STREAMS": 3})
    assert core.get_property("NUM_STREAMS") == 3
    core.set_property(device.name, {ov.properties.hint.inference_precision: ov.Type.f16})
    assert core.get_property(device.name, "INFERENCE_PRECISION_HINT") == ov.Type.f16
    assert core.get_property(device.name, "NUM_STREAMS") == 3
    core.set_property({"NUM_STREAMS": 2})
    assert core.get_property(device.name, "NUM_STREAMS") == 2
    assert core.get_property(device.name, "INFERENCE_PRECISION_HINT") == ov.Type.f16
    core.set_property(device.name, ov.properties.streams.num(4))
    assert core.get_property(device.name, "NUM_STREAMS") == 4
    assert core.get_property("NUM_STREAMS") == 2 == core.get_property(property="NUM_STREAMS")
    core.set_property(device_name=device.name, properties={"NUM_STREAMS": 5})
    assert core.get_property(device_name=device.name, property="NUM_STREAMS") == 5


def test_configuration_reaches_the_compiled_model(device: DeviceInfo, rng: np.random.Generator) -> None:
    core = Core()
    core.set_property({"NUM_STREAMS": 3})
    model = softmax_model({"x": [2, 5]})
    compiled = core.compile_model(model, device.name, {"INFERENCE_PRECISION_HINT": "f16"})
    assert compiled.get_property("NUM_STREAMS") == 3
    assert compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS") == 3
    assert compiled.get_property("INFERENCE_PRECISION_HINT") == ov.Type.f16
    assert compiled.get_property("EXECUTION_DEVICES") == [device.name]
    assert compiled.get_property("NETWORK_NAME") == "softmaxes"
    for name in compiled.get_property("SUPPORTED_PROPERTIES"):
        compiled.get_property(name)
    with pytest.raises(ClinferError, match=r"no property SPEED(.|\n)*NETWORK_NAME"):
        compiled.get_property("SPEED")
    x = rng.standard_normal((2, 5), dtype=np.float32)
    result = compiled(x)[0]
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, softmax(x), atol=2e-2)
    assert np.abs(result - softmax(x)).max() > 1e-6, "computed in another type than asked for"


@pytest.mark.parametrize("tiles, gain", [(True, 2.0), (False, 2.0), (False, 0.9), (False, 0.0)])
def test_precision_is_the_device_s_own_choice(device: DeviceInfo, tiles: bool, gain: float, rng: np.random.Generator,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_module, "natural_precision", natural_precision)
    core = Core()
    engine = core.engine(device.name)
    able = engine.capabilities
    able = replace(able, tile_registers=able.tile_registers and tiles, ceilings=replace(
        able.ceilings, bf16=gain * able.ceilings.f32 if able.bf16_products else 0.0))
    monkeypatch.setattr(engine, "capabilities", able)
    multiplies = able.tile_registers or (able.bf16_products and gain == 2)
    own = ("bf16" if multiplies else "f32") if device.type == "CPU" else "f16" if able.fp16 else "f32"
    assert core.get_property(device.name, "INFERENCE_PRECISION_HINT").type_name == own
    core.set_property({"INFERENCE_PRECISION_HINT": ov.Type.dynamic})
    assert core.get_property(device.name, "INFERENCE_PRECISION_HINT") == ov.Type.dynamic
    data, weights = ov.op.Parameter(ov.Type.f32, ov.PartialShape([-1, 64])), rng.standard_normal((64, 32))
    product = ov.opset13.matmul(data, ov.op.Constant(weights.astype(np.float32)), False, False)
    x = rng.standard_normal((40, 64), dtype=np.float32)
    for settings, precision in (({}, own), ({"INFERENCE_PRECISION_HINT": "f32"}, "f32"),
                                ({"EXECUTION_MODE_HINT": "ACCURACY"}, "f32")):
        compiled = core.compile_model(ov.Model([product], [data], "m"), device.name, settings)
        assert compiled.get_property("INFERENCE_PRECISION_HINT").type_name == precision
        wanted = x.astype(np.float64) @ weights.astype(np.float32)
        error = np.abs(compiled(x)[0] - wanted).max() / np.abs(wanted).max()
        assert error < 2e-2 and (error > 1e-5) == (precision != "f32")


def test_models_come_from_anywhere(tmp_path: Path, device: DeviceInfo, rng: np.random.Generator) -> None:
    core = Core()
    model = softmax_model({"x": [-1, 5]})
    path = tmp_path / "model.xml"
    clinfer.save_model(model, path)
    xml, weights = path.read_bytes(), path.with_suffix(".bin").read_bytes()
    x = rng.random((3, 5), dtype=np.float32)
    sources = [
        core.compile_model(model, device.name),
        core.compile_model(path, device.name),
        core.compile_model(str(path), device.name),
        core.compile_model(core.read_model(path), device.name),
        core.compile_model(core.read_model(model), device.name),
        core.compile_model(core.read_model(path, path.with_suffix(".bin")), device.name),
        core.compile_model(core.read_model(xml, weights), device.name),
        core.compile_model(core.read_model(io.BytesIO(xml), io.BytesIO(weights)), device.name),
        core.compile_model(xml.decode(), device.name, weights=weights),
        core.compile_model(core.read_model(xml.decode(), ov.Tensor(np.frombuffer(weights, np.uint8))), device.name),
        compile_model(path, device.name),
    ]
    for compiled in sources:
        assert_softmax(compiled(x)[0], x, IN_F16)


def test_the_model_is_left_alone_and_not_kept(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    model = softmax_model({"x": [-1, 5]})
    compiled = core.compile_model(model, device.name)
    assert [op.get_type_name() for op in model.get_ordered_ops()] == ["Parameter", "Softmax", "Result"]
    model.reshape([7, 7])
    assert str(compiled.input("x").partial_shape) == "[?,5]"
    x = rng.random((3, 5), dtype=np.float32)
    assert_softmax(compiled(x)["x_out"], x, IN_F16)


@pytest.mark.parametrize(("declared", "edited", "given", "refused"), [
    ([-1, 4], [2, 4], [2, 4], [3, 4]), ([1, 4], [-1, 4], [3, 4], [3, 5]), ([1, 4], [2, 4], [2, 4], [1, 4]),
    ([-1, 4], [-1, -1, 4], [2, 3, 4], [2, 4])])
def test_edits_that_nothing_validated_yet(core: Core, device: DeviceInfo, rng: np.random.Generator,
                                          declared: list[int], edited: list[int], given: list[int],
                                          refused: list[int]) -> None:
    """Another shape of a Parameter, and another operation in front of a Result; the model itself stays as it is."""
    model = softmax_model({"x": declared})
    (parameter,), (result,) = model.get_parameters(), model.get_results()
    parameter.set_partial_shape(ov.PartialShape(edited))
    result.input(0).replace_source_output(ov.opset13.convert(result.input_value(0), "f16").output(0))
    compiled = core.compile_model(model, device.name, F32)
    assert compiled.input().partial_shape == ov.PartialShape(edited) == compiled.output().partial_shape
    assert compiled.output().element_type == ov.Type.f16
    x = rng.standard_normal(given).astype(np.float32)
    assert np.abs(compiled(x)[0] - softmax(x)).max() <= 1e-3
    with pytest.raises(ClinferError, match=r"input '.*' has"):
        compiled(np.zeros(refused, np.float32))
    assert model.input().partial_shape == ov.PartialShape(declared)


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x07\x12\x04"])
@pytest.mark.parametrize("suffix", [".onnx", ".xml", ".tflite"])
def test_broken_files(core: Core, tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"model{suffix}"
    path.write_bytes(content)
    with pytest.raises(ClinferError) as caught:
        core.compile_model(path)
    assert str(path) in str(caught.value)
    assert "try:" in str(caught.value)


def test_missing_file(core: Core, tmp_path: Path) -> None:
    with pytest.raises(ClinferError, match=r"does not exist(.|\n)*nowhere\.onnx"):
        core.compile_model(tmp_path / "nowhere.onnx")


def test_truncated_weights(core: Core, tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    data = ov.op.Parameter(ov.Type.f32, ov.PartialShape([2, 40]))
    product = ov.opset13.matmul(data, ov.op.Constant(np.ones((40, 50), np.float32)), False, False)
    clinfer.save_model(ov.Model([product], [data], "m"), path)
    weights = path.with_suffix(".bin")
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(ClinferError, match=r"model\.xml"):
        core.compile_model(path)


def test_unsupported_operations_are_all_listed(core: Core, device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ErfInv", "CTCLoss"):
        monkeypatch.delitem(CONVERTERS, name)
    data = ov.op.Parameter(ov.Type.f32, ov.PartialShape([1, 3, 5]))
    first = ov.opset17.erfinv(data)
    first.set_friendly_name("erf_layer")
    second = ov.opset13.ctc_loss(first, np.int32([3]), np.int32([[0, 1, 0]]), np.int32([2]))
    second.set_friendly_name("loss_layer")
    with pytest.raises(ClinferError) as caught:
        core.compile_model(ov.Model([second], [data], "m"), device.name, {"host_fallback": "NO"})
    for word in ("ErfInv", "erf_layer", "CTCLoss", "loss_layer"):
        assert word in str(caught.value)


@pytest.mark.parametrize("name", ["NPU", "GPU.99", "cpu", "HETERO:GPU,CPU"])
def test_unknown_device(core: Core, name: str) -> None:
    for use in (lambda: core.compile_model(softmax_model({"x": [2, 5]}), name),
                lambda: core.get_property(name, "FULL_DEVICE_NAME"),
                lambda: core.set_property(name, {"NUM_STREAMS": 1}),
                lambda: core.get_versions(name)):
        with pytest.raises(ClinferError) as caught:
            use()
        assert name in str(caught.value)
        for device in core.available_devices:
            assert device in str(caught.value)


def test_unknown_properties(core: Core, device: DeviceInfo) -> None:
    for use in (lambda: core.get_property(device.name, "SPEED"),
                lambda: core.get_property("SPEED"),
                lambda: core.set_property({"SPEED": 1}),
                lambda: core.set_property(device.name, {"SPEED": 1}),
                lambda: core.compile_model(softmax_model({"x": [2, 5]}), device.name, {"SPEED": 1})):
        with pytest.raises(ClinferError) as caught:
            use()
        assert "SPEED" in str(caught.value)
        assert "NUM_STREAMS" in str(caught.value)


def test_forcing_what_does_not_exist(core: Core, device: DeviceInfo) -> None:
    model = softmax_model({"x": [2, 5]})
    with pytest.raises(ClinferError, match="conv1"):
        core.compile_model(model, device.name, {"force_implementations": {"conv1": ("bfyx", "")}})
    layer = next(op for op in model.get_ops() if op.get_type_name() == "Softmax").get_friendly_name()
    with pytest.raises(ClinferError, match=r"no_such_kernel|no kernel"):
        core.compile_model(model, device.name, {"force_implementations": {layer: ("", "no_such_kernel")}})


def test_no_device_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "available_devices", lambda: ())
    with pytest.raises(ClinferError, match=r"no OpenCL device(.|\n)*pip install clinfer\[cpu\]"):
        Core().compile_model(softmax_model({"x": [2, 5]}))


@pytest.mark.parametrize("use", ["nothing", "call", "request", "background", "queue"])
def test_a_model_is_gone_with_its_last_user(core: Core, device: DeviceInfo, rng: np.random.Generator, use: str) -> None:
    x = rng.random((3, 5), np.float32)
    compiled = core.compile_model(softmax_model({"x": [-1, 5]}), device.name, {"INFERENCE_PRECISION_HINT": "f32"})
    known = weakref.ref(compiled)
    gc.collect()
    gc.disable()
    try:
        if use == "call":
            compiled(x)
        elif use != "nothing":
            runner = clinfer.AsyncInferQueue(compiled, 2) if use == "queue" else compiled.create_infer_request()
            runner.infer(x) if use == "request" else runner.start_async(x)
            if use != "request":
                runner.wait_all() if use == "queue" else runner.wait()
            del runner
        del compiled
        assert known() is None
    finally:
        gc.enable()


def test_what_is_not_here_says_so(core: Core) -> None:
    for name in ("register_plugin", "register_plugins"):
        assert not hasattr(core, name)
        with pytest.raises(ClinferError, match=r"clinfer has no (.|\n)*Core(.|\n)*try:"):
            getattr(core, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(core, "no_such_" + "name")


def test_a_device_that_was_unloaded_is_opened_again(device: DeviceInfo, x: np.ndarray) -> None:
    core = Core()
    compiled = core.compile_model(softmax_model({"x": [-1, 5]}), device.name, {"INFERENCE_PRECISION_HINT": "f32"})
    before = core.engine(device.name)
    core.unload_plugin(device.name)
    assert core.engine(device.name) is not before is compiled.engine
    assert_softmax(compiled(x)[0], x)
    with pytest.raises(ClinferError, match="NPU"):
        core.unload_plugin("NPU")


def test_intermediate_memory_is_released_when_asked(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    data = ov.op.Parameter(ov.Type.f32, ov.PartialShape([-1, 1 << 16]))
    twice = ov.opset13.softmax(ov.opset13.softmax(data, 1), 1)
    compiled = core.compile_model(ov.Model([twice], [data], "m"), device.name, {"INFERENCE_PRECISION_HINT": "f32"})
    request, x = compiled.create_infer_request(), rng.random((4, 1 << 16), dtype=np.float32)
    expected = softmax(softmax(x))
    ledger = compiled.engine.ledger
    constants = ledger.current
    for _ in range(2):
        np.testing.assert_allclose(request.infer(x)[0], expected, rtol=0, atol=1e-7)
        held = ledger.current
        compiled.release_memory()
        assert ledger.current <= held - 3 * x.nbytes
    assert ledger.current <= constants
    np.testing.assert_allclose(request.infer()[0], expected, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(request.get_input_tensor().data, x)
