"""Tables of stages for launches that came before."""
from __future__ import annotations

import contextlib
from array import array
from typing import Any

import numpy as np
import pytest

from clinfer.base.errors import OutOfMemoryError
from clinfer.runtime import seen_tables
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import PLANNED, SIZE_CODE, KernelTable, Launches, PlannedLaunches, WorkSize
from clinfer.runtime.stage_headers import StageHeaders
from clinfer.runtime.stage_image import StageImage
from clinfer.runtime.stage_order import Regions
from clinfer.runtime.stage_table import StageTable
from clinfer.runtime.stream import Stream
from tests.runtime import chains
from tests.runtime.chains import Chain, joinable_chain


@pytest.fixture
def chain(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Chain:
    return joinable_chain(engine, monkeypatch)


class _Plans:
    """What a chain launches for some widths, planned once each, by kernels whose numbers are their argument blocks."""

    def __init__(self, chain: Chain) -> None:
        self._kernels, self._planned = KernelTable(), dict[int, PlannedLaunches]()
        for kernel in chain.kernels:
            self._kernels.add(kernel, 2, 4)
        chain.launches = Launches(len(chain.kernels), chain.launches.left)

    def take(self, chain: Chain, wide: int) -> None:
        """Let the chain be that wide."""
        planned = self._planned.get(wide)
        if planned is None:
            blocks = np.array([wide if kernel.entry == "open" else 3 * wide for kernel in chain.kernels], np.int32)
            works = [WorkSize((wide, 3)) if kernel.entry == "open" else WorkSize((-(-3 * wide // 64) * 64,), (64,))
                     for kernel in chain.kernels]
            planned = self._planned[wide] = PlannedLaunches(array(SIZE_CODE, b"".join(
                [PLANNED.pack(number, 4 * number, 4, work) for number, work in enumerate(works)])), blocks.tobytes())
        chain.launches.become(planned, 0, self._kernels)
        chain.wide = wide

    def forget(self, wide: int) -> None:
        """Let that width be planned anew."""
        del self._planned[wide]


def _paths(chain: Chain, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How each of the following runs is launched: by the table that follows, by one that was seen, or apart."""
    staged = chain.launches.staged
    assert staged is not None
    paths, table_of = list[str](), staged._table_of

    def noted(*given: Any) -> StageTable | None:
        table = table_of(*given)
        paths.append("apart" if table is None else "following" if table is staged._table else "seen")
        return table

    monkeypatch.setattr(staged, "_table_of", noted)
    return paths


@pytest.mark.parametrize("most", [64, 2])
def test_what_was_planned_before_has_a_table_of_its_own(chain: Chain, engine: Engine, rng: np.random.Generator,
                                                        monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Whatever memory it works on by then, and whichever kernels others set meanwhile; of few tables, of which the
    oldest one is another one's again and again."""
    monkeypatch.setattr(seen_tables, "_MOST", most)
    stream, plans, other = engine.create_stream(), _Plans(chain), engine.allocate_bytes(4 * 3 * 5000, "numbers")
    plans.take(chain, 300)
    chain.join(stream, rng)
    paths = _paths(chain, stream, monkeypatch)
    for _ in range(3):
        for wide in (128, 4000, 301):
            plans.take(chain, wide)
            chain.check(stream, rng)
    assert paths[:3] == ["apart"] * 3 and paths[3:] == ["seen"] * 6
    twin = engine.create_kernel(chain.kernels[0].program, "open", frozenset({0}))
    for _ in range(60):
        plans.take(chain, wide := int(rng.choice([128, 301, 777, 4000])))
        # What is planned anew is no longer what was seen, and what lies elsewhere is in no table yet.
        change = int(rng.integers(5))
        if change == 0:
            chain.move()
        elif change == 1:
            chain.go_by(other)
        elif change == 2:
            plans.forget(wide)
        elif change == 3:
            twin.set_buffer(0, chain.memories[0])
        if change != 1:
            chain.bind()
        chain.check(stream, rng)
    assert paths.count("seen") > 25 and len(chain.launches.staged._seen._tables) <= most  # type: ignore[union-attr]
    # The launches by themselves are what was planned last, though kernels were told nothing.
    chain.bind()
    for wide in (128, 301, 128, 301):
        plans.take(chain, wide)
        chain.check(stream, rng)
    plans.take(chain, 128)
    assert chain.launches[1][1] == WorkSize((384,), (64,))
    monkeypatch.setitem(engine.__dict__, "megakernels", None)
    plans.take(chain, 301)
    chain.check(stream, rng)


def test_kernels_that_were_exchanged_are_in_no_table_that_was_seen(chain: Chain, engine: Engine,
                                                                   rng: np.random.Generator,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    stream, plans = engine.create_stream(), _Plans(chain)
    plans.take(chain, 300)
    chain.join(stream, rng)
    for wide in (128, 301) * 3:
        plans.take(chain, wide)
        chain.check(stream, rng)
    other = engine.create_kernel(engine.build_program(chains.SOURCE.replace("] + i;", "] + i + 5;")), "open",
                                 frozenset({0}))
    plans._kernels.add(other, 2, 4)
    plans._kernels.replace(2, len(plans._kernels) - 1)
    chain.kernels[2] = other
    chain.bind()
    plans.take(chain, 128)
    values = rng.integers(-1000, 1000, 3 * 128, np.int32)
    chain.run(stream, values)
    assert chain.launches.staged is None and chain.launches.kernels[2] is other
    assert not np.array_equal(chain.result(stream), chain.expected(values))


@pytest.mark.parametrize(("where", "what"), [
    (StageTable, "update"), (StageTable, "__init__"), (Stream, "enqueue"), (StageHeaders, "words"), (Regions, "move"),
    (StageImage, "become")])
def test_what_ends_a_change_of_what_was_seen_is_made_up_for(chain: Chain, engine: Engine, rng: np.random.Generator,
                                                            monkeypatch: pytest.MonkeyPatch, where: type, what: str,
                                                            ) -> None:
    stream, plans = engine.create_stream(), _Plans(chain)
    plans.take(chain, 300)
    chain.join(stream, rng)

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for number in range(12):
        plans.take(chain, (128, 777, 301)[number % 3])
        chain.move()
        with monkeypatch.context() as patch:
            patch.setattr(where, what, fail)
            with contextlib.suppress(KeyboardInterrupt):
                stream.enqueue_all(chain.launches)
        chain.check(stream, rng)


def test_without_memory_for_tables_launches_go_on(chain: Chain, engine: Engine, rng: np.random.Generator,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    stream, plans = engine.create_stream(), _Plans(chain)
    plans.take(chain, 300)
    chain.join(stream, rng)
    paths = _paths(chain, stream, monkeypatch)

    def fail(*_: object, **__: object) -> None:
        raise OutOfMemoryError("none is left")

    monkeypatch.setattr(StageTable, "__init__", fail)
    for _ in range(3):
        for wide in (128, 4000):
            plans.take(chain, wide)
            chain.check(stream, rng)
    assert paths == ["apart"] * 6
