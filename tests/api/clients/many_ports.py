"""A client of a model with several inputs and outputs of several types, which works with tensors."""
from __future__ import annotations

import sys

import numpy as np
import openvino as ov
from openvino import opset13 as ops

random = np.random.default_rng(int(sys.argv[1]))

left = ops.parameter([-1, 4], ov.Type(np.float32), name="left")
right = ops.parameter([-1, 4], np.float32, name="right")
ids = ops.parameter(ov.PartialShape("[2..5]"), np.int64, name="ids")
total = ops.add(left, right)
total.output(0).set_names({"total", "sum"})
picked = ops.gather(total, ids, np.int64(0))
picked.output(0).set_names({"picked"})
doubled = ops.convert(ops.multiply(ids, np.int64(2)), destination_type="i32")
doubled.output(0).set_names({"doubled"})
model = ov.Model([total, picked, doubled], [left, right, ids], "ports")
model.reshape({"left": [6, 4], "right": ov.PartialShape([-1, 4])})

compiled = ov.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": ov.Type.f32})
request = compiled.create_infer_request()


def fresh() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """New inputs."""
    return (random.standard_normal((6, 4), dtype=np.float32), random.standard_normal((6, 4), dtype=np.float32),
            random.integers(0, 6, 3))


RESULTS: dict[str, object] = {
    "inputs": [(port.any_name, str(port.partial_shape), str(port.element_type)) for port in compiled.inputs],
    "outputs": [(sorted(port.get_names()), str(port.partial_shape), str(port.element_type))
                for port in compiled.outputs],
    "names of the model's ports": [port.get_any_name() for port in request.model_inputs],
}

a, b, c = fresh()
answers = request.infer({"left": a, 1: b, compiled.input("ids"): c})
RESULTS["mixed keys"] = [answers["sum"], answers["total"], answers[1], answers[compiled.output(2)]]
RESULTS["to_tuple"] = list(answers.to_tuple())
RESULTS["types"] = [str(array.dtype) for array in answers.values()]

a, b, c = fresh()
total_array, picked_array, doubled_array = compiled((a, b, c)).values()
RESULTS["unpacked"] = [total_array, picked_array, doubled_array]

a, b, c = fresh()
request.set_tensor("left", ov.Tensor(a, shared_memory=True))
request.set_input_tensor(1, ov.Tensor(b))
request.set_tensors({compiled.input(2): ov.Tensor(c)})
request.infer()
RESULTS["tensors"] = [tensor.data.copy() for tensor in request.output_tensors]
a += 1
request.infer()
RESULTS["shared memory was changed"] = request.get_tensor("total").data.copy()

a, b, c = fresh()
request.set_input_tensors({0: ov.Tensor(a), 1: ov.Tensor(b), 2: ov.Tensor(c)})
own = ov.Tensor(ov.Type.f32, ov.Shape([6, 4]))
request.set_output_tensor(0, own)
request.start_async()
request.wait()
RESULTS["the client's own output"] = own.data.copy()

a, b, c = fresh()
request.get_input_tensor(0).data[:] = a
request.get_tensor("right").data[...] = b
request.get_tensor(compiled.input("ids")).shape = [4]
request.get_tensor("ids").data[:] = [5, 4, 3, 0]
request.infer()
RESULTS["inputs filled in place"] = [request.get_output_tensor(i).data.copy() for i in range(3)]

a, b, c = fresh()
held = request.infer([a, b, c], share_inputs=True, share_outputs=True)
RESULTS["shared outputs"] = [array.copy() for array in held.values()]
RESULTS["a missing name"] = "nothing" in [port.any_name for port in compiled.outputs]
errors = []
for wrong in ({"nothing": a}, {"left": a[:, :2]}, {"ids": np.zeros(9, np.int64)}, [a, b, c, a]):
    try:
        request.infer(wrong)
        errors.append("accepted")
    except (RuntimeError, ValueError, KeyError, TypeError):
        errors.append("refused")
RESULTS["wrong inputs"] = errors
a, b, c = fresh()
RESULTS["usable afterwards"] = request.infer((a, b, c))[0]
