"""Models with strings: they stay on the host, where OpenVINO computes with them."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as op

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.base.errors import ClinferError, UnsupportedError, WrongTypeError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.blob_models import exported
from tests.api.models import F32
from tests.cli.test_cli import call

TEXTS = (["héllo", "x", ""], ["a"], ["", ""], ["日本語", "longer than the others", "\n"])


def unpacked_model(shape: tuple[int, ...] = (-1,)) -> ov.Model:
    """texts -> where each begins, plus 1 by a kernel; where it ends; its bytes; and the texts packed again."""
    texts = ov.op.Parameter(ov.Type.string, ov.PartialShape(list(shape)))
    texts.output(0).set_names({"texts"})
    parts = ov.opset15.string_tensor_unpack(texts)
    again = ov.opset15.string_tensor_pack(*parts.outputs())
    begins = op.add(parts.output(0), np.int32(1))
    model = ov.Model([begins.output(0), parts.output(1), parts.output(2), again.output(0)], [texts], "texts")
    for port, name in zip(model.outputs, ("begins", "ends", "bytes", "again"), strict=True):
        port.get_tensor().set_names({name})
    return model


@pytest.fixture(scope="module")
def compiled(device: DeviceInfo) -> CompiledModel:
    return Core().compile_model(unpacked_model(), device.name, F32)


@pytest.fixture(scope="module")
def theirs() -> ov.CompiledModel:
    return ov.Core().compile_model(unpacked_model(), "CPU")


def check(found: Any, texts: list[str]) -> None:
    raw = [text.encode() for text in texts]
    ends = np.cumsum([len(each) for each in raw])
    assert found["ends"].tolist() == ends.tolist()
    assert found["begins"].tolist() == [1, *(ends[:-1] + 1)]
    assert found["bytes"].tobytes() == b"".join(raw)
    assert found["again"].dtype.kind == "U" and found["again"].tolist() == texts


def test_forms_of_inputs(compiled: CompiledModel) -> None:
    request = compiled.create_infer_request()
    for texts in TEXTS:
        encoded = np.array([text.encode() for text in texts])
        for given in (texts, {"texts": texts}, np.array(texts), encoded, ov.Tensor(np.array(texts)), (texts,)):
            check(request.infer(given), texts)
            check(compiled(given), texts)
    check(request.infer("one text"), ["one text"])
    check(request.infer(b"one text"), ["one text"])
    check(request.infer(), ["one text"])


def test_results_are_like_openvinos(compiled: CompiledModel, theirs: ov.CompiledModel) -> None:
    for texts in TEXTS:
        for decode in (True, False):
            ours, others = (each(np.array(texts), decode_strings=decode) for each in (compiled, theirs))
            for name in ("begins", "ends", "bytes", "again"):
                assert ours[name].dtype == others[name].dtype and np.array_equal(ours[name], others[name])


def test_tensors(compiled: CompiledModel) -> None:
    request = compiled.create_infer_request()
    tensor, result = ov.Tensor(["first", "second"]), ov.Tensor(ov.Type.string, ov.Shape([2]))
    request.set_tensor("texts", tensor)
    request.set_tensor("again", result)
    request.infer()
    assert result.str_data.tolist() == ["first", "second"]
    tensor.str_data = np.array(["3rd", "4th one"])
    request.start_async()
    request.wait()
    assert result.str_data.tolist() == ["3rd", "4th one"]
    assert request.get_input_tensor().str_data.tolist() == ["3rd", "4th one"]
    other = compiled.create_infer_request()
    check(other.infer(["some"]), ["some"])
    assert other.get_tensor("again").str_data.tolist() == ["some"]
    other.get_input_tensor().str_data = np.array(["more"])
    check(other.infer(), ["more"])
    assert other.get_tensor("again").str_data.tolist() == ["more"]


def test_results_are_the_callers(compiled: CompiledModel) -> None:
    request = compiled.create_infer_request()
    first = request.infer(["aa", "b"], share_outputs=True)["again"]
    request.infer(["c", "dd"])
    assert first.tolist() == ["aa", "b"]


def test_no_text_at_all(compiled: CompiledModel) -> None:
    """OpenVINO hands out the results of the run before."""
    request = compiled.create_infer_request()
    check(request.infer(["some"]), ["some"])
    with pytest.raises(ClinferError, match="no elements"):
        request.infer(np.empty(0, "U1"))
    check(request.infer(["some", "more"]), ["some", "more"])


def test_texts_as_they_came(core: Core, device: DeviceInfo) -> None:
    texts = ov.op.Parameter(ov.Type.string, ov.PartialShape([-1, 2]))
    found = core.compile_model(ov.Model([texts], [texts]), device.name)([[["a", "bc"], ["d", ""]]])
    assert found[0].tolist() == [["a", "bc"], ["d", ""]]


def test_blobs(compiled: CompiledModel, device: DeviceInfo, tmp_path: Path) -> None:
    for again in (Core().import_model(exported(compiled), device.name), *(
            Core().compile_model(unpacked_model(), device.name, F32 | {"CACHE_DIR": str(tmp_path / "cache")})
            for _ in range(2))):
        for texts in TEXTS:
            check(again(texts), texts)
    assert again.get_property("LOADED_FROM_CACHE")


@pytest.mark.parametrize("given", [[1, 2], np.ones(2, np.float32), np.array(["a", b"b", None]), 3])
def test_what_is_no_text(compiled: CompiledModel, given: Any) -> None:
    request = compiled.create_infer_request()
    with pytest.raises(WrongTypeError, match="texts"):
        request.infer(given)
    check(request.infer(["good"]), ["good"])


def test_shapes_and_types_of_tensors_are_checked(compiled: CompiledModel) -> None:
    request = compiled.create_infer_request()
    with pytest.raises(ClinferError, match="wrong rank"):
        request.infer(np.array([["a"]]))
    with pytest.raises(ClinferError, match="wrong element type"):
        request.set_tensor("texts", ov.Tensor(np.ones(2, np.float32)))
    with pytest.raises(ClinferError, match="one tensor"):
        request.set_tensors("texts", [ov.Tensor(["a"]), ov.Tensor(["b"])])


def test_strings_on_a_device_are_refused(core: Core, device: DeviceInfo) -> None:
    with pytest.raises(UnsupportedError, match="no tensors of type string"):
        core.get_default_context(device.name).create_tensor(ov.Type.string, ov.Shape([2]), {})
    with pytest.raises(UnsupportedError, match="StringTensorUnpack"):
        core.compile_model(unpacked_model(), device.name, {"host_fallback": "NO"})


def test_the_command_line(device: DeviceInfo, tmp_path: Path) -> None:
    """Inputs that nobody gives are texts drawn at random."""
    ov.serialize(unpacked_model((3,)), tmp_path / "texts.xml")
    done = call("run", str(tmp_path / "texts.xml"), "--device", device.name, "--output", str(tmp_path / "out.npz"))
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as kept:
        again = next(kept[name] for name in kept if "again" in name)
    assert again.dtype.kind == "S" and again.shape == (3,)


def test_a_tokenizer_and_its_detokenizer(device: DeviceInfo) -> None:
    """Operations of an extension in C++."""
    extension = pytest.importorskip("openvino_tokenizers")
    build = pytest.importorskip("openvino_tokenizers.build_tokenizer").build_rwkv_tokenizer
    words = [*"abcdefghijklmnopqrstuvwxyz ", "the", "ing", "日"]
    models = build([f"{number} {word!r} {len(word.encode())}" for number, word in enumerate(words, 1)])
    ours, theirs = Core(), ov.Core()
    for core in (ours, theirs):
        core.add_extension(str(extension._ext_path))
    tokenizer, detokenizer = (ours.compile_model(model, device.name) for model in models)
    others = [theirs.compile_model(model, "CPU") for model in models]
    imported = ours.import_model(exported(tokenizer), device.name)
    for texts in (["the thing"], ["a", "singing 日 the blues", ""], ["x"]):
        expected = others[0](texts)[0]
        for each in (tokenizer, imported):
            assert np.array_equal(each(texts)[0], expected)
        assert detokenizer(expected.astype(np.int32))[0].tolist() == others[1](expected.astype(np.int32))[0].tolist()
    assert words[expected[0, 0] - 1] == "x"
