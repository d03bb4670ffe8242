"""Tables of stages that change from launch to launch."""
from __future__ import annotations

import contextlib
import struct
from array import array
from collections.abc import Iterable

import numpy as np
import pytest

from clinfer.runtime import launches, stage_image, staged_launches
from clinfer.runtime.body_key import key_of
from clinfer.runtime.device_addresses import DeviceAddresses
from clinfer.runtime.engine import Engine
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import PLANNED, SIZE_CODE, KernelTable, Launches, PlannedLaunches, WorkSize
from clinfer.runtime.memory import Memory
from clinfer.runtime.ptx_megakernel import STAGE, turn_words, work_words
from clinfer.runtime.stage_headers import StageHeaders
from clinfer.runtime.stage_image import StageImage
from clinfer.runtime.stage_table import StageTable
from clinfer.runtime.staged_launches import Joined
from clinfer.runtime.stream import Stream
from tests.runtime import chains
from tests.runtime.chains import Braid, Chain, OneByOne, joinable_chain


@pytest.fixture
def chain(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Chain:
    return joinable_chain(engine, monkeypatch)


def _expected_table(chain: Chain, stream: Stream, joined: Joined) -> bytes:
    """The table of a chain, made anew: each launch waits for the one before, unless it reads nothing first."""
    made = b""
    for number, (kernel, work) in enumerate(chain.launches):
        key, (source, target, wide) = key_of((kernel, work)), map(kernel.argument, range(3))
        assert isinstance(source, Memory) and isinstance(target, Memory) and isinstance(wide, bytes)
        words, = work_words(np.array([joined.numbers[key]]), np.array([key.groups(work)]), work.global_size[:1])
        point = int(number > 0 and joined.megakernel.bodies[joined.numbers[key]].kernel.read_early == ((),))
        arguments = struct.pack("<QQ", *stream.addresses.of([source, target])) + wide
        made += joined.megakernel.stage(STAGE.pack(*words, *turn_words(number > 0, point, 0)), arguments)
    return made


def _check_table(chain: Chain, stream: Stream) -> None:
    staged = chain.launches.staged
    assert staged is not None and not staged.changed and not staged.resized
    assert stream.read(staged._table.memory).tobytes() == _expected_table(chain, stream, staged._joined)


def test_a_table_that_is_changed_in_place_is_one_that_is_made_anew(chain: Chain, engine: Engine,
                                                                   rng: np.random.Generator) -> None:
    stream, other = engine.create_stream(), engine.allocate_bytes(4 * 3 * 5000, "numbers")
    chain.join(stream, rng)
    changes = (lambda: chain.resize(int(rng.integers(128, 5000))), chain.move, lambda: chain.resize_one(rng),
               lambda: chain.go_by(other), chain.kernels[3].forget_buffers, lambda: chain.kernels[4].forget_buffer(1),
               lambda: chain.kernels[5].set_bytes(2, np.int32(rng.integers(1, 100)).tobytes()))
    for _ in range(100):
        for number in rng.integers(0, len(changes), 2):
            chain.bind()
            changes[number]()
        if None in map(chain.kernels[3].argument, range(2)) or chain.kernels[4].argument(1) is None:
            chain.bind()
        # Where most have other sizes the first time is one by one.
        for _ in range(2):
            chain.run(stream, np.zeros(3 * chain.wide, np.int32))
        _check_table(chain, stream)
    chain.bind()
    chain.resize(500)
    for _ in range(3):
        chain.check(stream, rng)


@pytest.mark.parametrize(("where", "what"), [
    (Stream, "keep_a_while"), (StageTable, "update"), (Stream, "enqueue"), (DeviceAddresses, "of"),
    (StageHeaders, "words"), (staged_launches.cl.Buffer, "from_int_ptr")])
def test_what_ends_a_change_is_made_up_for(chain: Chain, engine: Engine, rng: np.random.Generator,
                                           monkeypatch: pytest.MonkeyPatch, where: type, what: str) -> None:
    stream, others = engine.create_stream(), [engine.allocate_bytes(4 * 3 * 5000, "numbers") for _ in range(3)]
    chain.join(stream, rng)

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for other in others:
        chain.go_by(other)
        chain.launches.exchange(3, (chain.kernels[3], WorkSize((64,), (64,))))
        with monkeypatch.context() as patch:
            patch.setattr(where, what, fail)
            with pytest.raises(KeyboardInterrupt):
                stream.enqueue_all(chain.launches)
        stream.enqueue_all(chain.launches)
        _check_table(chain, stream)
        chain.resize(chain.wide)
        for _ in range(2):
            chain.check(stream, rng)


def test_an_interrupt_between_words_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    image = StageImage(64, 4)
    image.sent()

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stage_image, "range", fail, raising=False)
        with pytest.raises(KeyboardInterrupt):
            image.put(8, b"12345678")
    image.put(8, b"12345678")
    assert image.count == 2 and image.places.tolist() == [2, 3] and image.words.tobytes()[8:16] == b"12345678"


