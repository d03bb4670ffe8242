"""Reordered weights: which sequence of wishes has which outcomes, and what becomes of the memory."""
from __future__ import annotations

import gc

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.kernels.kernel_cache import LoadedKernels, kernel_cache_of
from clinfer.program.weights_cache import Weights, WeightsCache, same_bytes
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory

F32 = ElementType.of("f32")
FORMATS = {"packed": "os_i_osv32", "planar": "bfyx", "other": "ks_n_nsv32"}


def layout(name: str, shape: tuple[int, ...] = (64, 48)) -> Layout:
    return Layout(shape, F32, Format.of(FORMATS.get(name, name)))


def stored(engine: Engine, values: np.ndarray, lies: Layout) -> Memory:
    memory, stream = engine.allocate_memory(lies), engine.create_stream()
    stream.write(memory, lies.pack(values), blocking=True)
    return memory


class Subject:
    """Packed weights of some tensors, and a cache for them."""

    def __init__(self, engine: Engine, rng: np.random.Generator, capacity: int) -> None:
        self.engine = engine
        self.kernels = LoadedKernels(kernel_cache_of(engine))
        self.cache = WeightsCache(engine, self.kernels, capacity)
        self.values = [rng.standard_normal((64, 48)).astype(np.float32) for _ in range(4)]
        self.originals = [stored(engine, values, layout("packed")) for values in self.values]

    def get(self, tensor: int, wanted: str) -> Weights | None:
        """What the cache gives; its contents are checked."""
        present, other = layout("packed"), layout(wanted)
        reorder = self.cache.reorder(present, other) if present != other else None
        if reorder is not None:
            self.kernels.prepare(stage.code for stage in reorder.stages)
        found = self.cache.get(tensor, self.originals[tensor], present, other)
        if found is not None:
            raw = self.engine.create_stream().read(found.memory, other.byte_size)
            np.testing.assert_array_equal(other.unpack(raw).reshape(64, 48), self.values[tensor])
        return found


BYTES = 64 * 48 * 4


@pytest.mark.parametrize(("wishes", "outcomes", "owned"), [
    ([(0, "planar"), (0, "planar")], ["reordered", "hit"], 1),
    ([(0, "packed")], ["original"], 0),
    ([(0, "planar"), (0, "packed"), (0, "planar")], ["reordered", "original", "reordered"], 1),
    ([(0, "planar"), (1, "packed"), (0, "planar")], ["reordered", "original", "hit"], 1),
    ([(0, "planar"), (1, "planar"), (0, "planar")], ["reordered", "reordered", "hit"], 2),
    ([(0, "planar"), (1, "planar"), (2, "planar"), (1, "planar"), (0, "planar")],
     ["reordered", "reordered", "reordered", "hit", "reordered"], 2),
    ([(0, "planar"), (1, "planar"), (0, "planar"), (2, "planar"), (0, "planar")],
     ["reordered", "reordered", "hit", "reordered", "hit"], 2),
])
def test_outcomes(engine: Engine, rng: np.random.Generator, wishes: list[tuple[int, str]], outcomes: list[str],
                  owned: int) -> None:
    subject = Subject(engine, rng, 2 * BYTES)
    found = []
    for tensor, wanted in wishes:
        weights = subject.get(tensor, wanted)
        assert weights is not None
        found.append(weights.outcome)
        del weights
    assert found == outcomes
    assert subject.cache.owned_bytes == owned * BYTES


def test_layouts_of_the_same_bytes_are_reinterpreted(engine: Engine, rng: np.random.Generator) -> None:
    planar, reversed_ = layout("bfyx", (64, 48, 1, 1)), layout("byxf", (64, 48, 1, 1))
    assert same_bytes(planar, reversed_) and not same_bytes(planar, layout("byxf", (64, 48, 2, 1)))
    values = rng.standard_normal((64, 48, 1, 1)).astype(np.float32)
    memory = stored(engine, values, planar)
    cache = WeightsCache(engine, LoadedKernels(kernel_cache_of(engine)), 0)
    assert cache.reorder(planar, reversed_) is None
    for outcome in ("reinterpreted", "hit"):
        found = cache.get(0, memory, planar, reversed_)
        assert found is not None and found.outcome == outcome and found.memory.shares_buffer(memory)
    assert cache.owned_bytes == 0


def test_an_evicted_buffer_is_used_again(engine: Engine, rng: np.random.Generator) -> None:
    subject = Subject(engine, rng, BYTES)
    first = subject.get(0, "planar")
    assert first is not None
    buffer = first.memory.native
    assert subject.get(1, "planar") is None, "weights in use are not evicted, and there is no room beside them"
    del first
    gc.collect()
    before = engine.ledger.current
    second = subject.get(1, "planar")
    assert second is not None and second.outcome == "reordered" and second.memory.native is buffer
    assert engine.ledger.current == before


def test_reorders_are_kept(engine: Engine, rng: np.random.Generator) -> None:
    cache = Subject(engine, rng, BYTES).cache
    first = cache.reorder(layout("packed"), layout("planar"))
    assert first is not None and cache.reorder(layout("packed"), layout("planar")) is first


def test_memory_goes_with_the_cache(engine: Engine, rng: np.random.Generator) -> None:
    subject = Subject(engine, rng, 2 * BYTES)
    gc.collect()
    before = engine.ledger.current
    held = subject.get(0, "planar")
    assert held is not None and engine.ledger.current == before + BYTES
    del held, subject.cache
    gc.collect()
    assert engine.ledger.current == before
