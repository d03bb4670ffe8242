"""Convolutions that multiply the channels of their data: every kernel against the same on multiplied data."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY
from clinfer.ops.convolution import Convolution
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Topology
from tests.candidates import candidates_of
from tests.network.running import network_of
from tests.ops.case_runner import execute, is_unsupported
from tests.oracle import TOLERANCE, assert_close
from tests.seeds import SEED


@dataclass(frozen=True)
class FactorCase:
    """A convolution of data with weights; the factor has `batch` entries along the batch, which may be dynamic."""

    data: tuple[int, ...]
    weights: tuple[int, ...]
    batch: int
    stride: int = 1
    pad: int = 1
    bias: bool = False
    dynamic: bool = False
    kind: str = "f32"


CASES = {
    "any": FactorCase((2, 20, 5, 17), (40, 20, 3, 3), 2),
    "pointwise": FactorCase((2, 33, 6, 7), (20, 33, 1, 1), 2, pad=0, bias=True),
    "one-for-all": FactorCase((3, 20, 5, 6), (17, 20, 1, 1), 1, pad=0),
    "strides": FactorCase((2, 20, 9, 9), (40, 20, 3, 3), 2, stride=2, bias=True, dynamic=True),
    "dynamic": FactorCase((2, 20, 5, 6), (17, 20, 1, 1), 2, pad=0, dynamic=True),
    "column": FactorCase((2, 20, 19, 1), (17, 20, 3, 1), 2),
    "one-axis": FactorCase((2, 20, 19), (17, 20, 3), 2, bias=True),
    "three-axes": FactorCase((1, 20, 3, 4, 5), (17, 20, 1, 1, 1), 1, pad=0, dynamic=True),
    "f16": FactorCase((2, 20, 5, 17), (33, 20, 3, 3), 2, kind="f16"),
}


def _topology(case: FactorCase, weights: np.ndarray, bias: np.ndarray) -> Topology:
    kind, axes = ElementType.of(case.kind), len(case.data) - 2
    shape, batch = (case.data, case.batch) if not case.dynamic else ((ANY, case.data[1], *(ANY,) * axes), ANY)
    data = Input("data", shape=shape, element_type=kind)
    factor = Input("factor", shape=(batch, case.data[1], *(1,) * axes), element_type=kind)
    constants = [Constant(name, value=value, element_type=kind)
                 for name, value in (("weights", weights), ("bias", bias))[:1 + case.bias]]
    pads = tuple(case.pad if size > 1 else 0 for size in case.weights[2:])
    node = Convolution("node", ("data", *(c.id for c in constants), "factor"), strides=(case.stride,) * axes,
                       dilations=(1,) * axes, pads_begin=pads, pads_end=pads, has_factor=True)
    return Topology(data, factor, *constants, node)


@pytest.mark.parametrize("name", CASES)
def test_a_factor_equals_multiplied_data(engine: Engine, name: str) -> None:
    case = CASES[name]
    rng = np.random.default_rng(SEED)
    dtype = ElementType.of(case.kind).storage
    weights, bias = (rng.uniform(-1, 1, s).astype(dtype) for s in (case.weights, case.weights[:1]))
    topology, tried = _topology(case, weights, bias), 0
    unit = np.ones((case.batch, case.data[1], *(1,) * (len(case.data) - 2)), dtype)
    plain = network_of(engine, topology, BuildOptions({"node": ("", "convolution_ref")}))
    for kernel in candidates_of(network_of(engine, topology).program):
        try:
            network = network_of(engine, topology, BuildOptions({"node": ("", kernel)}))
        except ClinferError as error:
            if not is_unsupported(error):
                raise
            continue
        tried += 1
        for batch in (case.batch, 1) if case.dynamic else (case.batch,):
            shape = (max(batch, case.data[0] if case.batch == 1 else batch), *case.data[1:])
            data, factor = (rng.uniform(-1, 1, s).astype(dtype) for s in (shape, (batch, *unit.shape[1:])))
            wanted = execute(plain, [(data * factor).astype(dtype), unit[:batch]])[0]
            assert_close(execute(network, [data, factor])[0], wanted, TOLERANCE[case.kind],
                         f"{name} {kernel} seed {SEED}")
    assert tried > 1
