"""A client that looks for devices and asks what they can do before it compiles."""
from __future__ import annotations

import numpy as np
import openvino as ov
import openvino.properties as props
from openvino import opset13 as ops

core = ov.Core()
RESULTS: dict[str, object] = {"there is a CPU": "CPU" in core.available_devices}
device = "CPU" if "CPU" in core.available_devices else "AUTO"
supported = core.get_property(device, props.supported_properties)
asked = (props.device.full_name, props.device.type, props.device.architecture, props.device.capabilities,
         props.range_for_streams, props.range_for_async_infer_requests, props.available_devices, props.streams.num,
         props.hint.performance_mode, props.hint.execution_mode, props.hint.inference_precision,
         props.hint.num_requests, props.enable_profiling, props.inference_num_threads, props.execution_devices,
         props.hint.enable_cpu_pinning, props.hint.scheduling_core_type, props.log.level, props.supported_properties)
RESULTS["supported"] = [name in supported for name in asked]
RESULTS["types"] = {str(name): type(core.get_property(device, name)).__name__ for name in asked}
RESULTS["FP32"] = props.device.Capability.FP32 in core.get_property(device, props.device.capabilities())
core.set_property({props.cache_dir: ""})
core.set_property(device, {
    props.hint.performance_mode: props.hint.PerformanceMode.THROUGHPUT, props.inference_num_threads: 1,
    props.hint.execution_mode: props.hint.ExecutionMode.ACCURACY, props.hint.num_requests: "3",
    props.hint.enable_cpu_pinning: True, props.hint.scheduling_core_type: "ANY_CORE", props.log.level: "LOG_NONE",
    "PERF_COUNT": "NO"})
RESULTS["set"] = {str(name): str(core.get_property(device, name)) for name in (
    props.hint.performance_mode, props.hint.execution_mode, props.hint.num_requests, props.inference_num_threads,
    props.hint.enable_cpu_pinning, props.hint.scheduling_core_type, props.log.level, props.enable_profiling)}

data = ops.parameter([2], ov.Type.f32)
model = ov.Model([ops.exp(data)], [data], "exponentials")
for name in (device, f"AUTO:{device}"):
    compiled = core.compile_model(model, name)
    RESULTS[f"on {name}"] = compiled(np.float32([0, 1]))[0]
    RESULTS[f"runs {name}"] = [found.split(".")[0] for found in compiled.get_property(props.execution_devices)]
known = compiled.get_property(props.supported_properties)
RESULTS["of a compiled model"] = [name in known for name in (
    props.model_name, props.optimal_number_of_infer_requests, props.execution_devices, props.hint.performance_mode)]
errors = []
for use in (lambda: core.compile_model(model, "NPU"), lambda: core.get_property(device, "NOTHING"),
            lambda: core.set_property(device, {"NOTHING": 1}), lambda: compiled.get_property("NOTHING"),
            lambda: core.set_property(device, {"PERF_COUNT": 3.5}), lambda: core.read_model("nowhere.xml"),
            lambda: core.set_property(device, {props.hint.num_requests: -1})):
    try:
        use()
        errors.append("accepted")
    except RuntimeError:
        errors.append("refused")
RESULTS["wrong uses"] = errors
