"""Rows of all operations on GPUs, told by their capabilities alone: kernels are chosen for them, and none are built."""
from __future__ import annotations

from importlib import import_module

import pytest

from clinfer.base.errors import ClinferError
from clinfer.ops import all_operations
from clinfer.runtime.engine import Engine
from tests.deferring import Selection
from tests.kernels.gpus import KINDS, gpu_of
from tests.ops.case_runner import is_unsupported, needs, topology_of
from tests.ops.shards import variants_of

OPERATIONS = [op.name for op in all_operations() if op.kernels]


@pytest.mark.first_device
@pytest.mark.sampled(1 / 2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", OPERATIONS)
def test_kernels_are_chosen(engine: Engine, monkeypatch: pytest.MonkeyPatch, op: str, kind: str) -> None:
    """Whatever of sizes and values is open."""
    monkeypatch.setattr(engine, "capabilities", gpu_of(kind, engine.capabilities))
    selection = Selection(engine)
    for case in import_module(f"clinfer.ops.{op}.cases").CASES:
        for variant in variants_of(engine, case) if needs(case, engine) else ():
            try:
                selection.program(topology_of(case, variant), variant.options())
            except ClinferError as error:
                assert is_unsupported(error), f"{case.name} {variant}"
