"""What clinfer leans on in OpenVINO."""
from __future__ import annotations

import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from clinfer.frontend.openvino_import import openvino as ov
from tests.canary.belief import Beliefs
from tests.frontend.models import if_model

op = ov.opset13
BELIEFS = Beliefs("openvino")


def parameter(*shape: int, kind: type = np.float32) -> ov.Node:
    return op.parameter(list(shape), kind)


def apply_moc(model: ov.Model) -> list[ov.Node]:
    """The nodes of a model after the common transformations, in place."""
    from openvino._offline_transformations import apply_moc_transformations
    apply_moc_transformations(model, False)
    return list(model.get_ordered_ops())


def named(nodes: list[ov.Node], kind: str) -> ov.Node:
    """The only node of a type."""
    (found,) = [node for node in nodes if node.get_type_name() == kind]
    return found


@BELIEFS.that("openvino._offline_transformations.apply_moc_transformations(model, False) fuses in place",
              "clinfer/frontend/transformations.py", private=("openvino._offline_transformations",))
def _moc_fuses() -> None:
    x = parameter(2, 3)
    kinds = {node.get_type_name() for node in apply_moc(ov.Model([op.multiply(x, op.sigmoid(x))], [x]))}
    assert "Swish" in kinds and "Sigmoid" not in kinds, kinds


def _kinds_behind_f16_weights(is_kept: bool) -> set[str]:
    x = parameter(-1, 64)
    weights = op.convert(op.constant(np.ones((64, 64), np.float16)), "f32")
    if is_kept:
        weights.get_rt_info()["DisableConstantFolding_0"] = True
    nodes = apply_moc(ov.Model([op.matmul(x, weights, False, False)], [x]))
    return {node.get_type_name() for node in nodes}


@BELIEFS.that("the key DisableConstantFolding_0 in a Convert's rt_info keeps MOC from folding f16 weights to f32, "
              "which it does otherwise", "clinfer/frontend/transformations.py")
def _converts_can_be_kept() -> None:
    assert "Convert" in _kinds_behind_f16_weights(is_kept=True), "the key has no effect"
    assert "Convert" not in _kinds_behind_f16_weights(is_kept=False), "MOC folds no more: the key is not needed"


@BELIEFS.that("a node that MOC made lists the layers that it replaced, with commas, under fused_names_0 in its rt_info",
              "clinfer/frontend/layers.py")
def _fused_names() -> None:
    x = parameter(2, 3)
    gate = op.sigmoid(x)
    product = op.multiply(x, gate)
    gate.set_friendly_name("gate")
    product.set_friendly_name("product")
    swish = named(apply_moc(ov.Model([product], [x])), "Swish")
    assert set(swish.get_rt_info()["fused_names_0"].astype(str).split(",")) == {"gate", "product"}


@BELIEFS.that("PrePostProcessor's memory type is under memory_type_0 in the rt_info of the Parameter's output, and in "
              "a stored model an attribute element named memory_type with a value", "clinfer/frontend/memory_types.py")
def _memory_type() -> None:
    x = parameter(1, 4, 4, 1, kind=np.uint8)
    steps = ov.preprocess.PrePostProcessor(ov.Model([op.convert(x, "f32")], [x]))
    steps.input().tensor().set_memory_type("GPU_SURFACE")
    model = steps.build()
    assert "memory_type_0" in model.get_parameters()[0].output(0).get_rt_info()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        ov.serialize(model, str(path))
        found = ElementTree.parse(path).find(".//attribute[@name='memory_type']")
    assert found is not None and found.get("value") == "GPU_SURFACE"


@BELIEFS.that("get_attributes spells names and values as the converters of the operations expect (exclude-pad with a "
              "hyphen, auto_pad in small letters, modes of MVN in capitals)", "clinfer/ops/",
              "clinfer/frontend/reader.py", "clinfer/frontend/shape_inference.py")
