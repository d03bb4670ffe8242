"""Which nodes are marked, what stays as it is, and how the mending is left out."""
from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import clinfer
from clinfer.base.errors import ClinferError
from clinfer.frontend.onnx import files
from clinfer.frontend.onnx.files import mended_content
from clinfer.frontend.onnx.model import Model
from clinfer.frontend.onnx.operator import DOMAIN
from tests.conformance.cases import load_cases


def _shift(*nodes: onnx.NodeProto, weights: np.ndarray | None = None) -> onnx.ModelProto:
    """Weights plus what is shifted right, and more nodes."""
    shift = helper.make_node("BitShift", ["x", "by"], ["shifted"], direction="RIGHT")
    add = helper.make_node("Add", ["shifted", "weights"], ["y"])
    kept = numpy_helper.from_array(np.zeros(3, np.int32) if weights is None else weights, "weights")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, [3]) for name in ("x", "by")]
    result = helper.make_tensor_value_info("y", TensorProto.INT32, [3])
    graph = helper.make_graph([*nodes, shift, add], "shift", inputs, [result], [kept])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def _run(model: Any, weights: Any = None, **config: Any) -> np.ndarray:
    read = clinfer.Core().read_model(model, weights, config)
    request = clinfer.Core().compile_model(read, "CPU").create_infer_request()
    return np.array(request.infer([np.array([-8, 4, -1], np.int32), np.array([40, 1, 1], np.int32)])[0])


@pytest.mark.parametrize("name", sorted(load_cases())[::40])
def test_what_is_read_is_written_again(name: str) -> None:
    model = load_cases()[name].model
    assert model is not None
    read = Model.read(model.SerializeToString())
    assert read is not None
    again = onnx.load_model_from_string(read.to_bytes())
    onnx.checker.check_model(again)
    for node in (*model.graph.node, *again.graph.node):
        node.domain = node.domain.replace("ai.onnx", "") if node.domain == "ai.onnx" else node.domain
    assert again.graph == model.graph
    assert {each.domain: each.version for each in again.opset_import} == \
        {each.domain: each.version for each in model.opset_import}


def test_only_nodes_that_need_it_are_marked() -> None:
    content = mended_content(_shift().SerializeToString())
    assert content is not None
    marked = onnx.load_model_from_string(content)
    assert [(node.op_type, node.domain) for node in marked.graph.node] == [("BitShift", DOMAIN), ("Add", "")]
    assert marked.graph.initializer == _shift().graph.initializer


@pytest.mark.parametrize("content", [b"", b"<net/>", b"\x08", b"\x08\x07", bytes(range(256)),
                                     onnx.TensorProto().SerializeToString()])
def test_what_is_no_model_is_left_alone(content: bytes) -> None:
    assert mended_content(content) is None


def test_damaged_files_are_left_to_openvino() -> None:
    content = _shift().SerializeToString()
    for end in range(len(content)):
        mended_content(content[:end])
    for place in range(len(content)):
        mended_content(bytes([*content[:place], content[place] ^ 0x55, *content[place + 1:]]))


@pytest.mark.parametrize("node", [
    helper.make_node("BitShift", [], ["y"], direction="RIGHT"), helper.make_node("Div", [], ["y"]),
    helper.make_node("FlexAttention", ["x"], ["y"], domain="ai.onnx.preview"), helper.make_node("Det", [], ["y"])],
    ids=lambda node: node.op_type)