def test_an_interrupt_while_stages_change_places_loses_none(chain: Chain, engine: Engine, rng: np.random.Generator,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    stream, others = engine.create_stream(), [engine.allocate_bytes(4 * 3 * 5000, "numbers") for _ in range(2)]
    chain.join(stream, rng)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    # The last one reads what nobody writes, and then what the one before writes: groups meet for it, or not.
    for source in (*others, chain.memories[1]):
        chain.kernels[-1].set_buffer(0, source)
        with monkeypatch.context() as patch:
            patch.setattr(Kernel, "show_block", fail)
            for _ in range(2):
                with contextlib.suppress(KeyboardInterrupt):
                    stream.enqueue_all(chain.launches)
        stream.enqueue_all(chain.launches)
        stream.finish()
    _check_table(chain, stream)
    for _ in range(3):
        chain.check(stream, rng)


def test_a_table_is_brought_up_to_date_ahead(chain: Chain, engine: Engine, rng: np.random.Generator,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    stream = engine.create_stream()
    chain.join(stream, rng)
    staged = chain.launches.staged
    assert staged is not None
    chain.resize_one(rng)
    staged.prepare(stream, chain.launches)
    _check_table(chain, stream)
    with monkeypatch.context() as patch:
        patch.setattr(StageImage, "sent", None)
        stream.enqueue_all(chain.launches)
    # What changes as a whole is launched one by one, again and again if it does, so there is nothing to prepare.
    with monkeypatch.context() as patch:
        patch.setattr(StageImage, "sent", None)
        for _ in range(3):
            chain.resize(chain.wide + 64)
            staged.prepare(stream, chain.launches)
            chain.check(stream, rng)
    for _ in range(3):
        chain.check(stream, rng)


def test_only_what_changed_is_looked_at(chain: Chain, engine: Engine, rng: np.random.Generator,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    stream = engine.create_stream()
    chain.join(stream, rng)
    asked: list[Memory] = []
    of = DeviceAddresses.of

    def noted(addresses: DeviceAddresses, memories: Iterable[Memory]) -> list[int]:
        asked.extend(memories := [*memories])
        return of(addresses, memories)

    monkeypatch.setattr(DeviceAddresses, "of", noted)
    chain.resize(chain.wide)
    staged = chain.launches.staged
    assert staged is not None and not staged.changed and not staged.resized
    chain.kernels[1].set_bytes(2, np.int32(5).tobytes())
    assert [*staged.changed] == [(1, 2)]
    chain.resize(chain.wide)
    chain.check(stream, rng)
    assert not asked
    other = engine.allocate_bytes(4 * 3 * 5000, "numbers")
    chain.kernels[0].set_buffer(1, other)
    chain.kernels[1].set_buffer(0, other)
    chain.check(stream, rng)
    assert asked == [other, other]


@pytest.mark.parametrize("in_c", [True, False])
def test_argument_blocks_are_written_to_the_table(chain: Chain, engine: Engine, rng: np.random.Generator,
                                                  monkeypatch: pytest.MonkeyPatch, in_c: bool) -> None:
    """By the loop in C and by Python's, whether few of them change or all, and where stages change places."""
    if not in_c:
        monkeypatch.setattr(launches, "_exchange_in_c", lambda: None)
    stream, kernels, other = engine.create_stream(), KernelTable(), engine.allocate_bytes(4 * 3 * 5000, "numbers")
    for kernel in chain.kernels:
        kernels.add(kernel, 2, 4)

    def go(wide: int, shorter: int = -1) -> None:
        """Be that wide; of one stage fewer work-groups run than it needs, with another number."""
        chain.wide = wide
        works = [WorkSize((wide, 3)) if kernel.entry == "open" else WorkSize((-(-3 * wide // 64) * 64,), (64,))
                 for kernel in chain.kernels]
        blocks = [wide if kernel.entry == "open" else 3 * wide for kernel in chain.kernels]
        if shorter >= 0:
            works[shorter], blocks[shorter] = WorkSize((64,), (64,)), int(rng.integers(1, 99))
        records = [PLANNED.pack(number, 4 * number, 4, work) for number, work in enumerate(works)]
        chain.launches.become(PlannedLaunches(array(SIZE_CODE, b"".join(records)),
                                              np.array(blocks, np.int32).tobytes()), 0, kernels)

    chain.launches = Launches(len(chain.kernels))
    go(300)
    chain.join(stream, rng)
    for wide, shorter in [(300, 1), (300, 3), (300, -1), (301, -1), (301, 5), (4000, -1), (4000, 1), (128, 3)]:
        go(wide, shorter)
        for _ in range(2):
            chain.run(stream, np.zeros(3 * wide, np.int32))
        _check_table(chain, stream)
        chain.go_by(other)
        go(wide)
        for _ in range(2):
            chain.check(stream, rng)
        _check_table(chain, stream)
        chain.bind()


def test_others_take_the_place_of_launches_and_give_it_back(chain: Chain, engine: Engine,
                                                            rng: np.random.Generator) -> None:
    """They have all kernels but one in common, whose arguments are then those of the last."""
    stream, first = engine.create_stream(), chain.launches
    twin = engine.create_kernel(chain.kernels[0].program, "open", frozenset({0}))
    kernels = {id(first): chain.kernels, id(second := Launches(left=first.left)): [twin, *chain.kernels[1:]]}

    def take(which: Launches) -> None:
        chain.launches, chain.kernels = which, kernels[id(which)]
        chain.bind()

    take(second)
    second.extend(zip(chain.kernels, chain._sizes(chain.wide), strict=True))
    chain.join(stream, rng)
    take(first)
    chain.join(stream, rng)
    for wide in (300, 301, 128, 4000, 300):
        for which in (second, first):
            take(which)
            chain.resize(wide)
            for _ in range(2):
                chain.check(stream, rng)
                chain.move()
            chain.check(stream, rng)
            _check_table(chain, stream)
    assert second.staged is not None and first.staged is not None
    # Who is not in use holds no memory that was given back.
    take(first)
    chain.move()
    twin.set_buffer(0, chain.memories[0])
    chain.check(stream, rng)
    addresses = {buffer.int_ptr for buffer in second.staged.changed.held.values()}
    assert addresses <= {memory.cl_buffer.int_ptr for memory in chain.memories}
    # Nor do kernels look after tables that are gone.
    second._forget_again()
    assert len(chain.kernels[1]._watched) == 1
    chain.check(stream, rng)


def test_launches_of_several_chains_wait_for_their_own(engine: Engine, rng: np.random.Generator,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    stream, braid = engine.create_stream(), joinable_chain(engine, monkeypatch, 3)
    braid.join(stream, rng)
    staged = braid.launches.staged
    assert staged is not None
    places = [staged._order.stages[position] for position in range(len(braid.launches))]
    assert [place.slot for place in places] == [*range(len(places))]
    assert [place.meets for place in places] == [False, False, False, *[True, False, False] * (len(places) // 3 - 1)]
    for wide in (5000, 128, 301):
        braid.resize(wide)
        for _ in range(3):
            braid.check(stream, rng)


def test_the_order_follows_where_memory_lies(engine: Engine, rng: np.random.Generator,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that begins to read what another one writes waits for it, until it no longer does."""
    stream, braid = engine.create_stream(), joinable_chain(engine, monkeypatch, 2)
    braid.join(stream, rng)
    staged, last = braid.launches.staged, len(braid.launches) - 1
    assert staged is not None and isinstance(braid, Braid)
    levels = len(braid.kernels)
    other, own = braid.others[0].kernels[-1], braid.others[0].memories[1]
    for source, wanted in [(braid.memories[0], levels + 1), (own, levels), (braid.memories[0], levels + 1)]:
        other.set_buffer(0, source)
        for _ in range(2):
            braid.run(stream, rng.integers(-1000, 1000, 3 * braid.wide, np.int32))
        assert 1 + sum(place.meets for place in staged._order.stages.values()) == wanted
        assert staged._order.stages[last].slot == last
        result = braid.result(stream)
    padded = np.full(-(-3 * braid.others[0].wide // 64) * 64, 3 * braid.others[0].wide, np.int32)
    padded[:len(result)] = result
    turned = padded.reshape(-1, 64)[:, ::-1].reshape(-1)[:len(result) // 64 * 64] ^ np.int32(3 * braid.others[0].wide)
    np.testing.assert_array_equal(braid.others[0].result(stream)[:len(turned)], turned)
    other.set_buffer(0, own)
    for _ in range(3):
        braid.check(stream, rng)


def test_groups_meet_at_the_last_point_before_what_may_be_under_way(engine: Engine, monkeypatch: pytest.MonkeyPatch,
                                                                    rng: np.random.Generator) -> None:
    monkeypatch.setitem(chains.EARLY, "turn", "// awaits others, has read\n// awaits others, has read 0\n")
    stream, chain = engine.create_stream(), joinable_chain(engine, monkeypatch)
    if not isinstance(engine.megakernels, OneByOne):
        pytest.skip("the device has kernels of its own")
    chain.join(stream, rng)
    staged, other = chain.launches.staged, engine.allocate_bytes(4 * 3 * 5000, "numbers", zero=True)
    assert staged is not None
    # The last one writes what the one before reads, and reads what that one writes, what another one wrote, or neither.
    last = len(chain.launches) - 1
    for source, point in [(other, 2), (chain.memories[1], 1), (other, 2)]:
        chain.kernels[last].set_buffer(0, source)
        for _ in range(2):
            chain.run(stream, np.zeros(3 * chain.wide, np.int32))
        assert staged._order.stages[last][1:3] == (True, point)
