"""Rows of the rooms whose kernels apply fused tails, each with a random chain of element-wise operations behind it.

Every kernel meets some of its rows, static or as a sequence of shapes, in a random layout or with padding.
"""
from __future__ import annotations

import random
from functools import partial
from importlib import import_module

import pytest

from clinfer.base.errors import ClinferError
from clinfer.ops import ROOMS
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.room import Case
from clinfer.runtime.engine import Engine
from tests.oracle import parameter_specs
from tests.rooms.room_runner import PADDED, ModelOf, Variant, is_unsupported, needs, run_case
from tests.rooms.tails import HOSTS, float_rows, tailed_model
from tests.seeds import FULL, seed_of

ROWS_PER_KERNEL = 8 if FULL else 1
LAYOUTS = {4: ("byxf", "b_fs_yx_fsv16"), 5: ("b_fs_zyx_fsv16",)}


def _kernels(room_name: str) -> list[str]:
    room = next(room for room in ROOMS if room.name == room_name)
    return sorted({spec.name for specs in room.kernels.values() for spec in specs})


@pytest.mark.parametrize("room, kernel", [(room, kernel) for room in HOSTS for kernel in _kernels(room)])
def test_a_kernel_applies_tails(engine: Engine, room: str, kernel: str) -> None:
    chance = random.Random(f"{seed_of(kernel)}{kernel}")
    done = 0
    rows = float_rows(import_module(f"clinfer.ops.{room}.cases").CASES)
    for case in chance.sample(rows, len(rows)):
        if done < ROWS_PER_KERNEL and needs(case, engine):
            layout = chance.choice(["", PADDED, *_layouts(case)])
            variant = Variant(bool(case.sequence) and chance.random() < 0.7, kernel, layout)
            done += _runs(engine, case, variant, partial(tailed_model, f"{seed_of(kernel)}"))
    if not done:
        pytest.skip("the device cannot run this kernel")


def _layouts(case: Case) -> list[str]:
    return [name for rank in {len(shape) for shape, _ in parameter_specs(case)} for name in LAYOUTS.get(rank, ())]


def _runs(engine: Engine, case: Case, variant: Variant, build: ModelOf) -> bool:
    """Run a row; False if the kernel refuses it. The chain must be fused, all of it."""
    try:
        program = run_case(engine, case, variant, build)
    except ClinferError as error:
        if not is_unsupported(error) or "applies no fused tails" in str(error):
            raise
        return False
    host = next(node.primitive for node in program.nodes if node.primitive.id == "node")
    left = [node.primitive.id for node in program.nodes if node.kind == "kernel"
            and isinstance(node.primitive, Eltwise) and node.primitive.mode != case.op]
    assert host.tails and not left, f"{case.name} {variant} seed {seed_of(case.name)}: not fused: {left}"
    return True
