"""Plans in the form in which they are replayed."""
from __future__ import annotations

import numpy as np

from clinfer.network import replay
from clinfer.network.memory.slot_bytes import SlotBytes
from clinfer.network.plans.plan import Fetch, Launch, Plan, Step
from clinfer.network.replay import Replay
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import KernelTable, Launches, WorkSize

SOURCE = "kernel void advance(global int* x, int n) { x[get_global_id(0)] = x[get_global_id(0)] * 3 + n; }"
EIGHT = WorkSize((8,))


class Replayed:
    """Kernels that multiply eight numbers by 3 and add their block."""

    def __init__(self, engine: Engine, count: int) -> None:
        self.memory, self.stream, kernels = engine.allocate_bytes(32), engine.create_stream(), KernelTable()
        program = engine.build_program(SOURCE)
        for _ in range(count):
            kernel = engine.create_kernel(program, "advance")
            kernel.set_buffer(0, self.memory)
            kernels.add(kernel, 1, 4)
        self.replay = Replay(kernels)

    def take(self, *steps: tuple[int, int] | Step) -> list[Launches]:
        """Steps, or launches of (kernel, number to add); their runs, which computed what they should."""
        self.replay.take(Plan([Launch(step[0], step[1].to_bytes(4, "little"), EIGHT) if isinstance(step, tuple)
                               else step for step in steps], {}, {}, SlotBytes((), ()), {}))
        runs = [step for step in self.replay.steps if isinstance(step, Launches)]
        self.stream.write(self.memory, np.zeros(8, np.int32))
        expected = 0
        for step in steps:
            expected = 3 * expected + step[1] if isinstance(step, tuple) else expected
        for run in runs:
            self.stream.enqueue_all(run)
        assert self.stream.read(self.memory).view(np.int32).tolist() == [expected] * 8
        return runs


def test_plans_of_the_same_kernels_have_one_form(engine: Engine) -> None:
    replayed = Replayed(engine, 4)
    one, = replayed.take((0, 1), (1, 2))
    other, = replayed.take((2, 3), (1, 4))
    assert other is not one
    assert replayed.take((0, 5), (1, 2)) == [one] and replayed.take((2, 3), (1, 5)) == [other]
    longer, = replayed.take((0, 1), (1, 2), (3, 3))
    apart = replayed.take((0, 1), Fetch(0), (1, 2))
    assert len(apart) == 2 and not {*apart} & {one, other, longer}
    assert replayed.take((0, 7), Fetch(1), (1, 2)) == apart and replayed.replay.steps[1] == Fetch(1)
    assert replayed.take((0, 1), (1, 9)) == [one]


def test_the_latest_forms_are_kept(engine: Engine) -> None:
    replayed = Replayed(engine, replay._MOST_FORMS + 1)
    runs = [replayed.take((number, number))[0] for number in range(replay._MOST_FORMS)]
    assert replayed.take((0, 5)) == [runs[0]]
    replayed.take((replay._MOST_FORMS, 1))
    assert replayed.take((0, 6)) == [runs[0]] and replayed.take((2, 6)) == [runs[2]]
    assert replayed.take((1, 6))[0] not in runs
