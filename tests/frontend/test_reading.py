"""Model files: good, missing, truncated, corrupt."""
from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reading import read_model
from tests.frontend.models import Rng, convolution_model, normal

CORE = ov.Core()


@pytest.fixture
def onnx_bytes(rng: Rng) -> bytes:
    """x [n,8] -> MatMul -> Relu, as an ONNX file."""
    weights = numpy_helper.from_array(normal(rng, 8, 300), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 300])], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


@pytest.fixture
def ir(rng: Rng, tmp_path: Path) -> Path:
    """An IR on disk, with its weights beside it."""
    ov.serialize(convolution_model(rng), tmp_path / "model.xml", tmp_path / "model.bin")
    return tmp_path / "model.xml"


def refusal(source: Any, weights: Any = None) -> ClinferError:
    with pytest.raises(ClinferError) as caught:
        read_model(CORE, source, weights)
    assert caught.value.where == "reading the model"
    assert caught.value.hint
    return caught.value


def test_every_form_of_a_good_model_is_read(onnx_bytes: bytes, ir: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx_bytes)
    for source in (path, str(path), onnx_bytes, io.BytesIO(onnx_bytes)):
        assert read_model(CORE, source).input(0).get_any_name() == "x"
    weights = ov.Tensor(np.frombuffer(ir.with_suffix(".bin").read_bytes(), np.uint8).copy())
    for arguments in ((ir,), (str(ir), str(ir.with_suffix(".bin"))), (ir.read_bytes(), weights)):
        assert read_model(CORE, *arguments).input(0).get_any_name() == "x"


def test_a_missing_file(tmp_path: Path, ir: Path) -> None:
    for source in (tmp_path / "none.onnx", str(tmp_path / "none.onnx"), str(tmp_path / ("n" * 5000))):
        error = refusal(source)
        assert error.what == "the model file does not exist"
        assert str(error.values["file"]) == str(source)
    assert refusal(ir, tmp_path / "none.bin").what == "the model file does not exist"


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").touch()
    assert refusal(tmp_path / "empty.onnx").what == "the model file is empty"


def test_a_truncated_file(onnx_bytes: bytes, tmp_path: Path, rng: Rng) -> None:
    path = tmp_path / "cut.onnx"
    for length in rng.integers(len(onnx_bytes) // 2, len(onnx_bytes) - 100, 5):
        path.write_bytes(onnx_bytes[:length])
        for source in (path, onnx_bytes[:length], io.BytesIO(onnx_bytes[:length])):
            error = refusal(source)
            assert error.what == "OpenVINO cannot read the model"
            assert error.values["OpenVINO says"]
        assert refusal(path).values["size"] == f"{length} bytes"


def test_a_file_of_no_known_kind(tmp_path: Path, rng: Rng) -> None:
    for name in ("noise.onnx", "noise.xml", "noise.tflite", "noise.txt"):
        (tmp_path / name).write_bytes(rng.bytes(1000))
        assert refusal(tmp_path / name).values["size"] == "1000 bytes"
    for source in (rng.bytes(1000), 3, None, tmp_path):
        assert "cannot read" in refusal(source).what


def test_damaged_bytes_never_pass_silently_or_crash(onnx_bytes: bytes, rng: Rng) -> None:
    """A model that still parses may be read; anything else must be our error."""
    for _ in range(20):
        damaged = bytearray(onnx_bytes)
        for position in rng.integers(0, 60, 5):
            damaged[position] = rng.integers(256)
        try:
            assert isinstance(read_model(CORE, bytes(damaged)), ov.Model)
        except ClinferError as error:
            assert error.values["OpenVINO says"]


def test_an_ir_with_damaged_parts(ir: Path) -> None:
    weights = ir.with_suffix(".bin")
    weights.write_bytes(weights.read_bytes()[:100])
    assert "cannot read" in refusal(ir).what
    weights.unlink()
    assert "cannot read" in refusal(ir).what
    ir.write_text(ir.read_text(encoding="utf-8")[:500], encoding="utf-8")
    assert "cannot read" in refusal(ir).what


def test_the_core_still_reads_after_a_failure(onnx_bytes: bytes) -> None:
    refusal(onnx_bytes[:50])
    assert read_model(CORE, onnx_bytes).outputs[0].get_any_name() == "y"


TEXTUAL_GRAPH = """# a graph of one operation
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 2 } } } } }
node { name: "y" op: "Relu" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
"""


def field(number: int, content: bytes | str | int) -> bytes:
    """A field of a protocol buffer."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    content = content.encode() if isinstance(content, str) else content
    return bytes([number << 3 | 2, len(content)]) + content


def tensorflow_graph() -> bytes:
    """The GraphDef that the text above describes."""
    def attribute(key: str, value: bytes) -> bytes:
        return field(5, field(1, key) + field(2, value))
    kind = field(6, 1)
    shape = field(7, field(2, field(1, 2)))
    x = field(1, "x") + field(2, "Placeholder") + attribute("dtype", kind) + attribute("shape", shape)
    y = field(1, "y") + field(2, "Relu") + field(3, "x") + attribute("T", kind)
    return field(1, x) + field(1, y)


def test_tensorflow_is_read(tmp_path: Path) -> None:
    (tmp_path / "graph.pb").write_bytes(tensorflow_graph())
    (tmp_path / "graph").write_bytes(tensorflow_graph())
    (tmp_path / "graph.pbtxt").write_text(TEXTUAL_GRAPH)
    for name in ("graph.pb", "graph", "graph.pbtxt"):
        model = read_model(CORE, tmp_path / name)
        assert [node.get_type_name() for node in model.get_ordered_ops()] == ["Parameter", "Relu", "Result"]


def test_broken_files_print_nothing(tmp_path: Path, onnx_bytes: bytes, rng: Rng, capfd: pytest.CaptureFixture[str]
                                    ) -> None:
    """OpenVINO's TensorFlow front end, which is asked last, has a parser that prints to standard error."""
    graph = tensorflow_graph()
    contents = [rng.bytes(300), b"<net><broken", b"no model", onnx_bytes[:-9], graph[:-3], graph + b"\x80", b"\x0a",
                b"{}", b"\n" * 40, b"\xff" * 40]
    for content in contents:
        for suffix in ("pb", "onnx", "xml", "tflite", "pdmodel", "meta", "bin", "txt"):
            path = tmp_path / f"broken.{suffix}"
            path.write_bytes(content)
            assert refusal(path).values["size"] == f"{len(content)} bytes"
    told = capfd.readouterr()
    assert told.out == "" and told.err == ""


def test_a_path_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    for path in (tmp_path / "pipe.onnx", Path(os.devnull)):
        assert refusal(path).values["kind"] == "neither a file nor a folder"
    assert refusal(tmp_path).values["kind"] == "a folder"


def test_an_empty_path() -> None:
    assert refusal("").what == "the path of the model is empty"
