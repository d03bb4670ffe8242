"""Exporting compiled models and importing them: the same model, nothing compiled, and no bad blob accepted."""
from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clinfer.api.compiling
from clinfer.api import saved_model
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.base import version
from clinfer.base.errors import ClinferError, WrongTypeError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.kernels.kernel_cache import KernelCache
from clinfer.program.blobs.container import seal
from clinfer.program.blobs.programs import made_with
from clinfer.runtime.device import DeviceInfo, available_devices
from clinfer.runtime.engine import Engine
from tests.api.blob_models import MODELS, Inputs, exported
from tests.api.models import F32, assert_softmax, softmax_model

RUNS = 5


def assert_same(one: CompiledModel, other: CompiledModel, inputs_of: Callable[[], Inputs]) -> None:
    """The same ports, and the same results bit by bit for several shapes."""
    for ours, theirs in ((one.inputs, other.inputs), (one.outputs, other.outputs)):
        assert [_described(port) for port in ours] == [_described(port) for port in theirs]
    for _ in range(RUNS):
        inputs = inputs_of()
        expected, got = one(inputs), other(inputs)
        assert len(expected) == len(got)
        for index in range(len(expected)):
            np.testing.assert_array_equal(got[index], expected[index], strict=True)


def _described(port: ov.Output) -> tuple[Any, ...]:
    return (port.get_node().get_friendly_name(), port.get_names(), port.get_element_type(), port.get_partial_shape(),
            ov.layout_helpers.get_layout(port))


@pytest.fixture
def blob(one: CompiledModel) -> bytes:
    return exported(one).getvalue()


@pytest.mark.parametrize("name", MODELS)
def test_an_imported_model_is_the_same(core: Core, device: DeviceInfo, rng: np.random.Generator, name: str) -> None:
    make, inputs_of = MODELS[name]
    compiled = core.compile_model(make(rng), device.name, F32)
    imported = Core().import_model(compiled.export_model(), device.name)
    assert_same(compiled, imported, lambda: inputs_of(rng))
    assert imported.get_property("NETWORK_NAME") == compiled.get_property("NETWORK_NAME")
    assert not imported.get_property("LOADED_FROM_CACHE")
    again = core.import_model(imported.export_model(), device.name)
    assert_same(compiled, again, lambda: inputs_of(rng))


