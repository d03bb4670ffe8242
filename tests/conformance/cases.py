"""ONNX's node test cases; ONNX makes the same random data for them every time."""
from __future__ import annotations

import pickle
import warnings
from functools import cache

import numpy as np
import onnx
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from clinfer.base.files import write_whole
from tests.answers import FOLDER
from tests.conformance.outcome import CaseName


@cache
def load_cases() -> dict[str, TestCase]:
    """Every case by name. ONNX takes seconds to make them, so they are kept on disk."""
    kept = FOLDER / f"onnx-{onnx.__version__}-numpy-{np.__version__}.pickle"
    try:
        cases: dict[str, TestCase] = pickle.loads(kept.read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError):
        cases = _make_cases()
        write_whole(kept, [pickle.dumps(cases)])
    return cases


def _make_cases() -> dict[str, TestCase]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in load_model_tests(kind="node")}


def case_names(cases: dict[str, TestCase]) -> list[CaseName]:
    """The names of the cases in ONNX's order; a case of an operation written as its function is the operation's."""
    return [CaseName(name, _first_op(cases[name.split("_expanded")[0]])) for name in cases]


def data_of(case: TestCase) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """(inputs, expected outputs) of a case by tensor name."""
    assert case.model is not None and case.data_sets is not None
    inputs, outputs = case.data_sets[0]
    graph = case.model.graph
    return ({i.name: _as_array(a) for i, a in zip(graph.input, inputs, strict=True)},
            {o.name: _as_array(a) for o, a in zip(graph.output, outputs, strict=True)})


def _first_op(case: TestCase) -> str:
    assert case.model is not None
    return str(case.model.graph.node[0].op_type)


def _as_array(value: np.ndarray | onnx.TensorProto) -> np.ndarray:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
