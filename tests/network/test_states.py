"""The states of a request, many of which are declared alike."""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, Dim
from clinfer.network.memory.states import Reading, RequestStates
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream
from clinfer.topology import State

F32 = ElementType.of("f32")
Rng = np.random.Generator
LENGTH = Dim(0, 300)
LAYERS = tuple(f"layer{number}" for number in range(6))


def _cache(name: str, length: Dim = LENGTH) -> State:
    return State(name, f"{name} in", f"{name} out", (length, 3), F32, grows=True)


DECLARED = (*map(_cache, LAYERS[:3]), State("sum", "sum in", "sum out", (1,), F32), *map(_cache, LAYERS[3:]),
            _cache("other", ANY), State("fixed", "fixed in", "", (2,), F32))


class Inferences:
    """Runs that append rows to caches, and add to a sum; what states are then, in NumPy."""

    def __init__(self, engine: Engine, stream: Stream, rng: Rng) -> None:
        self.states, self.stream, self.rng = RequestStates(engine, DECLARED), stream, rng
        self.values = {name: np.zeros((0, 3), np.float32) for name in (*LAYERS, "other")}
        self.values |= {"sum": np.zeros(1, np.float32), "fixed": np.zeros(2, np.float32)}

    def readings(self) -> list[Reading]:
        readings, tables = self.states.give(self.stream, dict, lambda _: np.zeros(0))
        assert not tables
        return list(readings)

    def run(self, added: Mapping[str, int], commits: bool = True) -> list[Reading]:
        """One that appends so many rows to each cache."""
        readings = self.readings()
        shapes, lying = dict[str, tuple[int, ...]](), dict[str, Memory]()
        values = dict(self.values)
        for reading in readings:
            for name, memory, target in zip(reading.variables, reading.memories, reading.targets, strict=False):
                before = self.values[name]
                assert reading.shape == before.shape
                found = self.stream.read(memory, before.nbytes).view(np.float32).reshape(before.shape)
                np.testing.assert_array_equal(found, before)
                rows = self.rng.random((added[name], 3), np.float32) if name in added else before + 1
                after = np.concatenate([before, rows]) if name in added else rows
                written = target.fit(after.nbytes)
                if rows.nbytes:
                    self.stream.write(written, rows, True, after.nbytes - rows.nbytes)
                shapes[name], lying[name], values[name] = after.shape, written, after
        self.states.take(self.stream, shapes, lying)
        if commits:
            self.states.commit()
            self.values = values
        return readings

    def check(self) -> None:
        for name, value in self.values.items():
            np.testing.assert_array_equal(self.states.read(name, self.stream).view(np.float32), value)


@pytest.fixture
def inferences(engine: Engine, rng: Rng) -> Inferences:
    return Inferences(engine, engine.create_stream(), rng)


def _all(count: int) -> dict[str, int]:
    return dict.fromkeys((*LAYERS, "other"), count)


def test_what_is_alike_is_read_as_one(inferences: Inferences) -> None:
    for count in (5, 1, 1, 0, 30, 1):
        readings = inferences.run(_all(count))
        assert [tuple(reading.variables) for reading in readings] == [LAYERS, ("sum",), ("other",), ("fixed",)]
        inferences.check()


def test_lengths_may_part_and_meet_again(inferences: Inferences) -> None:
    inferences.run(_all(9))
    for name, length in (("layer1", 4), ("layer4", 4), ("layer5", 7)):
        inferences.states.shorten(name, length)
        inferences.values[name] = inferences.values[name][:length]
    inferences.check()
    readings = inferences.run({**_all(1), "layer1": 6, "layer4": 6, "layer5": 3})
    assert [(tuple(reading.variables), reading.shape) for reading in readings[:3]] == [
        (("layer0", "layer2", "layer3"), (9, 3)), (("layer1", "layer4"), (4, 3)), (("layer5",), (7, 3))]
    inferences.check()
    assert tuple(inferences.run(_all(1))[0].variables) == LAYERS
    inferences.check()
    inferences.states.reset("layer2")
    inferences.values["layer2"] = np.zeros((0, 3), np.float32)
    assert len(inferences.run({**_all(1), "layer2": 12})) == 5
    inferences.check()
    assert tuple(inferences.run(_all(1))[0].variables) == LAYERS


def test_caches_are_moved_one_after_the_other(inferences: Inferences) -> None:
    inferences.run(_all(40))
    moved = []
    for _ in range(14):
        before = [memory for reading in inferences.readings() for memory in reading.memories]
        inferences.run(_all(1))
        after = [memory for reading in inferences.readings() for memory in reading.memories]
        moved.append(sum(one is not other for one, other in zip(before, after, strict=True)))
        inferences.check()
    # The sum lies in two buffers in turn.
    assert 1 in moved and max(moved) < len(LAYERS)


def test_what_is_not_committed_did_not_happen(inferences: Inferences) -> None:
    inferences.run(_all(3))
    inferences.run(_all(200), commits=False)
    inferences.check()
    with pytest.raises(ClinferError, match="'layer0' would have a shape outside"):
        inferences.run(_all(298))
    inferences.check()
    inferences.run(_all(2))
    inferences.check()