def test_what_an_imported_model_tells(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    make, inputs_of = MODELS["if"]
    # Builds its kernels: what a compilation had to build is told, too.
    Core().compile_model(make(rng), device.name, F32)
    compiled = core.compile_model(make(rng), device.name, F32)
    imported = Core().import_model(compiled.export_model(), device.name, {"PERF_COUNT": True})
    assert imported.program.explain() == compiled.program.explain()
    layers = [[op.get_friendly_name() for op in m.get_runtime_model().get_ordered_ops()] for m in (compiled, imported)]
    assert layers[0] == layers[1]
    request = imported.create_infer_request()
    request.infer(inputs_of(rng))
    assert any(row.exec_type for row in request.get_profiling_info())


def test_static_shapes_and_f16(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    model = MODELS["convolution"][0](rng)
    model.reshape([2, 8, 7, 11])
    compiled = core.compile_model(model, device.name, {"INFERENCE_PRECISION_HINT": "f16"})
    imported = Core().import_model(compiled.export_model(), device.name)
    assert imported.get_property("INFERENCE_PRECISION_HINT") == ov.Type.f16
    assert_same(compiled, imported, lambda: {"x": rng.random((2, 8, 7, 11), np.float32)})


def test_layouts_of_ports_are_kept(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    model = MODELS["convolution"][0](rng)
    ov.layout_helpers.set_layout(model.input(0), ov.Layout("NCHW"))
    model.input(0).get_tensor().set_names({"x", "pictures"})
    compiled = core.compile_model(model, device.name, F32)
    imported = core.import_model(compiled.export_model(), device.name)
    assert ov.layout_helpers.get_layout(imported.input("pictures")) == ov.Layout("NCHW")
    assert_same(compiled, imported, lambda: MODELS["convolution"][1](rng))


def test_import_compiles_nothing(device: DeviceInfo, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    make, inputs_of = MODELS["if"]
    compiled = Core().compile_model(make(rng), device.name, F32)
    blob = compiled.export_model()
    other = Core()
    other.engine(device.name)

    def never(*args: object, **kwargs: object) -> None:
        raise AssertionError("something is compiled")

    for place, name in ((clinfer.api.compiling, "read_source"), (clinfer.api.compiling, "compile_topology"),
                        (Engine, "build_program"), (KernelCache, "prepare")):
        monkeypatch.setattr(place, name, never)
    imported = other.import_model(blob, device.name)
    assert_same(compiled, imported, lambda: inputs_of(rng))


@pytest.mark.parametrize("form", ["bytes", "bytearray", "memoryview", "stream", "tensor", "path", "text path"])
def test_forms_of_a_blob(one: CompiledModel, core: Core, device: DeviceInfo, blob: bytes, x: np.ndarray,
                         tmp_path: Path, form: str) -> None:
    path = tmp_path / "model.blob"
    path.write_bytes(blob)
    source = {"bytes": blob, "bytearray": bytearray(blob), "memoryview": memoryview(blob), "stream": io.BytesIO(blob),
              "tensor": ov.Tensor(np.frombuffer(blob, np.uint8)), "path": path, "text path": str(path)}[form]
    assert_softmax(core.import_model(source, device.name, {})(x)[0], x)


def test_export_into_streams(one: CompiledModel, core: Core, device: DeviceInfo, blob: bytes, x: np.ndarray,
                             tmp_path: Path) -> None:
    own = exported(one)
    assert own.tell() == 0 and own.read() == blob
    stream = io.BytesIO()
    assert one.export_model(stream) is None
    assert stream.tell() == 0 and stream.getvalue() == blob
    for _ in range(2):
        assert_softmax(core.import_model(stream, device.name)(x)[0], x)
        assert stream.tell() == 0
    behind = io.BytesIO(b"before" + blob)
    behind.seek(6)
    assert_softmax(core.import_model(behind, device.name)(x)[0], x)
    with (tmp_path / "model.blob").open("w+b") as file:
        one.export_model(model_stream=file)
        assert file.tell() == 0
        assert_softmax(core.import_model(file, device.name)(x)[0], x)
    with pytest.raises(ClinferError, match="binary stream"):
        one.export_model(io.StringIO())
    with pytest.raises(WrongTypeError, match=r"binary stream(.|\n)*given: str"):
        one.export_model("model.blob")
    with pytest.raises(WrongTypeError, match=r"binary stream(.|\n)*given: int"):
        core.import_model(5, device.name)


def test_a_blob_may_be_gone_after_the_import(core: Core, device: DeviceInfo, rng: np.random.Generator) -> None:
    make, inputs_of = MODELS["if"]
    compiled = core.compile_model(make(rng), device.name, F32)
    blob = bytearray(exported(compiled).getvalue())
    imported = core.import_model(blob, device.name)
    blob[:] = bytes(len(blob))
    assert_same(compiled, imported, lambda: inputs_of(rng))


def test_settings_of_running_may_change(core: Core, device: DeviceInfo, blob: bytes, x: np.ndarray) -> None:
    model = softmax_model({"x": [-1, 5]})
    streams = {"NUM_STREAMS": 3, "PERFORMANCE_HINT": "THROUGHPUT"}
    compiled = core.compile_model(model, device.name, F32 | streams)
    kept = core.import_model(compiled.export_model(), device.name)
    assert kept.get_property("NUM_STREAMS") == 3
    assert kept.get_property("PERFORMANCE_HINT") == compiled.get_property("PERFORMANCE_HINT")
    changed = core.import_model(compiled.export_model(), device.name, {"NUM_STREAMS": 2, **F32})
    assert changed.get_property("NUM_STREAMS") == 2
    assert_softmax(changed(x)[0], x)


@pytest.mark.parametrize(("config", "words"), [
    ({"INFERENCE_PRECISION_HINT": "f16"}, ["INFERENCE_PRECISION_HINT: f16 is wanted, compiled with f32"]),
    ({"force_implementations": {"x_out": ("", "softmax_ref")}}, ["force_implementations", "softmax_ref"]),
    ({"NUM_STREEMS": 1}, ["no property NUM_STREEMS"]),
])
def test_settings_that_needed_compiling(core: Core, device: DeviceInfo, blob: bytes, config: dict[str, Any],
                                        words: list[str]) -> None:
    with pytest.raises(ClinferError) as caught:
        core.import_model(blob, device.name, config)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("streams", [65, 1 << 40])
def test_more_streams_than_there_may_be(core: Core, device: DeviceInfo, one: CompiledModel, streams: int,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """In a blob, whose settings nobody has read."""
    true_settings = saved_model._saved_config
    monkeypatch.setattr(saved_model, "_saved_config", lambda config: {**true_settings(config), "streams": streams})
    with pytest.raises(ClinferError, match=f"there are {streams} streams"):
        core.import_model(exported(one).getvalue(), device.name)


@pytest.mark.parametrize(("source", "words"), [
    (b"", "no compiled blob"), (b"\x08\x07onnx", "no compiled blob"), (io.BytesIO(), "no compiled blob"),
    (b"x" * 10_000, "no compiled blob"), (3, "given: int"), (None, "given: NoneType"), ({}, "given: dict"),
    (io.StringIO("text"), "given: str"), ("/no/such/model.blob", "file: /no/such/model.blob"),
    (Path("."), "cannot be read"),
], ids=lambda value: value if isinstance(value, str) else type(value).__name__)
def test_what_is_no_blob(core: Core, device: DeviceInfo, source: Any, words: str) -> None:
    with pytest.raises(ClinferError, match=words):
        core.import_model(source, device.name)


def test_an_empty_file(core: Core, device: DeviceInfo, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(ClinferError, match=r"no compiled blob(.|\n)*bytes: 0"):
        core.import_model(tmp_path / "empty", device.name)


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_what_is_no_ordinary_file(core: Core, device: DeviceInfo, tmp_path: Path, kind: str) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "fifo"
    if kind == "fifo":
        os.mkfifo(path)
    with pytest.raises(ClinferError, match=r"cannot be read(.|\n)*no ordinary file"):
        core.import_model(path, device.name)


def test_cuts(core: Core, device: DeviceInfo, blob: bytes, rng: np.random.Generator) -> None:
    for end in (1, 7, 8, 20, 47, 48, 200, len(blob) // 2, len(blob) - 1, int(rng.integers(len(blob)))):
        with pytest.raises(ClinferError, match=r"truncated|no compiled blob"):
            core.import_model(blob[:end], device.name)


def test_damage(core: Core, device: DeviceInfo, one: CompiledModel, blob: bytes, x: np.ndarray,
                rng: np.random.Generator) -> None:
    for position in (0, 8, 12, 16, 60, 300, *rng.integers(len(blob), size=40)):
        damaged = bytearray(blob)
        damaged[position] ^= 0x10
        try:
            imported = core.import_model(bytes(damaged), device.name)
        except ClinferError as error:
            assert error.where == "compiled blob"
        else:
            assert blob[position] == 0, f"the damage of byte {position} was not found"
            assert_softmax(imported(x)[0], x)


def test_another_device(core: Core, device: DeviceInfo, blob: bytes) -> None:
    others = [other for other in available_devices() if other.driver_key != device.driver_key]
    if not others:
        pytest.skip("there is one kind of device only")
    for other in others:
        with pytest.raises(ClinferError, match=r"made with something else(.|\n)* in the blob, (.|\n)*try: "):
            core.import_model(blob, other.name)


@pytest.mark.parametrize(("change", "words"), [
    ({"clinfer": "0.0.9"}, "clinfer: 0.0.9 in the blob, 0.1.0 here"),
    ({"clinfer's code": "0"}, "clinfer's code: 0 in the blob"),
    ({"OpenVINO": "2020.1"}, r"OpenVINO: 2020\.1 in the blob"),
    ({"driver": "1.0"}, r"driver: 1\.0 in the blob"),
    ({"compute_units": "777"}, "compute_units: 777 in the blob"),
    ({"moon": "full"}, "moon: full in the blob, nothing here"),
])
def test_made_with_something_else(core: Core, device: DeviceInfo, change: dict[str, str], words: str) -> None:
    here = {**made_with(core.engine(device.name)), "OpenVINO": ov.get_version()}
    with pytest.raises(ClinferError, match=words):
        core.import_model(seal({**here, **change}, {}).to_bytes(), device.name)


def test_a_change_of_the_code_is_another_version(core: Core, device: DeviceInfo, blob: bytes,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    assert version.code_digest() in blob.decode("latin1")
    monkeypatch.setattr("clinfer.program.blobs.programs.code_digest", lambda: "edited")
    with pytest.raises(ClinferError, match="in the blob, edited here"):
        core.import_model(blob, device.name)


@pytest.mark.parametrize("records", [
    b"", b"[]", b"[1]", b'["x"]', b'[["tuple"]]', b'["echo",["os:system",0]]', b'[["Engine"]]', b'[["Program"]]',
    b'[["tuple"],["LoadedKernels"],["list"],["tuple",0,1,2]]', b'[["Memory"]]', b'[null,["Implementation",0,0,0]]',
], ids=repr)
def test_sound_digests_around_nonsense(core: Core, device: DeviceInfo, records: bytes) -> None:
    here = {**made_with(core.engine(device.name)), "OpenVINO": ov.get_version()}
    with pytest.raises(ClinferError) as caught:
        core.import_model(seal(here, {"records": [records], "data": []}).to_bytes(), device.name)
    assert caught.value.where == "compiled blob"
    with pytest.raises(ClinferError, match="lacks a section"):
        core.import_model(seal(here, {"data": []}).to_bytes(), device.name)


def _encrypt(content: bytes) -> bytes:
    return b"mine" + base64.b64encode(content)


def _decrypt(content: bytes) -> bytes:
    assert content.startswith(b"mine")
    return base64.b64decode(content[4:])


def test_blobs_are_encrypted_by_the_users_functions(core: Core, device: DeviceInfo, x: np.ndarray) -> None:
    settings = {**F32, "CACHE_ENCRYPTION_CALLBACKS": [_encrypt, _decrypt]}
    compiled = core.compile_model(softmax_model({"x": [-1, 5]}), device.name, settings)
    assert compiled.get_property("CACHE_ENCRYPTION_CALLBACKS") == [_encrypt, _decrypt]
    blob, stream = exported(compiled), io.BytesIO()
    compiled.export_model(stream)
    assert blob.getvalue() == stream.getvalue()
    assert blob.getvalue().startswith(b"mine") and b"Softmax" not in blob.getvalue()
    imported = core.import_model(blob, device.name, settings)
    assert_softmax(imported(x)[0], x)
    assert exported(imported).getvalue().startswith(b"mine")
    with pytest.raises(ClinferError, match="no compiled blob"):
        core.import_model(blob, device.name)
    own = Core()
    own.set_property(device.name, {"CACHE_ENCRYPTION_CALLBACKS": (_encrypt, _decrypt)})
    assert_softmax(own.import_model(blob, device.name)(x)[0], x)
    own.set_property(device.name, {"CACHE_ENCRYPTION_CALLBACKS": []})
    assert own.get_property(device.name, "CACHE_ENCRYPTION_CALLBACKS") == []


def test_the_cache_is_encrypted(device: DeviceInfo, x: np.ndarray, tmp_path: Path) -> None:
    folder = tmp_path / "blobs"
    model = softmax_model({"x": [-1, 5]})
    encrypted = {**F32, "CACHE_DIR": str(folder), "CACHE_ENCRYPTION_CALLBACKS": [_encrypt, _decrypt]}
    plain = {**F32, "CACHE_DIR": str(folder)}
    for settings, is_found in ((encrypted, False), (encrypted, True), (plain, False), (plain, True),
                               (encrypted, False)):
        compiled = Core().compile_model(model, device.name, settings)
        assert compiled.get_property("LOADED_FROM_CACHE") is is_found
        assert_softmax(compiled(x)[0], x)
        (kept,) = folder.glob("*.blob")
        assert kept.read_bytes().startswith(b"mine") is (settings is encrypted)


def test_functions_that_do_not_encrypt(core: Core, one: CompiledModel, device: DeviceInfo, blob: bytes) -> None:
    model = softmax_model({"x": [2, 5]})
    for wrong in (5, [_encrypt], [_encrypt, 5], "ab", {"encrypt": _encrypt, "decrypt": _decrypt}):
        with pytest.raises(ClinferError, match="a list of two functions"):
            core.compile_model(model, device.name, {"CACHE_ENCRYPTION_CALLBACKS": wrong})
    with pytest.raises(ClinferError, match=r"decrypts blobs failed(.|\n)*AssertionError"):
        core.import_model(blob, device.name, {"CACHE_ENCRYPTION_CALLBACKS": [_encrypt, _decrypt]})
    wrong_kind = {"CACHE_ENCRYPTION_CALLBACKS": [lambda content: "text", _decrypt]}
    compiled = core.compile_model(model, device.name, wrong_kind)
    with pytest.raises(WrongTypeError, match=r"encrypts blobs gives bytes(.|\n)*given: str"):
        compiled.export_model()