def _attribute_spellings() -> None:
    x = parameter(1, 2, 8, 8)
    axes = op.constant(np.array([2, 3]))
    weights = op.constant(np.ones((4, 2, 3, 3), np.float32))
    nodes = {
        op.avg_pool(x, [2, 2], [0, 0], [0, 0], [2, 2], True): {
            "auto_pad": "explicit", "exclude-pad": True, "kernel": [2, 2], "pads_begin": [0, 0], "pads_end": [0, 0],
            "rounding_type": "floor", "strides": [2, 2]},
        op.convolution(x, weights, [1, 1], [0, 0], [0, 0], [1, 1], "same_upper"): {
            "auto_pad": "same_upper", "dilations": [1, 1], "strides": [1, 1]},
        op.mvn(x, axes, True, 1e-6, "inside_sqrt"): {"eps_mode": "INSIDE_SQRT", "normalize_variance": True},
        op.topk(x, op.constant(np.array(1)), 1, "max", "value"): {
            "axis": 1, "index_element_type": "i32", "mode": "max", "sort": "value"},
        op.matmul(x, x, False, True): {"transpose_a": False, "transpose_b": True},
        op.reduce_mean(x, axes, True): {"keep_dims": True},
    }
    for node, expected in nodes.items():
        found = node.get_attributes()
        wrong = {name: found.get(name) for name, value in expected.items() if found.get(name) != value}
        assert not wrong, f"{node.get_type_name()} tells {wrong}, expected {expected}"


@BELIEFS.that("nodes are known by get_instance_id, which all Python wrappers of a node share, and their versions by "
              "get_type_info().version_id", "clinfer/frontend/conversions.py", "clinfer/frontend/older_operations.py")
def _identities() -> None:
    x = parameter(2, 3)
    node = op.relu(op.relu(x))
    model = ov.Model([node], [x])
    again = [each for each in model.get_ordered_ops() if each.get_type_name() == "Relu"][-1]
    assert again.get_instance_id() == node.get_instance_id() != node.input_value(0).get_node().get_instance_id()
    boxes, scores = parameter(1, 6, 4), parameter(1, 1, 6)
    assert ov.opset4.non_max_suppression(boxes, scores).get_type_info().version_id == "opset4"
    assert op.non_max_suppression(boxes, scores).get_type_info().version_id in ("opset9", "opset13")


@BELIEFS.that("get_ordered_ops lists every node behind those that it reads, constants and results included",
              "clinfer/frontend/reader.py")
def _order() -> None:
    x = parameter(2, 3)
    model = ov.Model([op.add(op.relu(x), op.constant(np.float32(1)))], [x])
    seen: set[int] = set()
    for node in model.get_ordered_ops():
        assert all(port.get_node().get_instance_id() in seen for port in node.input_values())
        seen.add(node.get_instance_id())
    assert sorted(node.get_type_name() for node in model.get_ordered_ops()) == [
        "Add", "Constant", "Parameter", "Relu", "Result"]


@BELIEFS.that("openvino.utils.node_factory.NodeFactory(opset).create(type, inputs, attributes) makes any operation",
              "clinfer/frontend/shape_inference.py", "clinfer/frontend/older_operations.py")
def _node_factory() -> None:
    from openvino.utils.node_factory import NodeFactory
    attributes = {"kernel": [2, 2], "strides": [2, 2], "pads_begin": [0, 0], "pads_end": [0, 0], "exclude-pad": False}
    made = NodeFactory("opset1").create("AvgPool", [parameter(1, 2, 8, 6).output(0)], attributes)
    assert list(made.get_output_shape(0)) == [1, 2, 4, 3]


@BELIEFS.that("an operation between a Parameter whose shape is set and a Constant whose memory is overwritten infers "
              "its shape anew when both are validated", "clinfer/frontend/shape_inference.py")
def _isolated_shape_inference() -> None:
    x = ov.op.Parameter(ov.Type.f32, ov.PartialShape([2, 3]))
    memory = np.array([3, 2])
    pattern = ov.op.Constant(ov.Tensor(memory, ov.Shape([2]), ov.Type.i64), shared_memory=True)
    node = op.reshape(x, pattern, False)
    memory[:] = (1, 6)
    node.validate_and_infer_types()
    assert list(node.get_output_shape(0)) == [1, 6]
    memory[:] = (-1, 5)
    x.set_partial_shape(ov.PartialShape([5, 4]))
    x.validate_and_infer_types()
    node.validate_and_infer_types()
    assert list(node.get_output_shape(0)) == [4, 5]


@BELIEFS.that("symbols of dimensions go through operations", "clinfer/frontend/named_shapes.py")
def _symbols() -> None:
    dimension = ov.Dimension(1, -1)
    symbol = ov.Symbol()
    dimension.set_symbol(symbol)
    x = ov.op.Parameter(ov.Type.f32, ov.PartialShape([dimension, ov.Dimension(3)]))
    shape = op.transpose(x, op.constant(np.array([1, 0]))).get_output_partial_shape(0)
    assert shape[1].has_symbol() and shape[1].get_symbol() == symbol and not shape[0].has_symbol()


