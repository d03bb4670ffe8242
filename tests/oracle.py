"""Models from case rows, random inputs for them, OpenVINO's CPU plugin as the oracle, and comparison."""
from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ops.operation import Case
from tests.answers import digest_of_model, kept_answers, key_of

_CORE = ov.Core()
_TYPES = {"boolean": ov.Type.boolean, "bf16": ov.Type.bf16}
_NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.float32, "i64": np.int64,
          "i32": np.int32, "i16": np.int16, "i8": np.int8, "u8": np.uint8, "u16": np.uint16,
          "u32": np.uint32, "u64": np.uint64, "boolean": np.bool_}
TOLERANCE = {"f64": 1e-4, "f32": 1e-4, "f16": 2e-2, "bf16": 4e-2}


def ov_type(name: str) -> ov.Type:
    return _TYPES.get(name) or getattr(ov.Type, name)


def build_model(case: Case, dynamic: bool) -> ov.Model:
    """The model of a row: one operation. Dynamic dimensions are those that the sequence changes."""
    from openvino.utils.node_factory import NodeFactory
    parameters, inputs = [], []
    moving = iter(zip(*case.sequence, strict=True)) if dynamic else None
    for entry in case.inputs:
        if entry is None:
            continue
        if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], str)):
            inputs.append(ov.op.Constant(np.asarray(entry)))
            continue
        shape = list(entry[0])
        if moving is not None:
            for other in next(moving):
                shape = [a if a == b else -1 for a, b in zip(shape, other, strict=True)]
        parameter = ov.op.Parameter(ov_type(entry[1]), ov.PartialShape(shape))
        parameter.set_friendly_name(f"in{len(parameters)}")
        parameters.append(parameter)
        inputs.append(parameter)
    node = NodeFactory(case.opset).create(case.op, [i.output(0) for i in inputs], dict(case.attributes))
    node.set_friendly_name("node")
    return ov.Model([ov.op.Result(node.output(i)) for i in range(node.get_output_size())], parameters, "case")


def parameter_specs(case: Case) -> list[tuple[tuple[int, ...], str]]:
    """(shape, type name) of each input that is not a constant."""
    return [e for e in case.inputs if isinstance(e, tuple) and len(e) == 2 and isinstance(e[1], str)]


def random_inputs(case: Case, shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> list[np.ndarray]:
    """Fresh inputs within the row's bounds."""
    arrays: list[np.ndarray] = []
    for (_, kind), shape in zip(parameter_specs(case), shapes, strict=True):
        dtype = _NUMPY[kind]
        if kind == "boolean":
            arrays.append(rng.integers(0, 2, shape).astype(np.bool_))
        elif np.issubdtype(dtype, np.floating):
            values = rng.uniform(case.low, case.high, shape)
            values = (np.round(values / case.step) * case.step if case.step else values).astype(dtype)
            arrays.append(to_bf16(values) if kind == "bf16" else values)
        else:
            low = max(int(case.low), np.iinfo(dtype).min)
            arrays.append(rng.integers(low, max(int(case.high), low) + 1, shape).astype(dtype))
    return arrays


def to_bf16(values: np.ndarray) -> np.ndarray:
    """f32 values rounded to what bf16 can hold."""
    return (np.asarray(values, np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)


class CpuPlugin:
    """OpenVINO's CPU plugin at f32 on one model, which it compiles where it was not asked the same before.

    Without its cache of compiled operations: with it, some sequences of shapes (PP-OCR recognition at width 7, then
    320) give wrong results in OpenVINO 2026.4.1. `digest`: the same for models that compute the same; None: unknown.
    """

    def __init__(self, model: ov.Model, **properties: str) -> None:
        self._model = model
        self._properties = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 2,
                            "CPU_RUNTIME_CACHE_CAPACITY": "0", **properties}
        self.digest = digest_of_model(model)

    def __call__(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        if self.digest is None:
            return self._infer(inputs)
        key = key_of(_machine(), self.digest, sorted(self._properties.items()), arrays=inputs)
        answer = kept_answers().find(key)
        if answer is None:
            answer = self._infer(inputs)
            kept_answers().keep(key, answer)
        return answer

    def _infer(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        tensors = [self._tensor(a, port) for a, port in zip(inputs, self._request.model_inputs, strict=True)]
        self._request.infer(dict(enumerate(tensors)))
        return [self._array(self._request.get_output_tensor(i)) for i in range(len(self._request.model_outputs))]

    @cached_property
    def _request(self) -> ov.InferRequest:
        return _CORE.compile_model(self._model, "CPU", self._properties).create_infer_request()

    @staticmethod
    def _tensor(array: np.ndarray, port: Any) -> ov.Tensor:
        if port.get_element_type() == ov.Type.bf16:
            raw = (np.ascontiguousarray(array, np.float32).view(np.uint32) >> 16).astype(np.uint16)
            return ov.Tensor(raw, ov.Shape(array.shape), ov.Type.bf16)
        return ov.Tensor(np.ascontiguousarray(array).reshape(array.shape))

    @staticmethod
    def _array(tensor: ov.Tensor) -> np.ndarray:
        if tensor.get_element_type() == ov.Type.bf16:
            raw = tensor.data.view(np.uint16)
            return (raw.astype(np.uint32) << 16).view(np.float32).reshape(tuple(tensor.shape))
        return tensor.data.copy()


@cache
def _machine() -> tuple[str, str]:
    """What answers depend on besides models and inputs: OpenVINO's version and the processor."""
    return ov.get_version(), str(_CORE.get_property("CPU", "FULL_DEVICE_NAME"))


def assert_close(actual: np.ndarray, expected: np.ndarray, tolerance: float, what: str = "") -> None:
    """Relative to the scale of the expected output; NaN and infinities must stand in the same places."""
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, expected {expected.shape}"
    if not np.issubdtype(expected.dtype, np.floating):
        wrong = np.count_nonzero(actual != expected)
        assert not wrong, f"{what}: {wrong} of {expected.size} differ; {actual.ravel()[:8]} {expected.ravel()[:8]}"
        return
    finite = np.isfinite(expected)
    odd = ~finite
    assert np.array_equal(actual[odd], expected[odd], equal_nan=True), f"{what}: NaN or infinity misplaced"
    if finite.any():
        scale = max(float(np.abs(expected[finite]).max()), 1e-6)
        error = float(np.abs(actual[finite].astype(np.float64) - expected[finite].astype(np.float64)).max()) / scale
        assert error <= tolerance, f"{what}: error {error:.2e} of the scale {scale:.3g}"
