"""Products of compressed weights: every kernel, type and grouping."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.ops import kernels_of
from clinfer.ops.matmul import CompressedMatMul
from clinfer.runtime.engine import Engine
from tests.rooms.compressed import Weights, check
from tests.rooms.room_runner import is_unsupported


@pytest.mark.parametrize("transpose", [True, False], ids=["rows", "columns"])
@pytest.mark.parametrize("kind, zero_point", [("u8", "u8"), ("i8", None), ("u4", "u4"), ("i4", "f16"), ("u4", None)])
def test_every_kernel(engine: Engine, rng: np.random.Generator, kind: str, zero_point: str | None,
                      transpose: bool) -> None:
    weights = Weights.random(rng, kind, (150, 41), 3, transpose, zero_point=zero_point, bias=True)
    tried = 0
    for spec in kernels_of(CompressedMatMul("product", ())):
        try:
            check(engine, rng, weights, transpose, (1, 7, 30), spec.name, with_tail=True)
        except ClinferError as error:
            if not is_unsupported(error):
                raise
            continue
        tried += 1
    assert tried > 1


@pytest.mark.parametrize("groups", [1, 2, 5, 10, 150])
@pytest.mark.parametrize("shape", [(150, 41), (450, 64), (300, 7)], ids=str)
def test_groupings(engine: Engine, rng: np.random.Generator, shape: tuple[int, int], groups: int) -> None:
    weights = Weights.random(rng, "u4", shape, groups, True, "f32", zero_point="u8")
    check(engine, rng, weights, True, (3, 1, 16, 2))


def test_f16(engine: Engine, rng: np.random.Generator) -> None:
    check(engine, rng, Weights.random(rng, "i4", (96, 40), 3, True), True, (1, 9), kind="f16")
