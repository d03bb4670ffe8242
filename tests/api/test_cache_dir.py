"""CACHE_DIR: compiled models are found again, only by what they were made from, and bad blobs are made anew."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import clinfer.api.compiling
import clinfer.api.core
from clinfer.api.core import Core
from clinfer.api.model_cache import identify_files
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo, available_devices
from tests.api.blob_models import MODELS, exported
from tests.api.cached_models import blobs, compile_in, is_loaded, write_scaling
from tests.api.models import F32, assert_softmax, softmax_model


def test_the_property(core: Core, device: DeviceInfo, folder: Path) -> None:
    own = Core()
    assert own.get_property("CACHE_DIR") == own.get_property(device.name, "CACHE_DIR") == ""
    own.set_property({ov.properties.cache_dir: folder})
    assert own.get_property(device.name, ov.properties.cache_dir) == own.get_property("CACHE_DIR") == str(folder)
    compiled = own.compile_model(softmax_model({"x": [-1, 5]}), device.name, F32)
    assert compiled.get_property("CACHE_DIR") == str(folder)
    assert len(blobs(folder)) == 1
    assert not is_loaded(own.compile_model(softmax_model({"x": [-1, 5]}), device.name, {**F32, "CACHE_DIR": ""}))
    for wrong in (3, None, ["folder"]):
        with pytest.raises(ClinferError, match=r"CACHE_DIR cannot have this value(.|\n)*path of a folder"):
            own.set_property({"CACHE_DIR": wrong})


def test_a_model_in_a_file_is_not_read_again(device: DeviceInfo, folder: Path, saved: Path, rng: np.random.Generator,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    x = rng.random((3, 5), np.float32)
    first = compile_in(folder, saved, device)
    assert not is_loaded(first) and len(blobs(folder)) == 1

    def never(*args: object, **kwargs: object) -> None:
        raise AssertionError("the model is read or compiled")

    for place, name in ((clinfer.api.core, "read_model"), (clinfer.api.compiling, "read_source"),
                        (clinfer.api.compiling, "compile_topology")):
        monkeypatch.setattr(place, name, never)
    for path in (saved, str(saved), os.path.relpath(saved)):
        second = compile_in(folder, path, device)
        assert is_loaded(second)
        np.testing.assert_array_equal(second(x)[0], first(x)[0])
        np.testing.assert_allclose(second(x)[0], x * 2, rtol=1e-6)
    assert "LOADED_FROM_CACHE" in second.get_property("SUPPORTED_PROPERTIES")


@pytest.mark.parametrize("name", MODELS)
def test_a_model_object_is_known_by_its_contents(device: DeviceInfo, folder: Path, rng: np.random.Generator,
                                                 name: str) -> None:
    make, inputs_of = MODELS[name]
    seed = int(rng.integers(2**32))
    first = compile_in(folder, make(np.random.default_rng(seed)), device)
    second = compile_in(folder, make(np.random.default_rng(seed)), device)
    other = compile_in(folder, make(np.random.default_rng(seed + 1)), device)
    assert (is_loaded(first), is_loaded(second)) == (False, True)
    # The weights of the last one are others; the model without weights is the same.
    assert is_loaded(other) == (name == "softmaxes")
    for _ in range(3):
        inputs = inputs_of(rng)
        for expected, got in zip(first(inputs).values(), second(inputs).values(), strict=True):
            np.testing.assert_array_equal(got, expected, strict=True)


def test_ports_have_the_names_of_the_present_model(device: DeviceInfo, folder: Path) -> None:
    def unnamed() -> ov.Model:
        x = ov.op.Parameter(ov.Type.f32, ov.PartialShape([2, 3]))
        return ov.Model([ov.op.Result(ov.opset13.relu(x).output(0))], [x])

    first, second = unnamed(), unnamed()
    assert first.input(0).node.friendly_name != second.input(0).node.friendly_name
    compile_in(folder, first, device)
    found = compile_in(folder, second, device)
    assert is_loaded(found)
    assert found.input(second.input(0).node.friendly_name) == found.input(0)
    assert found.get_property("NETWORK_NAME") == second.friendly_name


@pytest.mark.parametrize("change", ["weights", "reshape", "names", "layout"])
def test_changes_of_a_model_object(device: DeviceInfo, folder: Path, change: str) -> None:
    x = np.zeros((1, 8, 4, 4), np.float32)

    def make() -> ov.Model:
        return MODELS["convolution"][0](np.random.default_rng(7))

    compile_in(folder, make(), device)
    changed = make()
    if change == "weights":
        changed = MODELS["convolution"][0](np.random.default_rng(8))
    elif change == "reshape":
        changed.reshape([1, 8, 4, 4])
    elif change == "names":
        changed.input(0).set_names({"y"})
    else:
        ov.layout_helpers.set_layout(changed.input(0), ov.Layout("NCHW"))
    compiled = compile_in(folder, changed, device)
    assert not is_loaded(compiled)
    assert compiled.input(0).get_names() == changed.input(0).get_names()
    assert compiled(x)[0].shape == (1, 16, 4, 4)


def test_a_changed_file_is_compiled_again_in_the_same_place(device: DeviceInfo, folder: Path, saved: Path,
                                                            rng: np.random.Generator) -> None:
    x = rng.random((2, 5), np.float32)
    compile_in(folder, saved, device)
    kept = {path: path.stat() for path in (saved, saved.with_suffix(".bin"))}
    write_scaling(saved, 3.0)
    # Not even restored times hide that the weights are others.
    for path, known in kept.items():
        os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    changed = compile_in(folder, saved, device)
    assert not is_loaded(changed)
    np.testing.assert_allclose(changed(x)[0], x * 3, rtol=1e-6)
    assert is_loaded(compile_in(folder, saved, device)) and len(blobs(folder)) == 1


def test_weights_of_another_name_belong_to_the_model(device: DeviceInfo, folder: Path, saved: Path, tmp_path: Path,
                                                     rng: np.random.Generator) -> None:
    x = rng.random((2, 5), np.float32)
    write_scaling(tmp_path / "other.xml", 5.0)
    core, config = Core(), {**F32, "CACHE_DIR": folder}
    for weights, factor in ((None, 2), (tmp_path / "other.bin", 5), (str(tmp_path / "model.bin"), 2)):
        compiled = core.compile_model(saved, device.name, config, weights=weights)
        assert is_loaded(compiled) == (isinstance(weights, str))
        np.testing.assert_allclose(compiled(x)[0], x * factor, rtol=1e-6)


@pytest.mark.parametrize("external", [False, True])
def test_onnx_with_data_in_other_files(device: DeviceInfo, folder: Path, tmp_path: Path, rng: np.random.Generator,
                                       external: bool) -> None:
    x, path = rng.random((2, 5), np.float32), tmp_path / "model.onnx"

    def write(factor: float) -> None:
        weights = numpy_helper.from_array(np.full((1, 5), factor, np.float32), "w")
        graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 5])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 5])], [weights])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        (tmp_path / "weights").unlink(missing_ok=True)
        onnx.save_model(model, path, save_as_external_data=external, location="weights", size_threshold=0)

    write(2.0)
    assert (identify_files(path, None) is None) == external
    assert not is_loaded(compile_in(folder, path, device))
    known = path.stat()
    write(4.0)
    if external:
        assert path.stat().st_size == known.st_size
        os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    changed = compile_in(folder, path, device)
    assert not is_loaded(changed)
    np.testing.assert_allclose(changed(x)[0], x * 4, rtol=1e-6)
    assert is_loaded(compile_in(folder, path, device))


def test_other_forms_of_a_model(device: DeviceInfo, folder: Path, saved: Path) -> None:
    core = Core()
    xml, weights = saved.read_bytes(), saved.with_suffix(".bin").read_bytes()
    forms = [core.read_model(saved), core.read_model(xml, weights), core.read_model(saved)]
    assert [is_loaded(compile_in(folder, model, device, core)) for model in forms] == [False, True, True]
    again = core.compile_model(xml.decode(), device.name, {**F32, "CACHE_DIR": folder}, weights=weights)
    assert is_loaded(again)
    for wrong in (saved.with_name("missing.xml"), saved.parent, 3):
        with pytest.raises((ClinferError, TypeError)):
            compile_in(folder, wrong, device)


def test_settings_that_decide_what_is_compiled(device: DeviceInfo, folder: Path, saved: Path,
                                               rng: np.random.Generator) -> None:
    x = rng.random((2, 5), np.float32)
    compile_in(folder, saved, device)
    for config, expected in (({"NUM_STREAMS": 3}, True), ({"PERFORMANCE_HINT": "THROUGHPUT"}, True),
                             ({"PERF_COUNT": True}, True), ({"INFERENCE_PRECISION_HINT": "f16"}, False),
                             ({"force_implementations": {}}, True), ({"CACHE_MODE": "OPTIMIZE_SIZE"}, True)):
        compiled = compile_in(folder, saved, device, **config)
        assert is_loaded(compiled) == expected, config
        for name, value in config.items():
            assert compiled.get_property(name) in (value, getattr(ov.Type, str(value), None)) or (
                compiled.get_property(name).name == value)
        np.testing.assert_allclose(compiled(x)[0], x * 2, rtol=1e-2)


@pytest.mark.parametrize("in_file", [False, True])
def test_a_forced_kernel_is_another_model(device: DeviceInfo, folder: Path, tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch, in_file: bool) -> None:
    model: Any = softmax_model({"x": [-1, 5]})
    if in_file:
        ov.save_model(model, tmp_path / "softmax.xml")
        model = tmp_path / "softmax.xml"
    compile_in(folder, model, device)
    node = next(n.primitive.id for n in compile_in(folder, model, device).program.nodes if n.kind == "kernel")
    monkeypatch.setenv("CLINFER_FORCE_KERNEL", f"{node}=softmax_ref")
    forced = compile_in(folder, model, device)
    assert not is_loaded(forced)
    assert [n.implementations[0].name for n in forced.program.nodes if n.kind == "kernel"] == ["softmax_ref"]


def test_devices_have_their_own_blobs(folder: Path, saved: Path) -> None:
    kinds = {device.driver_key: device for device in available_devices()}
    assert [is_loaded(compile_in(folder, saved, device)) for device in kinds.values()] == [False] * len(kinds)
    assert [is_loaded(compile_in(folder, saved, device)) for device in kinds.values()] == [True] * len(kinds)
    assert len(blobs(folder)) == len(kinds)


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "foreign", "another model", "folder"])
def test_a_bad_blob_is_made_anew(device: DeviceInfo, folder: Path, saved: Path, rng: np.random.Generator,
                                 damage: str) -> None:
    x = rng.random((2, 5), np.float32)
    compile_in(folder, saved, device)
    path, = blobs(folder)
    content = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
    elif damage == "another model":
        path.write_bytes(exported(Core().compile_model(softmax_model({"x": [-1, 5]}), device.name, F32)).getvalue())
    else:
        path.write_bytes({"empty": b"", "cut": content[:len(content) // 2], "foreign": b"\x00binary" * 99,
                          "flipped": content[:-200] + bytes([content[-200] ^ 1]) + content[-199:]}[damage])
    mended = compile_in(folder, saved, device)
    np.testing.assert_allclose(mended(x)[0], x * 2, rtol=1e-6)
    if damage != "flipped":
        assert not is_loaded(mended)
    if damage != "folder":
        assert is_loaded(compile_in(folder, saved, device))


def test_a_folder_that_cannot_be_made(device: DeviceInfo, saved: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ClinferError, match=r"CACHE_DIR cannot be made(.|\n)*file/below"):
        compile_in(tmp_path / "file" / "below", saved, device)


@pytest.mark.parametrize(("variable", "value"), [("CLINFER_CACHE", "0"), ("CLINFER_DUMP", "dump"),
                                                 ("CLINFER_DEBUG", "3")])
def test_knobs_that_want_a_model_compiled(device: DeviceInfo, folder: Path, saved: Path, tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    compile_in(folder, saved, device)
    monkeypatch.setenv(variable, str(tmp_path / value) if variable == "CLINFER_DUMP" else value)
    assert not is_loaded(compile_in(folder, saved, device))


def test_threads_share_a_folder(core: Core, device: DeviceInfo, folder: Path, rng: np.random.Generator) -> None:
    x, failures = rng.random((3, 5), np.float32), []

    def work() -> None:
        try:
            assert_softmax(compile_in(folder, softmax_model({"x": [-1, 5]}), device, core)(x)[0], x)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(blobs(folder)) == 1
    assert is_loaded(compile_in(folder, softmax_model({"x": [-1, 5]}), device, core))


_PROCESS = """
import json, sys
import numpy as np
import clinfer as ov
path, device, folder = sys.argv[1:]
core = ov.Core()
model = core.read_model(path[:-1]) if path.endswith("!") else path
compiled = core.compile_model(model, device, {"INFERENCE_PRECISION_HINT": "f32", "CACHE_DIR": folder})
result = compiled(np.arange(10, dtype=np.float32).reshape(2, 5))[0]
print(json.dumps([compiled.get_property("LOADED_FROM_CACHE"), result.tolist()]))
"""


@pytest.mark.parametrize("mark", ["", "!"], ids=["file", "object"])
def test_processes_share_a_folder(folder: Path, saved: Path, mark: str) -> None:
    command = [sys.executable, "-c", _PROCESS, f"{saved}{mark}", available_devices()[-1].name, str(folder)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    third = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120, check=True).stdout)
    assert third[0] is True
    expected = (np.arange(10).reshape(2, 5) * 2).tolist()
    assert [answer[1] for answer in (*answers, third)] == [expected] * 3
    assert len(blobs(folder)) == 1
