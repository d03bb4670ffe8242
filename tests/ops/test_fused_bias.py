"""Convolutions and matrix products with a bias as third input: every kernel against the same with an addition."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.ops.convolution import Convolution, GroupConvolution
from clinfer.ops.deconvolution import ConvolutionBackpropData, GroupConvolutionBackpropData
from clinfer.ops.matmul import MatMul
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Primitive, Topology
from tests.candidates import candidates_of
from tests.network.running import network_of
from tests.ops.case_runner import execute, is_unsupported
from tests.oracle import TOLERANCE, assert_close
from tests.seeds import SEED

INPUTS = ("data", "weights", "bias")


@dataclass(frozen=True)
class BiasCase:
    """A primitive on data of one shape with weights of another; the bias runs along output axis `axis`."""

    make: Callable[[tuple[str, ...]], Primitive]
    data: tuple[int, ...]
    weights: tuple[int, ...]
    axis: int
    kind: str = "f32"


def _convolution(cls: type[Convolution | ConvolutionBackpropData], rank: int) -> Callable[[tuple[str, ...]], Primitive]:
    ones, none = (1,) * rank, (0,) * rank
    return lambda inputs: cls("node", inputs, strides=ones, dilations=ones, pads_begin=ones, pads_end=none)


CASES = {
    "any": BiasCase(_convolution(Convolution, 2), (2, 20, 5, 17), (40, 20, 3, 3), 1),
    "f16": BiasCase(_convolution(Convolution, 2), (1, 20, 5, 17), (33, 20, 3, 3), 1, "f16"),
    "planar": BiasCase(_convolution(Convolution, 2), (1, 3, 9, 20), (24, 3, 3, 3), 1),
    "groups": BiasCase(_convolution(GroupConvolution, 1), (1, 32, 20), (2, 16, 16, 3), 1),
    "depthwise": BiasCase(_convolution(GroupConvolution, 2), (2, 19, 5, 11), (19, 1, 1, 3, 3), 1),
    "transposed": BiasCase(_convolution(ConvolutionBackpropData, 2), (2, 20, 5, 17), (20, 40, 3, 3), 1),
    "transposed-few": BiasCase(_convolution(ConvolutionBackpropData, 2), (2, 20, 5, 17), (20, 2, 2, 2), 1),
    "transposed-groups": BiasCase(_convolution(GroupConvolutionBackpropData, 1), (1, 32, 20), (2, 16, 16, 3), 1),
    "rows": BiasCase(lambda inputs: MatMul("node", inputs, transpose_b=True), (3, 7, 30), (41, 30), -1),
    "one-row": BiasCase(lambda inputs: MatMul("node", inputs), (1, 30), (30, 41), -1),
    "vector": BiasCase(lambda inputs: MatMul("node", inputs), (2, 2, 30), (2, 30, 41), -1),
    "batch": BiasCase(lambda inputs: MatMul("node", inputs), (2, 9, 30), (2, 30, 41), -1),
}


def _topology(case: BiasCase, arrays: list[np.ndarray]) -> Topology:
    """The primitive with constant weights and, where there is a third array, a constant bias."""
    kind = ElementType.of(case.kind)
    names = INPUTS[:len(arrays)]
    constants = [Constant(n, value=a, element_type=kind) for n, a in zip(names[1:], arrays[1:], strict=True)]
    return Topology(Input("data", shape=case.data, element_type=kind), *constants, case.make(names))


def _run(engine: Engine, case: BiasCase, arrays: list[np.ndarray], kernel: str = "") -> np.ndarray:
    options = BuildOptions({"node": ("", kernel)} if kernel else {})
    return execute(network_of(engine, _topology(case, arrays), options), arrays[:1])[0]


@pytest.mark.parametrize("name", CASES)
def test_bias_equals_an_addition(engine: Engine, name: str) -> None:
    case = CASES[name]
    rng = np.random.default_rng(SEED)
    dtype = ElementType.of(case.kind).storage
    data, weights = (rng.uniform(-1, 1, shape).astype(dtype) for shape in (case.data, case.weights))
    plain = _run(engine, case, [data, weights])
    bias = rng.uniform(-9, 9, plain.shape[case.axis]).astype(dtype)
    spread = bias.reshape([-1 if axis == case.axis % plain.ndim else 1 for axis in range(plain.ndim)])
    wanted = plain.astype(np.float32) + spread
    tried, arrays = 0, [data, weights, bias]
    for kernel in candidates_of(network_of(engine, _topology(case, arrays)).program):
        try:
            actual = _run(engine, case, arrays, kernel)
        except ClinferError as error:
            if not is_unsupported(error):
                raise
            continue
        tried += 1
        assert_close(actual.astype(np.float32), wanted, TOLERANCE[case.kind], f"{name} {kernel} seed {SEED}")
    assert tried > 1
