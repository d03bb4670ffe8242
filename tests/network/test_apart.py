"""Devices whose drivers do not take buffers that overlap: networks work without a single sub-buffer."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.frontend.transformations import prepare
from clinfer.network.memory.memory_planner import MemoryPlanner
from clinfer.network.memory.memory_pool import MemoryPool
from clinfer.network.memory.preallocation import AHEAD
from clinfer.program.options import BuildOptions
from clinfer.runtime import memory as memories
from clinfer.runtime.engine import Engine
from tests.models.zoo import EVERYWHERE
from tests.network.running import check, network_of
from tests.network.test_memory import _looping_model
from tests.oracle import CpuPlugin, ov


@pytest.fixture
def apart(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine of such a device."""
    def refuse(*_: object) -> None:
        pytest.fail("a sub-buffer was made")
    monkeypatch.setattr(memories, "_sub_buffer", refuse)
    return Engine(engine.device, replace(engine.capabilities, overlapping_parts=False))


@pytest.mark.parametrize("name", ["yolo_small", "bert_small"])
def test_models_over_shapes(apart: Engine, rng: np.random.Generator, name: str) -> None:
    row = EVERYWHERE[name]
    network, oracle = network_of(apart, prepare(row.build())), CpuPlugin(row.build())
    for shape in (*row.shapes, *reversed(row.shapes)):
        check(network, oracle, row.inputs(shape, rng), 2e-4)


def test_loops_over_shapes(apart: Engine, rng: np.random.Generator) -> None:
    network, oracle = network_of(apart, _looping_model()), CpuPlugin(_looping_model())
    for rows in (3, 40, 5, 41):
        check(network, oracle, [rng.standard_normal((rows, 8)).astype(np.float32)])
    held = apart.ledger.current
    network.release_memory()
    assert apart.ledger.current < held


def test_joined_inputs_of_which_one_lies_in_its_place(apart: Engine, rng: np.random.Generator) -> None:
    """The first one, where the output begins, if there is one row."""
    inputs = [ops.parameter([-1, -1, 1000], np.float32) for _ in range(3)]
    model = ov.Model([ops.softmax(ops.concat(list(map(ops.relu, inputs)), 1, name="joined"), 2)], inputs)
    network = network_of(apart, model, BuildOptions({"joined": ("", "concat_joined")}, frozenset({"fuse_eltwise"})))
    aliases, = (node.aliases for node in network.program.nodes if node.aliases)
    assert [each.alias.input for each in aliases] == [0]
    for rows, *lengths in ((1, 2, 3, 4), (2, 1, 1, 5), (1, 0, 2, 1), (1, 7, 0, 0), (1, 2, 3, 4)):
        check(network, CpuPlugin(model), [rng.standard_normal((rows, length, 1000)).astype(np.float32)
                                          for length in lengths])


def test_slots_share_chunks_only_where_none_of_them_must_be_apart() -> None:
    memory_planner = MemoryPlanner([{1}, {0, 2}, {1}, {4}, {3}], 5, 2**40, may_overlap=False)
    found = memory_planner.plan_memory({0: 100, 1: 80, 2: 90, 3: 70, 4: 10}, (), {}, may_add=True)
    assert found is not None and {offset for _, offset in found.places.values()} == {0}
    chunk = {slot: number for slot, (number, _) in found.places.items()}
    assert chunk[0] == chunk[2] != chunk[1] and chunk[3] != chunk[4]
    assert sorted(found.chunks) == [80, 100]


def test_growth_allocates_seldom_where_chunks_are_much_more_than_is_held_at_a_time(apart: Engine) -> None:
    """Five slots in a ring, each apart from its neighbours: two are held at a time, and three chunks are needed.
    Executions of two kinds come in turn."""
    ring = tuple(frozenset({(slot + 1) % 5, (slot - 1) % 5}) for slot in range(5))
    program = replace(network_of(apart, _looping_model()).program, dependencies=ring, first_scratch=5)
    pool = MemoryPool(program, AHEAD)
    moves = [pool.fit([(slot, 4096 * n if (slot + n) % 2 else 3584 * n) for slot in range(5)], ()) != {}
             for n in range(1, 200)]
    assert sum(moves) <= 70, [n for n, moved in enumerate(moves, 1) if moved]
