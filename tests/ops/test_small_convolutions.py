"""Convolutions of channels with a filter each, and of single pixels, by the kernels that GPUs have: all that they may
meet in memory."""
from __future__ import annotations

import pytest

from clinfer.base.errors import ClinferError
from clinfer.ops.convolution.cases import CASES
from clinfer.ops.operation import Case
from clinfer.runtime.engine import Engine
from tests.ops.case_runner import PADDED, Variant, is_unsupported, run_case
from tests.ops.shards import LAYOUTS

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