def test_nodes_without_their_inputs_are_refused(node: onnx.NodeProto) -> None:
    graph = helper.make_graph([node], "bare", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.preview", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    with pytest.raises(ClinferError, match="cannot read the model"):
        clinfer.Core().read_model(model.SerializeToString())


@pytest.mark.parametrize("op_type", ["GRU", "LSTM", "RNN"])
def test_directions_that_differ_are_refused(op_type: str) -> None:
    """OpenVINO's import would take the activations of the first direction for both."""
    count = {"GRU": 2, "LSTM": 3, "RNN": 1}[op_type]
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[op_type]
    shapes = {"x": [3, 2, 4], "w": [2, gates * 5, 4], "r": [2, gates * 5, 5]}
    declared = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    for second, is_refused in (("Tanh", False), ("Relu", True)):
        node = helper.make_node(op_type, list(shapes), ["y"], hidden_size=5, direction="bidirectional",
                                activations=["Tanh"] * (2 * count - 1) + [second])
        result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        model = helper.make_model(helper.make_graph([node], "two", declared, [result]),
                                  opset_imports=[helper.make_opsetid("", 14)], ir_version=10)
        content = model.SerializeToString()
        if not is_refused:
            clinfer.Core().read_model(content)
            continue
        with pytest.raises(ClinferError, match="both directions"):
            clinfer.Core().read_model(content)


def test_nodes_of_bodies_are_marked() -> None:
    body = helper.make_graph(list(_shift().graph.node), "body", [], [
        helper.make_tensor_value_info("y", TensorProto.INT32, [3])])
    node = helper.make_node("If", ["yes"], ["z"], then_branch=body, else_branch=body)
    inner = {"x": [3], "by": [3], "weights": [3]}
    declared = [helper.make_tensor_value_info(name, TensorProto.INT32, shape) for name, shape in inner.items()]
    graph = helper.make_graph([node], "if", [*declared, helper.make_tensor_value_info("yes", TensorProto.BOOL, [])],
                              [helper.make_tensor_value_info("z", TensorProto.INT32, [3])])
    content = mended_content(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString())
    assert content is not None
    branches = onnx.load_model_from_string(content).graph.node[0].attribute
    assert [[each.domain for each in branch.g.node] for branch in branches] == [[DOMAIN, ""]] * 2


def test_the_property_leaves_it_out() -> None:
    content = _shift().SerializeToString()
    assert _run(content).tolist() == [-1, 2, -1]
    assert _run(content, mend_onnx="NO").tolist() == [0, 2, -1]
    core = clinfer.Core()
    core.set_property({"mend_onnx": False})
    assert core.get_property("mend_onnx") is False
    types = [node.get_type_name() for node in core.read_model(content).get_ops()]
    assert "Select" not in types


def test_streams_are_mended() -> None:
    assert _run(io.BytesIO(_shift().SerializeToString())).tolist() == [-1, 2, -1]


@pytest.mark.parametrize("form", ["stream", "bytes", "tensor", "path", "no name"])
def test_weights_that_are_given_beside_it_change_nothing(tmp_path: Path, form: str) -> None:
    content, path, weights = _shift().SerializeToString(), tmp_path / "model.onnx", tmp_path / "weights.bin"
    path.write_bytes(content)
    weights.write_bytes(b"none of it")
    forms: dict[str, tuple[Any, Any]] = {
        "stream": (io.BytesIO(content), io.BytesIO()), "bytes": (content, b""),
        "tensor": (content, clinfer.Tensor(clinfer.Type.u8, [])), "path": (path, weights), "no name": (str(path), "")}
    assert _run(*forms[form]).tolist() == [-1, 2, -1]


def _beside(folder: Path, in_node: bool = False) -> Path:
    """The file of a model whose weights, of an initializer or of a Constant, lie in another one."""
    path, model = folder / "model.onnx", _shift(weights=np.array([10, 20, 30], np.int32))
    if in_node:
        model.graph.node.insert(0, helper.make_node("Constant", [], ["weights"], value=model.graph.initializer.pop()))
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0,
              convert_attribute=in_node)
    return path


@pytest.mark.parametrize("in_node", [False, True], ids=["initializer", "Constant"])
def test_weights_beside_the_file_are_found(tmp_path: Path, in_node: bool) -> None:
    path = _beside(tmp_path, in_node)
    assert (tmp_path / "weights.bin").exists()
    assert _run(path).tolist() == [9, 22, 29]
    assert _run(str(path)).tolist() == [9, 22, 29]


