"""Convolutions of channels with a filter each, and of single pixels, by the kernels that GPUs have: all that they may
meet in memory."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.frontend.transformations import prepare
from clinfer.ops.convolution.cases import CASES
from clinfer.ops.operation import Case
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.ops.case_runner import PADDED, Variant, is_unsupported, run_case
from tests.ops.shards import LAYOUTS
from tests.oracle import CpuPlugin, ov

op = ov.opset13

RUNS = ("4", "2", "1", "2_anywhere")
DEPTHWISE = [case for case in CASES if case.name.startswith("depthwise")]


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("layout", ["", *LAYOUTS[4]])
@pytest.mark.parametrize("case", [case for case in CASES if "one-pixel" in case.name], ids=lambda case: case.name)
def test_one_pixel(engine: Engine, case: Case, layout: str, half: bool) -> None:
    run_case(engine, case, Variant(False, "convolution_one_pixel", layout, half))


@pytest.mark.sampled(1 / 2)
@pytest.mark.parametrize("layout", ["", PADDED, *LAYOUTS[4]])
@pytest.mark.parametrize("case", DEPTHWISE, ids=lambda case: case.name)
def test_depthwise(engine: Engine, case: Case, layout: str) -> None:
    """Those that a kernel does not take (channels that are no multiple of 4) have to be refused."""
    ran = set()
    for run in RUNS:
        try:
            run_case(engine, case, Variant(bool(case.sequence), f"convolution_depthwise_{run}", layout))
            ran.add(run)
        except ClinferError as error:
            assert is_unsupported(error), error
    data = case.inputs[0][0]
    assert (ran >= {"2_anywhere"}) == (data[1] % 4 == 0)


@pytest.mark.parametrize("groups", [1, 16])
def test_weights_of_whole_numbers_are_not_theirs(engine: Engine, rng: np.random.Generator, groups: int) -> None:
    """Kernels that multiply floats say so, before a driver does."""
    x = op.parameter([1, 16, 1, 1], np.float32)
    given = rng.integers(-128, 128, (16, 1, 1, 1, 1) if groups > 1 else (8, 16, 1, 1))
    weights = op.multiply(op.convert(op.constant(given.astype(np.int8)), "f32"), np.float32(0.01))
    steps = [1, 1], [0, 0], [0, 0], [1, 1]
    convolved = (op.group_convolution if groups > 1 else op.convolution)(x, weights, *steps)
    model = ov.Model([op.relu(convolved)], [x], "pixel")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(network_of(engine, prepare(model)), CpuPlugin(model), [rng.standard_normal((1, 16, 1, 1), np.float32)])
