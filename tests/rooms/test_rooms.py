"""Every case row on every device, crossed with kernels, layouts and dynamic shapes.

The row runs as the selector wants it, static and as a sequence of shapes, and once with each kernel of
its table forced; a seeded choice of input layouts is added, and others where a kernel needs them.
The first device of a type runs every row, others a part. `CLINFER_TEST_FULL=1` crosses all, and lets CPUs compute in
f16 too.
"""
from __future__ import annotations

import random
from dataclasses import replace
from importlib import import_module

import pytest

from clinfer.base.errors import ClinferError
from clinfer.ops import ROOMS
from clinfer.ops.room import Case
from clinfer.runtime.engine import Engine
from tests.oracle import parameter_specs
from tests.rooms.room_runner import PADDED, Variant, is_unsupported, needs, run_case
from tests.seeds import FULL, seed_of

LAYOUTS = {2: ("b_fs_yx_fsv16",), 3: ("b_fs_yx_fsv16",), 4: ("byxf", "yxfb", "b_fs_yx_fsv16"),
           5: ("b_fs_zyx_fsv16",)}
ROWS = [(room.name, case) for room in ROOMS for case in import_module(f"clinfer.ops.{room.name}.cases").CASES]
# Kernels of what no row asks for: changed types, padding (see tests/kernels/), outputs of 4 bits, what passes make,
# tails that read tensors (tests/program/test_tails.py), images (tests/network/test_surfaces.py), and compressed weights
# (tests/rooms/test_compressed_weights.py).
_ELSEWHERE = {"reorder_ref", "reshape_ref", "convert_nibbles", "rope_ref", "group_norm_fsv16_if_even",
              "group_norm_rows_if_even", "color_convert_planar_rows", "color_convert_images", "matmul_blocks_14",
              "matmul_blocks_8", "reorder_nibbles"}
_reached: set[str] = set()


def _tables(room_name: str) -> list[str]:
    room = next(r for r in ROOMS if r.name == room_name)
    return sorted({spec.name for specs in room.kernels.values() for spec in specs})


def _layouts(case: Case) -> list[str]:
    """The formats that fit an input of the row, besides the planar one."""
    ranks = sorted({len(shape) for shape, _ in parameter_specs(case)})
    return [name for rank in ranks for name in LAYOUTS.get(rank, ())]


def variants_of(engine: Engine, room_name: str, case: Case) -> list[Variant]:
    """How a row is run, besides the formats that only some kernels need; GPUs compute in f16 as well."""
    modes = [True, False] if case.sequence else [False]
    layouts = _layouts(case)
    variants = [Variant(dynamic) for dynamic in modes]
    kernels = _tables(room_name)
    variants += [Variant(modes[0], kernel) for kernel in kernels if len(kernels) > 1]
    chance = random.Random(f"{seed_of(case.name)}{case.name}")
    chosen = [*(layouts if FULL else chance.sample(layouts, min(1, len(layouts)))), PADDED]
    variants += [Variant(dynamic, "", layout) for layout in chosen for dynamic in (modes if FULL else modes[:1])]
    if FULL:
        variants += [Variant(dynamic, kernel, layout) for layout in chosen for kernel in kernels for dynamic in modes]
    half = engine.capabilities.fp16 and (FULL or engine.device.type == "GPU") and _computes_f32(case)
    return [*variants, *(replace(v, half=True) for v in variants)] if half else variants


def _computes_f32(case: Case) -> bool:
    return not case.ordered and any(kind == "f32" for _, kind in parameter_specs(case))


@pytest.mark.parametrize("room, case", ROWS, ids=[f"{room}-{case.name}" for room, case in ROWS])
@pytest.mark.usefixtures("built_ahead")
def test_row(engine: Engine, room: str, case: Case) -> None:
    if not needs(case, engine):
        pytest.skip("the device has no fp64")
    assert sum(_runs(engine, case, variant) for variant in variants_of(engine, room, case))
    for kernel in _tables(room):
        for layout in _layouts(case):
            if kernel not in _reached:
                _runs(engine, case, Variant(bool(case.sequence), kernel, layout))


def _runs(engine: Engine, case: Case, variant: Variant) -> bool:
    """Run a variant; False if the forced kernel refuses it."""
    try:
        program = run_case(engine, case, variant)
    except ClinferError as error:
        if not (variant.kernel and is_unsupported(error)):
            raise
        return False
    _reached.update(i.spec.name for node in program.nodes for i in node.implementations)
    return True


def test_every_kernel_was_reached(request: pytest.FixtureRequest) -> None:
    if not request.session.items or len([i for i in request.session.items if "test_row" in i.name]) < len(ROWS):
        pytest.skip("only a part of the rows ran")
    tables = {spec.name for room in ROOMS for specs in room.kernels.values() for spec in specs}
    missed = sorted(tables - _reached - _ELSEWHERE)
    assert not missed, f"no case reaches {missed}"
