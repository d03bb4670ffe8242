"""Products of compressed weights: every kernel, type and grouping."""
from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.ops.matmul.kernels.cpu import tiles_per_item
from clinfer.runtime.engine import Engine
from tests.candidates import candidates_of
from tests.deferring import Selection
from tests.ops.case_runner import is_unsupported
from tests.ops.compressed import CODED, Weights, check, check_program, select


@pytest.mark.parametrize("kind, zero_point, depth, transpose, data, large", [
    ("u8", "u8", 75, True, "bf16", False), ("i8", None, 75, False, "f32", False), ("u4", "u4", 96, True, "f32", True),
    ("i4", "f16", 75, False, "f32", False), ("i4", "f16", 75, False, "bf16", True),
    ("f8e4m3", None, 75, True, "bf16", False), ("f8e5m2", None, 75, False, "f32", False),
    (CODED, None, 75, True, "f32", False), (CODED, None, 96, True, "bf16", True),
    (CODED, None, 96, False, "f32", False), ("i8", "f16", 1056, True, "f32", False),
    ("u4", "u4", 1056, True, "bf16", False)])
def test_every_kernel(engine: Engine, rng: np.random.Generator, kind: str, zero_point: str | None, depth: int,
                      transpose: bool, data: str, large: bool) -> None:
    """`large`: with indices of 64 bits, those of them that can."""
    weights = Weights.random(rng, kind, (depth, 41), 3, transpose, zero_point=zero_point, bias=True)
    selection = Selection(engine)
    select_kernel = partial(select, selection, weights, transpose, with_epilogue=True, kind=data, large=large)
    chosen = select_kernel()
    programs = [chosen]
    for kernel in candidates_of(chosen, "product"):
        try:
            programs.append(select_kernel(kernel))
        except ClinferError as error:
            if not is_unsupported(error):
                raise
    selection.build()
    for program in programs:
        check_program(program, rng, weights, transpose, (1, 3, 7, 30, 12, 21))
    assert len(programs) > 2


@pytest.mark.parametrize("shape, groups", [((150, 41), 1), ((450, 64), 2), ((300, 7), 150), ((33, 5), 33)], ids=str)
def test_groupings(engine: Engine, rng: np.random.Generator, shape: tuple[int, int], groups: int) -> None:
    weights = Weights.random(rng, "u4", shape, groups, True, "f32", zero_point="u8")
    check(engine, rng, weights, True, (3, 1, 16, 2))


def test_many_blocks(engine: Engine, rng: np.random.Generator) -> None:
    """Groups that cross the border of a block of the inner axis, and more rows than one work-item computes."""
    check(engine, rng, Weights.random(rng, "i4", (2100, 33), 6, True, zero_point="f16"), True, (130, 1, 21))


def test_work_items_share_many_rows_on_many_cores() -> None:
    assert tiles_per_item(1000, 24, 2) == 16 and tiles_per_item(10, 24, 64) == 1
    assert tiles_per_item(37, 24, 32) == 7 and tiles_per_item(37, 64, 2) == 13 and tiles_per_item(0, 1, 1) == 1


def test_f16(engine: Engine, rng: np.random.Generator) -> None:
    check(engine, rng, Weights.random(rng, "i4", (96, 40), 3, True), True, (1, 9), kind="f16")
