"""A client that reads an ONNX file, directly and through convert_model, and reshapes it."""
from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import openvino
from onnx import TensorProto, helper, numpy_helper
from openvino import Core

random = np.random.default_rng(int(sys.argv[1]))

weights = random.standard_normal((3, 7), dtype=np.float32)
graph = helper.make_graph(
    [helper.make_node("Gemm", ["x", "w"], ["h"]), helper.make_node("Sigmoid", ["h"], ["y"]),
     helper.make_node("ReduceMax", ["y"], ["best"], axes=[1], keepdims=0)],
    "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 7]),
     helper.make_tensor_value_info("best", TensorProto.FLOAT, ["batch"])],
    [numpy_helper.from_array(weights, "w")])
made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)

core = Core()
F32 = {"INFERENCE_PRECISION_HINT": "f32"}
RESULTS: dict[str, object] = {}
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "small.onnx"
    onnx.save(made, str(path))
    models = {"read": core.read_model(str(path)), "from bytes": core.read_model(made.SerializeToString()),
              "converted": openvino.convert_model(path)}
    compiled = {name: core.compile_model(model, "CPU", F32) for name, model in models.items()}
    compiled["from the path"] = core.compile_model(path, "CPU", {**F32, "PERFORMANCE_HINT": "LATENCY"})
    fixed = core.read_model(path)
    fixed.reshape([4, 3])
    openvino.save_model(fixed, Path(folder) / "fixed.xml", compress_to_fp16=False)
    compiled["fixed, as IR"] = core.compile_model(Path(folder) / "fixed.xml", "CPU", F32)
for name, model in compiled.items():
    x = random.standard_normal((4, 3), dtype=np.float32)
    results = model({"x": x})
    RESULTS[f"{name} names"] = [[port.any_name, str(port.partial_shape)] for port in [*model.inputs, *model.outputs]]
    RESULTS[f"{name} y"], RESULTS[f"{name} best"] = results["y"], results["best"]