@BELIEFS.that("an open dimension has a largest length below 0", "clinfer/frontend/conversions.py")
def _open_dimensions() -> None:
    dimension = ov.PartialShape([ov.Dimension(2, -1)])[0]
    assert dimension.get_min_length() == 2 and dimension.get_max_length() < 0


@BELIEFS.that("the data of a bf16 Constant are its raw 16 bits, and those of u4 bytes with the first element in the "
              "low half", "clinfer/frontend/conversions.py", "clinfer/base/element_type.py")
def _packed_constants() -> None:
    bits = np.array([0x3F80, 0xC000], np.uint16)
    bf16 = ov.op.Constant(ov.Tensor(bits, ov.Shape([2]), ov.Type.bf16), shared_memory=True)
    assert np.ascontiguousarray(bf16.data).view(np.uint16).reshape(-1).tolist() == bits.tolist()
    u4 = ov.op.Constant(ov.Tensor(np.array([0x21, 0x43], np.uint8), ov.Shape([4]), ov.Type.u4), shared_memory=True)
    assert np.ascontiguousarray(u4.data).view(np.uint8).reshape(-1).tolist() == [0x21, 0x43]
    values = op.convert(u4, "i32")
    compiled = ov.Core().compile_model(ov.Model([values], []), "CPU")
    assert compiled.create_infer_request().infer()[0].tolist() == [1, 2, 3, 4]


@BELIEFS.that("Tensor(array, shared_memory=True) is the memory of the array", "clinfer/frontend/host_tensors.py",
              "clinfer/api/input_slot.py")
def _shared_tensors() -> None:
    array = np.zeros((2, 3), np.float32)
    ov.Tensor(array, shared_memory=True).data[1, 2] = 5
    assert array[1, 2] == 5


@BELIEFS.that("bodies are told by get_function and the descriptions of inputs and outputs, by index of the body for If",
              "clinfer/frontend/bodies.py", "clinfer/frontend/conversions.py")
def _bodies() -> None:
    node = named(list(if_model(np.random.default_rng(1)).get_ordered_ops()), "If")
    for index in (0, 1):
        body = node.get_function(index)
        taken = {d.body_parameter_index: int(d.input_index) for d in node.get_input_descriptions(index)}
        assert sorted(taken) == list(range(len(body.get_parameters()))) and set(taken.values()) <= {1, 2}
        given = {int(d.output_index): d.body_value_index for d in node.get_output_descriptions(index)}
        assert sorted(given) == [0, 1] and sorted(given.values()) == [0, 1]


@BELIEFS.that("front ends can be asked by name whether they take a file, and TensorFlow's is named tf",
              "clinfer/frontend/file_kinds.py")
def _front_ends() -> None:
    manager = ov.frontend.FrontEndManager()
    assert {"ir", "onnx", "paddle", "tf", "tflite"} <= set(manager.get_available_front_ends())
    with tempfile.TemporaryDirectory() as folder:
        x = parameter(2, 3)
        ov.save_model(ov.Model([op.relu(x)], [x]), Path(folder) / "model.xml")
        (Path(folder) / "noise").write_bytes(b"no model")
        for name in ("ir", "onnx", "paddle", "tflite"):
            front_end = manager.load_by_framework(name)
            assert front_end.supported(str(Path(folder) / "model.xml")) == (name == "ir")
            assert not front_end.supported(str(Path(folder) / "noise"))


@BELIEFS.that("functions of openvino.opset<n>.ops name the types that they create in .create(\"Type\", ...)",
              "clinfer/frontend/opsets.py")
def _opset_sources() -> None:
    from clinfer.frontend.opsets import list_operations
    first = {each.name: each.opset for each in list_operations()}
    assert (first["Add"], first["Relu"], first["Einsum"], first["ScaledDotProductAttention"]) == (1, 1, 7, 13)


@BELIEFS.that("layouts of ports are read and set by layout_helpers", "clinfer/api/ports.py")
def _layouts() -> None:
    port = parameter(1, 3, 4, 4).output(0)
    ov.layout_helpers.set_layout(port, ov.Layout("NCHW"))
    assert ov.layout_helpers.get_layout(port).to_string() == "[N,C,H,W]"


@BELIEFS.that("properties are texts that are called", "clinfer/api/config.py")
def _properties() -> None:
    assert ov.properties.hint.inference_precision() == "INFERENCE_PRECISION_HINT"
    assert ov.properties.hint.inference_precision(ov.Type.f32)[0] == "INFERENCE_PRECISION_HINT"
