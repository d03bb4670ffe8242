"""A client that keeps several inferences in flight, with callbacks and user data."""
from __future__ import annotations

import sys

import numpy as np
import openvino as ov
from openvino import opset13 as ops

random = np.random.default_rng(int(sys.argv[1]))

data = ops.parameter([-1, 3, -1], ov.Type.f32, name="data")
total = ops.reduce_sum(ops.relu(data), np.array([2]), keep_dims=False)
total.output(0).set_names({"total"})
model = ov.Model([total], [data], "totals")

core = ov.Core()
compiled = core.compile_model(model, "CPU", {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_PRECISION_HINT": "f32"})
RESULTS: dict[str, object] = {}


def keep(request: ov.InferRequest, userdata: tuple[str, int]) -> None:
    """What a client's callback does."""
    label, number = userdata
    RESULTS[f"{label} {number}"] = request.get_output_tensor().data.copy()
    RESULTS[f"{label} {number} by name"] = request.get_tensor("total").data.copy()
    RESULTS[f"{label} {number} shape of the input"] = list(request.get_input_tensor().shape)


queue = ov.AsyncInferQueue(compiled, 3)
queue.set_callback(keep)
for number in range(9):
    batch = random.standard_normal((1 + number % 3, 3, 5 + number), dtype=np.float32)
    queue.start_async({"data": batch}, userdata=("queue", number))
queue.wait_all()
RESULTS["length"] = len(queue)
RESULTS["user data"] = [label for label, _ in queue.userdata]
RESULTS["ready"] = queue.is_ready()
RESULTS["a request is idle"] = 0 <= queue.get_idle_request_id() < 3
RESULTS["latencies are known"] = [request.latency > 0 for request in queue]
RESULTS["requests"] = [list(queue[i].get_output_tensor(0).shape)[1:] for i in range(len(queue))]
RESULTS["default length"] = len(ov.AsyncInferQueue(compiled)) > 0

done: list[object] = []
requests = [compiled.create_infer_request() for _ in range(2)]
for request in requests:
    request.set_callback(done.append, "finished")
for step in range(3):
    batches = [random.standard_normal((2, 3, 4 + step), dtype=np.float32) for _ in requests]
    for request, batch in zip(requests, batches, strict=True):
        request.start_async({0: batch}, share_inputs=True)
    for index, request in enumerate(requests):
        request.wait()
        RESULTS[f"request {index} step {step}"] = request.get_output_tensor(0).data.copy()
RESULTS["finished in time"] = requests[0].wait_for(1000)
RESULTS["callbacks"] = done
RESULTS["user data of a request"] = requests[0].userdata