@pytest.mark.parametrize("spoilt", ["missing", "short", "before", "large"])
def test_weights_that_cannot_be_taken_in_are_left_to_openvino(tmp_path: Path, spoilt: str,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    path, weights = _beside(tmp_path), tmp_path / "weights.bin"
    if spoilt == "missing":
        weights.unlink()
    elif spoilt == "short":
        weights.write_bytes(weights.read_bytes()[:-1])
    elif spoilt == "before":
        model = onnx.load(path, load_external_data=False)
        next(each for each in model.graph.initializer[0].external_data if each.key == "offset").value = "-4"
        path.write_bytes(model.SerializeToString())
    else:
        monkeypatch.setattr(files, "LARGEST", path.stat().st_size + 11)
    assert mended_content(path) is None


def test_functions_are_looked_through() -> None:
    node = helper.make_node("BitShift", ["a", "b"], ["made"], direction="RIGHT")
    made = [helper.make_tensor_value_info("a", TensorProto.INT32, None)]
    function = helper.make_function("own", "Shift", ["a", "b"], ["made"], [node], [helper.make_opsetid("", 18)],
                                    value_info=made)
    model = _shift()
    model.functions.append(function)
    content = mended_content(model.SerializeToString())
    assert content is not None
    assert onnx.load_model_from_string(content).functions[0].node[0].domain == DOMAIN


def test_what_a_converter_refuses_names_the_property() -> None:
    node = helper.make_node("Det", ["x"], ["y"])
    graph = helper.make_graph([node], "det", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "n"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    with pytest.raises(ClinferError, match="has to be known") as caught:
        clinfer.Core().read_model(model.SerializeToString())
    assert "mend_onnx" in str(caught.value)


@pytest.mark.parametrize(("dividend", "divisor", "is_marked"), [
    ("size", "two", False), ("x", "two", True), ("moved", "moved", True), ("cast", "moved", True),
    ("endless", "endless", False), ("real", "real", False)])
def test_whole_numbers_are_divided_otherwise_unless_they_are_sizes(dividend: str, divisor: str,
                                                                   is_marked: bool) -> None:
    nodes = [helper.make_node("Shape", ["x"], ["shape"]), helper.make_node("Gather", ["shape", "two"], ["size"]),
             helper.make_node("Neg", ["x"], ["below"]), helper.make_node("Unsqueeze", ["below", "two"], ["moved"]),
             helper.make_node("Cast", ["unknown"], ["cast"], to=TensorProto.INT32),
             helper.make_node("Cast", ["x"], ["real"], to=TensorProto.FLOAT),
             helper.make_node("Identity", ["endless"], ["endless"]),
             helper.make_node("Div", [dividend, divisor], ["y"])]
    graph = helper.make_graph(nodes, "div", [helper.make_tensor_value_info("x", TensorProto.INT64, ["n"])],
                              [onnx.ValueInfoProto(name="y")], [numpy_helper.from_array(np.array(2), "two")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    assert (mended_content(model.SerializeToString()) is not None) == is_marked


def test_names_that_are_made_up_are_made_once() -> None:
    """Of two layers and two loops that read the same, without their last and without their first results."""
    body = helper.make_graph([helper.make_node("Add", ["sum", "factor"], ["next"]),
                              helper.make_node("Mul", ["slice", "factor"], ["product"])], "body",
                             [onnx.ValueInfoProto(name=name) for name in ("sum", "slice")],
                             [onnx.ValueInfoProto(name=name) for name in ("next", "product")])
    nodes = [helper.make_node(*each, **attributes) for number in (1, 2) for each, attributes in (
        (("GRU", ["x", "w", "r"], [f"all{number}", ""]), {"hidden_size": 3, "layout": 1}),
        (("Scan", ["begin", "x"], ["", f"products{number}"]), {"body": body, "num_scan_inputs": 1}))]
    graph = helper.make_graph(nodes, "names", [
        onnx.ValueInfoProto(name=name) for name in ("x", "w", "r", "begin", "factor")], [])
    content = mended_content(helper.make_model(graph).SerializeToString())
    assert content is not None
    made = [name for node in onnx.load_model_from_string(content).graph.node for name in node.output if name]
    assert len(made) == len(set(made)) == 10


@pytest.mark.parametrize(("version", "attributes"), [
    (8, {"num_scan_inputs": 1}), (18, {}), (18, {"num_scan_inputs": 1.0})])
def test_scans_that_are_not_known_stay(version: int, attributes: dict[str, Any]) -> None:
    body = helper.make_graph([helper.make_node("Mul", ["slice", "factor"], ["product"])], "body",
                             [onnx.ValueInfoProto(name="slice")], [onnx.ValueInfoProto(name="product")])
    graph = helper.make_graph([helper.make_node("Scan", ["x"], ["y"], body=body, **attributes)], "scan",
                              [onnx.ValueInfoProto(name=name) for name in ("x", "factor")],
                              [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    assert mended_content(model.SerializeToString()) is None
