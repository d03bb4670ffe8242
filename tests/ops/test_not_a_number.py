"""What bounds numbers, or compares them, hands on what is not a number, as NumPy and ONNX Runtime do."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Primitive, Topology
from tests.ops.case_runner import execute
from tests.program.building import constant

ROWS, COLUMNS = 3, 37
_TYPES = {"f32": np.float32, "f16": np.float16}
Computed = Callable[..., np.ndarray]
_ONE_OPERAND: dict[str, tuple[tuple[float, ...], Computed]] = {
    "Relu": ((), lambda a: np.maximum(a, 0)),
    "Clamp": ((-0.5, 0.25), lambda a: np.clip(a, -0.5, 0.25)),
    "HardSigmoid": ((0.25, 0.5), lambda a: np.clip(a * 0.25 + 0.5, 0, 1)),
    "HSigmoid": ((), lambda a: np.clip(a + 3, 0, 6) / 6),
    "HSwish": ((), lambda a: a * np.clip(a + 3, 0, 6) / 6),
    "Sign": ((), np.sign),
}
_TWO_OPERANDS: dict[str, Computed] = {"Maximum": np.maximum, "Minimum": np.minimum}


def _numbers(rng: np.random.Generator, kind: str) -> np.ndarray:
    """Numbers from all over, every fifth of them none."""
    found = (rng.normal(size=(ROWS, COLUMNS)) * 3).astype(_TYPES[kind])
    found[rng.random(found.shape) < 0.2] = np.nan
    found[0, :3] = np.inf, -np.inf, 0
    return found


def _computed(engine: Engine, given: list[np.ndarray], kind: str, *primitives: Primitive) -> np.ndarray:
    inputs = [Input(name, shape=value.shape, element_type=ElementType.of(kind))
              for name, value in zip("ab", given, strict=False)]
    inference = OpenVinoShapeInference()
    network = Network(compile_topology(engine, Topology(*inputs, *primitives), inference), engine.create_stream(),
                      inference)
    return execute(network, given)[0]


@pytest.mark.parametrize("kind", _TYPES)
@pytest.mark.parametrize("mode", _ONE_OPERAND)
def test_one_operand(engine: Engine, rng: np.random.Generator, mode: str, kind: str) -> None:
    a, (parameters, compute) = _numbers(rng, kind), _ONE_OPERAND[mode]
    found = _computed(engine, [a], kind, Eltwise("y", ("a",), mode=mode, parameters=parameters))
    with np.errstate(invalid="ignore"):
        wanted = compute(a.astype(np.float64))
    np.testing.assert_allclose(found, wanted, rtol=2e-3 if kind == "f16" else 1e-6)


@pytest.mark.parametrize("kind", _TYPES)
@pytest.mark.parametrize("mode", _TWO_OPERANDS)
def test_two_operands(engine: Engine, rng: np.random.Generator, mode: str, kind: str) -> None:
    a, b = _numbers(rng, kind), _numbers(rng, kind)
    node = Eltwise("y", ("a", "b"), mode=mode)
    wanted = _TWO_OPERANDS[mode](a, b)
    np.testing.assert_array_equal(_computed(engine, [a, b], kind, node), wanted)
    np.testing.assert_array_equal(node.evaluate((a, b), (a.shape, b.shape))[0], wanted)


@pytest.mark.parametrize("mode", ["Relu", "Clamp", "Sign"])
def test_behind_a_product(engine: Engine, rng: np.random.Generator, mode: str) -> None:
    """A row of the data that holds what is no number makes none of all its results."""
    a = _numbers(rng, "f32")
    a[1] = rng.normal(size=COLUMNS)
    weights = rng.normal(size=(COLUMNS, 40)).astype(np.float32)
    parameters, compute = _ONE_OPERAND[mode]
    found = _computed(engine, [a], "f32", constant("weights", weights), MatMul("product", ("a", "weights")),
                      Eltwise("y", ("product",), mode=mode, parameters=parameters))
    with np.errstate(invalid="ignore"):
        wanted = compute(a.astype(np.float64) @ weights)
    assert np.isnan(wanted[0]).all() and not np.isnan(wanted[1]).any()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
