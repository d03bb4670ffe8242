"""Runs cases one after the other in a process of its own, which a case may bring down."""
from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.runner import Runner

import clinfer
from clinfer.base.errors import ClinferError, UnsupportedError
from clinfer.frontend.openvino_import import openvino as ov
from tests.conformance.cases import case_names, data_of, load_cases
from tests.conformance.outcome import ERROR, IMPORT_FAIL, PASS, UNSUPPORTED, WRONG
from tests.conformance.tensors import from_tensor, to_tensor
from tests.oracle import TOLERANCE, assert_close

_SETTINGS = {"INFERENCE_PRECISION_HINT": "f32"}
_LONGEST = 400


def serve(connection: Connection, device: str) -> None:
    """Send the names of all cases, then answer each question, (what, name), with a tuple of plain values."""
    cases = load_cases()
    worker = Worker(device)
    connection.send(case_names(cases))
    while True:
        try:
            question, name = connection.recv()
        except EOFError:
            return
        connection.send(worker.judge(cases[name]) if question == "judge" else worker.beside_openvino(cases[name]))


class Worker:
    """Runs cases on one device."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._core = clinfer.Core()
        self._openvino = ov.Core()

    def judge(self, case: TestCase) -> tuple[str, str, float]:
        """(status, why, seconds) of a case."""
        start = time.perf_counter()
        status, detail = self._judge(case)
        return status, _one_line(detail), time.perf_counter() - start

    def beside_openvino(self, case: TestCase) -> tuple[bool, str]:
        """Whether OpenVINO's CPU plugin at f32 gives the same wrong results, and if not, what it gives."""
        try:
            theirs = run(self._openvino, self._openvino.read_model(bytes_of(case)), "CPU", case)
        except RuntimeError as error:
            return False, f"its CPU plugin fails: {_one_line(str(error))}"
        try:
            ours = run(self._core, self._core.read_model(bytes_of(case)), self._device, case)
            for actual, other in zip(ours, theirs, strict=True):
                assert_close(actual, other, TOLERANCE.get(str(other.dtype).replace("float", "f"), 0.0))
        except AssertionError as error:
            return False, f"its CPU plugin gives something else: {error}"
        return True, ""

    def _judge(self, case: TestCase) -> tuple[str, str]:
        try:
            model = self._core.read_model(bytes_of(case))
        except ClinferError as error:
            return IMPORT_FAIL, str(error.values.get("OpenVINO says", error))
        try:
            results = run(self._core, model, self._device, case)
        except UnsupportedError as error:
            return UNSUPPORTED, str(error)
        except Exception as error:
            return ERROR, f"{type(error).__name__}: {error}"
        try:
            Runner.assert_similar_outputs(list(data_of(case)[1].values()), results, case.rtol, case.atol)
        except (AssertionError, TypeError) as error:
            return WRONG, str(error)
        return PASS, ""


def run(core: Any, model: ov.Model, device: str, case: TestCase) -> list[np.ndarray]:
    """The outputs of a case in the order of ONNX's; `core`, which read its model, is clinfer's or OpenVINO's."""
    inputs, expected = data_of(case)
    request = core.compile_model(model, device, _SETTINGS).create_infer_request()
    places = _places(request.model_inputs, inputs)
    request.infer({places[name]: to_tensor(array, request.model_inputs[places[name]])
                   for name, array in inputs.items() if name in places})
    places = _places(request.model_outputs, expected)
    return [from_tensor(request.get_output_tensor(places[name]), array.dtype) for name, array in expected.items()]


def bytes_of(case: TestCase) -> bytes:
    """The ONNX file of a case."""
    assert case.model is not None
    return bytes(case.model.SerializeToString())


def _one_line(text: str) -> str:
    return " | ".join(line.strip() for line in text.splitlines() if line.strip())[:_LONGEST]


def _places(ports: Sequence[Any], names: Iterable[str]) -> dict[str, int]:
    """The index of the port of each name.

    OpenVINO leaves out inputs that nothing reads and gives an input that is also an output the output's name,
    so names without a port belong to the ports without a name, in order.
    """
    found = {name: index for name in names for index, port in enumerate(ports) if name in port.names}
    rest = (name for name in names if name not in found)
    free = (index for index in range(len(ports)) if index not in found.values())
    return found | dict(zip(rest, free, strict=False))
