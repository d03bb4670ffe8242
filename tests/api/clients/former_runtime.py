"""A client written for former versions of OpenVINO, where everything lay in openvino.runtime."""
from __future__ import annotations

import sys

import numpy as np
import openvino.runtime as ov
import openvino.runtime.opset8 as ops
from openvino.runtime import AsyncInferQueue, CompiledModel, Core, InferRequest, Layout, Model, PartialShape, Type
from openvino.runtime.op import Parameter
from openvino.runtime.utils.types import get_element_type

random = np.random.default_rng(int(sys.argv[1]))

ie = Core()
picture = Parameter(get_element_type(np.float32), PartialShape([1, 3, 8, 8]))
picture.output(0).set_names({"picture"})
picture.set_layout(Layout("NCHW"))
flat = ops.reshape(picture, ops.constant([1, -1], Type.i64), False)
hidden = ops.matmul(flat, random.standard_normal((192, 5), dtype=np.float32), False, False)
model = Model([ops.softmax(hidden, 1)], [picture], "former")

compiled_model: CompiledModel = ie.compile_model(model=model, device_name="CPU", config={
    "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "2"})
input_layer, output_layer = compiled_model.input(0), compiled_model.output(0)
N, C, H, W = input_layer.shape
RESULTS: dict[str, object] = {"shape": [N, C, H, W], "kind": isinstance(compiled_model, CompiledModel),
                              "same package": ov.Core is Core}
for step in range(3):
    image = random.standard_normal((N, C, H, W), dtype=np.float32)
    RESULTS[f"result {step}"] = compiled_model([image])[output_layer]
    infer_request: InferRequest = compiled_model.create_infer_request()
    infer_request.start_async(inputs={input_layer.any_name: image})
    infer_request.wait()
    RESULTS[f"async {step}"] = infer_request.get_output_tensor(output_layer.index).data[0].copy()
    RESULTS[f"results {step}"] = next(iter(infer_request.results.values()))
pool = AsyncInferQueue(compiled_model, 2)
pool.start_async({0: image}, userdata=7)
pool.wait_all()
RESULTS["pool"] = [request.get_output_tensor().data.copy() for request in pool if request.latency > 0][:1]
