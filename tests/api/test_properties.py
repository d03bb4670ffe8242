"""Properties through Core and CompiledModel: OpenVINO's names, types and callables, and what they change."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from openvino._pyopenvino import properties as openvino_properties

import clinfer
from clinfer.api import core as core_module
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.config import CompileConfig
from clinfer.api.core import Core
from clinfer.api.infer_request import InferRequest
from clinfer.api.without_effect import WITHOUT_EFFECT
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.kernels import kernel_cache
from clinfer.runtime import builder, device_ids
from clinfer.runtime.device import DeviceInfo, available_devices
from tests.api.models import IN_F16, assert_softmax, softmax_model

props, hint = ov.properties, ov.properties.hint


@pytest.mark.parametrize(("key", "kind"), [
    (props.device.full_name, str), (props.device.architecture, str), (props.device.id, str),
    (props.device.type, props.device.Type), (props.device.capabilities(), list), ("EXECUTION_DEVICES", list),
    (props.range_for_streams, tuple), (props.range_for_async_infer_requests(), tuple), (props.streams.num(), int),
    (hint.performance_mode, hint.PerformanceMode), (hint.execution_mode, hint.ExecutionMode),
    (hint.inference_precision, ov.Type), (hint.num_requests, int), (hint.model_priority, hint.Priority),
    (hint.scheduling_core_type, hint.SchedulingCoreType), (hint.enable_cpu_pinning, bool),
    (props.enable_profiling, bool), (props.enable_mmap, bool), (props.cache_dir, str),
    (props.log.level, props.log.Level),
    (props.intel_gpu.device_total_mem_size, int), (props.intel_gpu.memory_statistics, dict),
    ("native_memory_types", dict), (props.compilation_num_threads, int),
])
def test_types_are_openvino_s(core: Core, device: DeviceInfo, key: str, kind: type) -> None:
    assert isinstance(core.get_property(device.name, key), kind)
    assert str(key) in core.get_property(device.name, props.supported_properties)


def test_what_a_device_tells(core: Core, device: DeviceInfo) -> None:
    assert core.get_property(device.name, "DEVICE_ID") == device.name.partition(".")[2]
    assert device.full_name in core.get_property(device.name, "DEVICE_ARCHITECTURE")
    first, last = core.get_property(device.name, "RANGE_FOR_STREAMS")
    assert (first, last) == (1, 64)
    total = core.get_property(device.name, "GPU_DEVICE_TOTAL_MEM_SIZE")
    assert total >= core.get_property(device.name, "GPU_DEVICE_MAX_ALLOC_MEM_SIZE") > 1 << 20
    assert core.get_property(device.name, "GPU_EXECUTION_UNITS_COUNT") >= 1


def test_memory_statistics_follow_what_is_held(device: DeviceInfo, rng: np.random.Generator) -> None:
    core, key = Core(), props.intel_gpu.memory_statistics
    assert core.get_property(device.name, key) == {}
    compiled = core.compile_model(softmax_model({"x": [64, 32]}), device.name)
    before = core.get_property(device.name, key())
    compiled(rng.standard_normal((64, 32), np.float32))
    during = core.get_property(device.name, "GPU_MEMORY_STATISTICS")
    assert during["cl_mem"] - before.get("cl_mem", 0) >= 2 * 64 * 32
    assert sum(during.values()) == core.engine(device.name).ledger.current
    assert Core().get_property(device.name, key) == {}


def test_uuid_is_there_where_the_driver_tells_it(core: Core, device: DeviceInfo,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    told = "cl_khr_device_uuid" in device.cl_device.extensions
    assert ("DEVICE_UUID" in core.get_property(device.name, "SUPPORTED_PROPERTIES")) == told
    if told:
        assert len(bytes.fromhex(core.get_property(device.name, "DEVICE_UUID"))) == 16
    raw = bytes(range(16))
    monkeypatch.setattr(device_ids, "_info", lambda _, key, size: raw[:size] if key != device_ids._LUID_IS_VALID
                        else b"\1\0\0\0")
    assert core.get_property(device.name, "DEVICE_UUID") == raw.hex()
    assert core.get_property(device.name, "DEVICE_LUID") == raw[:8].hex()


@pytest.mark.parametrize(("name", "given", "kept"), [
    (hint.performance_mode, "THROUGHPUT", hint.PerformanceMode.THROUGHPUT),
    (hint.execution_mode, "ACCURACY", hint.ExecutionMode.ACCURACY),
    (hint.execution_mode, hint.ExecutionMode.PERFORMANCE, hint.ExecutionMode.PERFORMANCE),
    (hint.inference_precision, "FP16", ov.Type.f16),
    (hint.inference_precision, "f32", ov.Type.f32),
    (hint.inference_precision, "undefined", ov.Type.dynamic),
    (hint.num_requests, "3", 3),
    (hint.num_requests, 0, 0),
    (hint.model_priority, "HIGH", hint.Priority.HIGH),
    (hint.scheduling_core_type, "PCORE_ONLY", hint.SchedulingCoreType.PCORE_ONLY),
    (hint.enable_cpu_pinning, "YES", True),
    (hint.enable_hyper_threading, False, False),
    (hint.allow_auto_batching, "NO", False),
    (props.inference_num_threads, "2", 2),
    (props.compilation_num_threads, 2, 2),
    (props.enable_profiling, "yes", True),
    (props.enable_mmap, "NO", False),
    (props.log.level, "LOG_WARNING", props.log.Level.WARNING),
    (props.log.level, props.log.Level.TRACE, props.log.Level.TRACE),
    (props.streams.num, "NUMA", 1),
])
def test_values_are_read_and_handed_back(device: DeviceInfo, name: Any, given: Any, kept: Any) -> None:
    forms: list[Callable[[Core], Any]] = [
        lambda core: core.set_property(device.name, {name: given}),
        lambda core: core.set_property(device.name, {name(): given}),
        lambda core: core.set_property(device.name, (name(), given)),
        lambda core: core.set_property({str(name): given}),
    ]
    for form in forms:
        core = Core()
        form(core)
        assert core.get_property(device.name, name) == kept
        assert core.get_property(device.name, name()) == kept


@pytest.mark.parametrize(("name", "value", "words"), [
    ("EXECUTION_MODE_HINT", "accuracy", ["'accuracy'", "PERFORMANCE, ACCURACY"]),
    ("PERFORMANCE_HINT_NUM_REQUESTS", -1, ["-1", "whole number"]),
    ("PERFORMANCE_HINT_NUM_REQUESTS", True, ["whole number"]),
    ("COMPILATION_NUM_THREADS", "all", ["'all'", "whole number"]),
    ("SPECIALIZE_AFTER", -1, ["-1", "whole number"]),
    ("PERF_COUNT", 1.5, ["1.5", "True or False"]),
    ("ENABLE_MMAP", "maybe", ["'maybe'", "True or False"]),
    ("MODEL_PRIORITY", "URGENT", ["'URGENT'", "LOW, MEDIUM, HIGH"]),
    ("LOG_LEVEL", 3, ["3", "WARNING"]),
    ("build_progress", "yes", ["'yes'", "function of two numbers"]),
    ("INFERENCE_PRECISION_HINT", "f8", ["'f8'", "f32, f16, bf16"]),
    ("FULL_DEVICE_NAME", "mine", ["no property FULL_DEVICE_NAME", "INFERENCE_PRECISION_HINT"]),
    ("AFFINITY", "CORE", ["no property AFFINITY"]),
])
def test_wrong_values_say_what_is_allowed(core: Core, device: DeviceInfo, name: str, value: Any,
                                          words: list[str]) -> None:
    model = softmax_model({"x": [2, 5]})
    for use in (lambda: core.set_property(device.name, {name: value}), lambda: core.set_property({name: value}),
                lambda: core.compile_model(model, device.name, {name: value})):
        with pytest.raises(ClinferError) as caught:
            use()
        for word in [name, *words]:
            assert word in str(caught.value)


def test_accuracy_means_f32(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_module, "natural_precision", lambda engine: "f16")
    core, model = Core(), softmax_model({"x": [2, 5]})
    for settings, precision in (({}, ov.Type.f16), ({hint.execution_mode: "ACCURACY"}, ov.Type.f32),
                                ({hint.execution_mode: "ACCURACY", hint.inference_precision: "f16"}, ov.Type.f16)):
        compiled = core.compile_model(model, device.name, settings)
        assert compiled.get_property(hint.inference_precision) == precision


@pytest.mark.parametrize(("settings", "streams"), [
    ({}, 1), ({"PERFORMANCE_HINT": "THROUGHPUT"}, 2),
    ({"PERFORMANCE_HINT": "THROUGHPUT", "PERFORMANCE_HINT_NUM_REQUESTS": 1}, 1),
    ({"PERFORMANCE_HINT": "THROUGHPUT", "PERFORMANCE_HINT_NUM_REQUESTS": 8}, 2),
    ({"PERFORMANCE_HINT_NUM_REQUESTS": 8}, 1), ({"NUM_STREAMS": 3, "PERFORMANCE_HINT_NUM_REQUESTS": 1}, 3),
])
def test_number_of_streams(settings: dict[str, Any], streams: int) -> None:
    assert CompileConfig().updated(settings).num_streams == streams


def test_number_of_build_threads_reaches_the_builds(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch,
                                                    tmp_path: Path) -> None:
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))
    workers = []

    def build(*arguments: Any, **named: Any) -> Any:
        workers.append(named["workers"])
        return builder.build_in_processes(*arguments, **named)

    monkeypatch.setattr(kernel_cache, "build_in_processes", build)
    x = np.random.default_rng(1).random((2, 5), dtype=np.float32)
    compiled = Core().compile_model(softmax_model({"x": [2, 5]}), device.name, {"COMPILATION_NUM_THREADS": 1})
    assert_softmax(compiled(x)[0], x, IN_F16)
    assert set(workers) == {1}


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not list mapped files")
@pytest.mark.parametrize("mapped", [True, False])
def test_weights_are_mapped_or_read(tmp_path: Path, mapped: bool) -> None:
    data = ov.op.Parameter(ov.Type.f32, ov.PartialShape([1, 64]))
    product = ov.opset13.matmul(data, ov.op.Constant(np.ones((64, 640), np.float32)), False, False)
    clinfer.save_model(ov.Model([product], [data], "m"), tmp_path / "m.xml")
    core = Core()
    core.set_property({props.enable_mmap: mapped})
    model = core.read_model(tmp_path / "m.xml")
    assert (str(tmp_path / "m.bin") in Path("/proc/self/maps").read_text()) == mapped
    assert model.get_parameters()


def test_a_type_of_device_means_all_of_it(device: DeviceInfo) -> None:
    core = Core()
    core.set_property(device.type, {"NUM_STREAMS": 7})
    for other in available_devices():
        assert core.get_property(other.name, "NUM_STREAMS") == (7 if other.type == device.type else 1)
    assert core.get_property(device.type, "NUM_STREAMS") == 7
    assert device.type in core.available_devices and "NPU" not in core.available_devices


def test_settings_for_several_devices(core: Core, device: DeviceInfo) -> None:
    model = softmax_model({"x": [2, 5]})
    for settings in ({"DEVICE_PROPERTIES": {device.name: {"NUM_STREAMS": 3}, "NPU": {"NUM_STREAMS": 4}}},
                     dict([props.device.properties({device.name: {props.streams.num(): 3}})]),
                     {"DEVICE_PROPERTIES": {device.type: {"NUM_STREAMS": "3"}}},
                     {"NUM_STREAMS": f"{{NPU:4,{device.name}:3}}"}):
        assert core.compile_model(model, device.name, settings).get_property("NUM_STREAMS") == 3
    with pytest.raises(ClinferError, match="dictionary of dictionaries"):
        core.compile_model(model, device.name, {"DEVICE_PROPERTIES": 3})
    with pytest.raises(ClinferError, match="no property SPEED"):
        core.compile_model(model, device.name, {"DEVICE_PROPERTIES": {device.name: {"SPEED": 3}}})


def test_lists_of_devices(core: Core, device: DeviceInfo) -> None:
    names = list(core.available_devices)

    def chosen(name: str) -> str:
        return str(core.get_property(name, "EXECUTION_DEVICES")[0])

    assert chosen("AUTO") == names[0]
    assert chosen(f"AUTO:{device.name}") == device.name
    assert chosen(f"AUTO:NPU,{device.name}") == device.name
    assert chosen(f"AUTO:{device.type}") == next(n for n in names if n.startswith(device.type))
    assert chosen(f"AUTO:{', '.join(reversed(names))}") == names[-1]
    assert chosen(f"AUTO:-{names[0]}" if len(names) > 1 else "AUTO") == names[min(1, len(names) - 1)]
    for name in ("AUTO:NPU", f"AUTO:{','.join('-' + n for n in names)}"):
        with pytest.raises(ClinferError, match=r"no device for AUTO"):
            chosen(name)


@pytest.mark.parametrize("kind", ["MULTI", "HETERO", "BATCH"])
def test_several_devices_at_once_are_refused(core: Core, device: DeviceInfo, kind: str) -> None:
    for name in (kind, f"{kind}:{device.name}"):
        with pytest.raises(ClinferError, match=f"{kind} devices do not exist here(.|\n)*try: compile the model once"):
            core.compile_model(softmax_model({"x": [2, 5]}), name)


def test_a_compiled_model_is_fixed(one: CompiledModel) -> None:
    with pytest.raises(ClinferError, match=r"cannot be changed(.|\n)*NUM_STREAMS(.|\n)*compile_model"):
        one.set_property({props.streams.num: 2})
    assert set(one.get_property(props.supported_properties).values()) == {"RO"}
    assert one.get_property(props.model_name) == "softmaxes"


def test_models_and_requests_are_handles(one: CompiledModel, x: np.ndarray) -> None:
    request = InferRequest(one)
    assert CompiledModel(one) is one
    assert InferRequest(request) is request
    assert_softmax(CompiledModel(one)(x)[0], x)


def _section_of_properties() -> str:
    page = (Path(__file__).resolve().parents[2] / "docs" / "coming_from_openvino.md").read_text(encoding="utf-8")
    return page.split("## Properties")[1].split("\n## ")[0]


def test_every_property_is_documented(core: Core, one: CompiledModel, device: DeviceInfo) -> None:
    page = _section_of_properties()
    taken = page.split("| not taken")[0] + page.split("Asking for one, or setting it")[1]
    rows = [line.split("|")[1] for line in taken.splitlines() if line.startswith("| `")]
    documented = {name for row in rows for name in re.findall(r"`([A-Za-z_]+)`", row)}
    existing = {*core.get_property(device.name, "SUPPORTED_PROPERTIES"), *one.get_property("SUPPORTED_PROPERTIES")}
    assert existing <= documented
    assert documented - existing <= {"DEVICE_UUID", "DEVICE_LUID"}
    without_effect = page.split("| accepted without effect")[1].split("They are checked")[0]
    assert set(re.findall(r"`([A-Z_]+)`", without_effect)) - {"CLINFER_DEBUG"} == set(WITHOUT_EFFECT)


def _properties_of_openvino(module: ModuleType) -> Iterator[Any]:
    """Every property that `openvino.properties` has, in the modules below it too."""
    for name, value in vars(module).items():
        if isinstance(value, ModuleType):
            yield from _properties_of_openvino(value)
        elif isinstance(value, BuiltinFunctionType) and not name.startswith("_"):
            yield value


def _name_of(prop: Any) -> str:
    try:
        return str(prop())
    except TypeError:
        # The one that has no form without a value.
        return str(prop.__name__.upper())


def test_every_property_of_openvino_is_taken_or_told(core: Core, one: CompiledModel, device: DeviceInfo) -> None:
    page = _section_of_properties()
    told = set(re.findall(r"`([A-Z_]+)`", page.split("| not taken")[1].split("Asking for one, or setting it")[0]))
    existing = {*core.get_property(device.name, "SUPPORTED_PROPERTIES"), *one.get_property("SUPPORTED_PROPERTIES")}
    names = {_name_of(prop) for prop in _properties_of_openvino(openvino_properties)}
    assert len(names) > 80
    assert {n for n in names if not n.startswith("NPU_")} - existing - told <= {
        "DEVICE_UUID", "DEVICE_LUID", "DEVICE_PROPERTIES"}
    for name in told - {"DEVICE_ID", "INFERENCE_PRECISION_HINT", "CACHE_DIR"}:
        with pytest.raises(ClinferError, match=f"no property {name}"):
            core.compile_model(softmax_model({"x": [2, 5]}), device.name, {name: "1"})
        with pytest.raises(ClinferError, match=f"no property {name}"):
            core.get_property(device.name, name)


@pytest.mark.parametrize(("settings", "name", "kept"), [
    (props.hint.kv_cache_precision(ov.Type.i8), "KV_CACHE_PRECISION", ov.Type.i8),
    ({"KEY_CACHE_PRECISION": "f16"}, "KEY_CACHE_PRECISION", ov.Type.f16),
    (props.hint.dynamic_quantization_group_size(64), "DYNAMIC_QUANTIZATION_GROUP_SIZE", 64),
    (props.intel_cpu.denormals_optimization(True), "CPU_DENORMALS_OPTIMIZATION", True),
    (props.intel_cpu.sparse_weights_decompression_rate(0.5), "CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE", 0.5),
    (props.hint.model_distribution_policy({props.hint.ModelDistributionPolicy.TENSOR_PARALLEL}),
     "MODEL_DISTRIBUTION_POLICY", {props.hint.ModelDistributionPolicy.TENSOR_PARALLEL}),
    ({"GPU_QUEUE_THROTTLE": props.hint.Priority.LOW}, "GPU_QUEUE_THROTTLE", props.hint.Priority.LOW),
    (props.workload_type(props.WorkloadType.EFFICIENT), "WORKLOAD_TYPE", props.WorkloadType.EFFICIENT),
])
def test_what_has_no_effect_is_said_in_one_line(device: DeviceInfo, capfd: pytest.CaptureFixture[str],
                                                monkeypatch: pytest.MonkeyPatch, settings: Any, name: str,
                                                kept: Any) -> None:
    monkeypatch.setenv("CLINFER_DEBUG", "1")
    core = Core()
    core.set_property(device.name, settings)
    assert core.get_property(device.name, name) == kept
    told = [line for line in "".join(capfd.readouterr()).splitlines() if name in line]
    assert len(told) == 1 and "no effect" in told[0]


@pytest.mark.parametrize(("name", "value"), [
    ("KV_CACHE_PRECISION", "nix"), ("KV_CACHE_PRECISION", 3), ("CPU_DENORMALS_OPTIMIZATION", "maybe"),
    ("CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE", -1), ("MODEL_DISTRIBUTION_POLICY", {"ALL"}), ("WEIGHTS_PATH", 5),
])
def test_what_has_no_effect_is_checked_all_the_same(name: str, value: Any) -> None:
    with pytest.raises(ClinferError, match=f"{name} cannot have this value"):
        CompileConfig().updated({name: value})


def test_a_device_s_number_may_be_told_but_chooses_none(core: Core, device: DeviceInfo) -> None:
    model, number = softmax_model({"x": [2, 5]}), device.name.partition(".")[2]
    for given in (number, int(number), ""):
        assert core.compile_model(model, device.name, {props.device.id: given}).engine.device.name == device.name
    with pytest.raises(ClinferError, match=r"chosen by its name(.|\n)*\.9"):
        core.compile_model(model, device.name, {props.device.id: "9"})


def test_a_device_tells_how_many_requests_are_best(device: DeviceInfo) -> None:
    core = Core()
    core.set_property(device.name, {"NUM_STREAMS": 3})
    assert core.get_property(device.name, props.optimal_number_of_infer_requests) == 3
