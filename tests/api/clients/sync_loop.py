"""A client that reads a model from a file and runs it at once, one shape after another."""
from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import openvino as ov
import openvino.properties as props
import openvino.properties.hint as hints
from openvino import opset13 as ops

random = np.random.default_rng(int(sys.argv[1]))

data = ops.parameter([-1, 6], ov.Type.f32, name="data")
product = ops.matmul(data, random.standard_normal((6, 4), dtype=np.float32), False, False)
scores = ops.softmax(ops.add(product, np.float32(0.25)), axis=1)
scores.output(0).set_names({"scores"})
model = ov.Model([scores], [data], "classifier")

core = ov.Core()
core.set_property("CPU", {hints.inference_precision: ov.Type.f32})
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.xml"
    ov.save_model(model, path, compress_to_fp16=False)
    loaded = core.read_model(path)
    compiled = core.compile_model(model=loaded, device_name="CPU", config={
        hints.performance_mode: hints.PerformanceMode.LATENCY, props.enable_mmap: False, "NUM_STREAMS": "1"})
    del loaded

RESULTS: dict[str, object] = {
    "input name": compiled.input().get_any_name(),
    "input shape": str(compiled.input(0).get_partial_shape()),
    "input type": compiled.input("data").get_element_type().get_type_name(),
    "output name": compiled.output(0).any_name,
    "ports": [str(port.partial_shape) for port in [*compiled.inputs, *compiled.outputs]],
    "precision": str(compiled.get_property(hints.inference_precision)),
    "network name": compiled.get_property(props.model_name),
    "streams": compiled.get_property(props.streams.num),
    "optimal requests": compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"),
}
request = compiled.create_infer_request()
for rows in (3, 1, 8, 3):
    batch = random.standard_normal((rows, 6), dtype=np.float32)
    results = request.infer({"data": batch})
    RESULTS[f"{rows} by index"] = results[0]
    RESULTS[f"{rows} by name"] = results["scores"]
    RESULTS[f"{rows} by port"] = results[compiled.output(0)]
    RESULTS[f"{rows} from the tensor"] = request.get_output_tensor().data.copy()
    RESULTS[f"{rows} called"] = compiled([batch])[compiled.output("scores")]
    RESULTS[f"{rows} positional"] = compiled(batch)[0]
    RESULTS[f"{rows} in a new request"] = compiled.infer_new_request({0: batch})["scores"]
    RESULTS[f"{rows} as a tuple"] = list(results.to_tuple())
    RESULTS[f"{rows} as a dictionary"] = {port.any_name: array for port, array in results.to_dict().items()}
    RESULTS[f"{rows} values"] = [len(results), *results.values(), *[port.any_name for port in results]]
    RESULTS[f"{rows} attribute"] = request.results[0]
    RESULTS[f"{rows} latency is known"] = request.latency > 0
