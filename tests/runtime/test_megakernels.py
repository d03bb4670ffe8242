"""Launches that are joined: the text of a megakernel, and what it computes where the device has them."""
from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Sequence

import numpy as np
import pytest

from clinfer.runtime import megakernels
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import Launches, WorkSize
from clinfer.runtime.ptx_kernel import NotJoinable, Parameter, PtxKernel, find_kernel
from clinfer.runtime.ptx_megakernel import STAGE, Body, Megakernel, megakernel
from clinfer.runtime.staged_launches import Joined, Launch, key_of
from clinfer.runtime.stream import Stream

PTX = """.version 9.0
.target sm_90, texmode_independent
.address_size 64

.entry scale(
	.param .u64 .ptr .global .align 4 scale_param_0,
	.param .u32 scale_param_1,
	.param .align 8 .b8 scale_param_2[24]
)
.reqntid 32, 4, 1
{
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<9>;
	.shared .align 16 .b8 scale_$_tile[100];
	.shared .align 64 .b8 scale_$_more[8];

	ld.param.u64 	%rd1, [scale_param_0];
	ld.param.u32 	%r1, [scale_param_2+4];
	mov.b64 	%rd2, scale_param_2;
	ld.param.u32 	%r2, [%rd2+8];
	mov.u32 	%r3, %ctaid.y;
	mov.b32 	%r4, %envreg1;
	mov.u32 	%r5, %tid.x;
	mov.u64 	%rd3, scale_$_more;
	st.shared.u32 	[scale_$_tile+4], %r1;
	bar.sync 	0;
	ld.global.nc.u32 	%r6, [%rd1];
	{
.reg .pred over_;
	}
	@%p1 bra 	$L__BB0_2;
	ret;

$L__BB0_2:
	mov.u32 	%r7, %ntid.y;
	ret;
}

.entry plain(
	.param .u64 .ptr .global .align 4 plain_param_0
)
{
	mov.b32 	%r1, %envreg3;
	ret;
}
"""


def _body(name: str = "scale", local: tuple[int, int, int] = (32, 4, 1), is_cut: bool = False, text: str = PTX) -> Body:
    return Body(find_kernel(text, name), local, is_cut)


def test_arguments_lie_as_a_kernel_has_them() -> None:
    kernel = find_kernel(PTX, "scale")
    assert [(p.offset, p.nbytes, p.is_pointer) for p in kernel.parameters] == [
        (0, 8, True), (8, 4, False), (16, 24, False)]
    assert kernel.arguments_bytes == 40 and kernel.local_bytes == 136


def test_a_body_asks_for_what_its_turn_has() -> None:
    built = megakernel([_body(), _body("plain", (128, 1, 1), True)], 48 << 10)
    own = built.text[built.text.index("$MK_BODY_0:"):built.text.index("$MK_BODY_1:")]
    for line in ("ld.shared.u64 \t%rd1, [%mk_arguments+0];", "ld.shared.u32 \t%r1, [%mk_arguments+20];",
                 "add.u64 \t%rd2, %mk_arguments, 16;", "ld.shared.u32 \t%r2, [%rd2+8];", "mov.u32 \t%r3, %mk_y;",
                 "mov.b32 \t%r4, 0;", "mov.u32 \t%r5, %mk_ix;", "add.u64 \t%rd3, %mk_local, 128;",
                 "st.shared.u32 \t[%mk_local+4], %r1;", "bar.sync %mk_bar, 128;", "ld.global.u32 \t%r6, [%rd1];",
                 "@%p1 bra \t$L0_BB0_2;", "$L0_BB0_2:", "mov.u32 \t%r7, 4;"):
        assert line in own, line
    assert "scale_" not in own and "ret;" not in own and own.count("bra $MK_DONE_0;") == 2
    assert own.count("{") == own.count("}")
    assert built.items == 256 and built.stage_bytes == STAGE.size + 48
    assert built.stage(1, (3, 2, 5), 700, b"\x07").startswith(STAGE.pack(1, 3, 2, 30, 700, 0, 0, 0) + b"\x07")


@pytest.mark.parametrize(("line", "replacement", "reason"), [
    ("bar.sync \t0;", "bar.sync \t1, 64;", "bar.sync"), ("bar.sync \t0;", "call.uni foo;", "call"),
    ("mov.u32 \t%r5, %tid.x;", "mov.u32 \t%r5, %nctaid.x;", "nctaid"),
    ("mov.u64 \t%rd3, scale_$_more;", "cvta.shared.u64 \t%rd3, scale_$_more;", "address"),
    ("scale_param_1,", "scale_param_1[2],", "parameter"), (".ptr .global", ".ptr .const", "parameter"),
    ("tile[100]", "tile[230000]", "local memory"), (".entry scale", ".entry other", "spells out"),
    ("\tret;\n}\n\n.entry plain", "\tret;\n\n.entry plain", "no end")])
def test_what_a_body_may_not_have(line: str, replacement: str, reason: str) -> None:
    assert line in PTX
    text = PTX.replace(line, replacement, 1)
    if reason == "no end":
        text = text[:text.index(".entry plain")]
    with pytest.raises(NotJoinable, match=reason):
        megakernel([_body(text=text)], 228 << 10)


def test_local_memory_bounds_what_runs_at_a_time() -> None:
    """Two groups of 128 work-items with 136 bytes each, the second one behind the next multiple of 1024."""
    assert "mk_memory[1328]" in megakernel([_body()], 48 << 10).text
    assert "mk_memory[304]" in megakernel([_body()], 2500).text
    with pytest.raises(NotJoinable, match="too large"):
        megakernel([_body()], 1300)


@pytest.mark.parametrize(("local", "is_cut"), [((33, 1, 1), False), ((2048, 1, 1), False), ((32, 4, 1), True)])
def test_groups_that_no_megakernel_has(local: tuple[int, int, int], is_cut: bool) -> None:
    with pytest.raises(NotJoinable):
        _body(local=local, is_cut=is_cut)


def test_short_runs_stay_apart() -> None:
    assert megakernels._in_long_runs([True] * 3 + [False] + [True] * 4 + [False, True]) == {4, 5, 6, 7}


# -- on a device that has them, or with a program that does one by one what a table says --------

SOURCE = """
kernel void open(global const int* restrict in, global int* out, int n) {
    int i = get_global_id(0) + get_global_id(1) * n;
    out[i] = in[n * 3 - 1 - i] + i;
}
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void turn(global const int* in, global int* out, int n) {
    local int items[64];
    int i = get_local_id(0);
    items[63 - i] = get_group_id(0) * 64 + i < n ? in[get_group_id(0) * 64 + i] : n;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_group_id(0) * 64 + i < n) out[get_group_id(0) * 64 + i] = items[i] ^ n;
}
"""
BY_ITSELF = """
kernel void megakernel(global const uchar* table, global uint* counter, uint first, uint stages, uint met) {
    if (get_global_id(0) || *counter != met) return;
    for (uint s = 0; s < stages; ++s) {
        global const uint* stage = (global const uint*)(table + (first + s) * STAGE_BYTES);
        global const int* in = (global const int*)*(global const ulong*)(stage + 8);
        global int* out = (global int*)*(global const ulong*)(stage + 10);
        const int n = *(global const int*)(stage + 12);
        if (stage[0]) {
            for (uint i = 0; i < stage[3] * 64 && i < n; ++i) {
                const uint other = i / 64 * 64 + 63 - i % 64;
                out[i] = (other < n ? in[other] : n) ^ n;
            }
        } else {
            for (uint y = 0; y < stage[2]; ++y)
                for (uint x = 0; x < stage[4]; ++x) out[x + y * n] = in[n * 3 - 1 - (x + y * n)] + (int)(x + y * n);
        }
        *counter += s + 1 < stages ? UNITS : 0;
    }
}
"""
PARAMETERS = (Parameter("in", 0, 8, True), Parameter("out", 8, 8, True), Parameter("n", 16, 4, False))
ROUNDS = 3
Array = np.ndarray


class Chain:
    """Launches from one memory to another and back, and the same in NumPy."""

    def __init__(self, engine: Engine, wide: int) -> None:
        self.engine, self.launches = engine, Launches()
        self.memories = [engine.allocate_bytes(4 * 3 * 5000, "numbers", zero=True) for _ in range(2)]
        program = engine.build_program(SOURCE)
        self.kernels = [engine.create_kernel(program, name) for _ in range(ROUNDS) for name in ("open", "turn")]
        for number, kernel in enumerate(self.kernels):
            kernel.set_buffer(0, self.memories[number % 2])
            kernel.set_buffer(1, self.memories[1 - number % 2])
        self.wide = wide
        self.launches.extend(zip(self.kernels, self._sizes(wide), strict=True))

    def _sizes(self, wide: int) -> list[WorkSize]:
        for kernel in self.kernels:
            kernel.set_bytes(2, np.int32(wide if kernel.entry == "open" else 3 * wide).tobytes())
        return [WorkSize((wide, 3)), WorkSize((-(-3 * wide // 64) * 64,), (64,))] * ROUNDS

    def resize(self, wide: int) -> None:
        self.wide = wide
        for position, size in enumerate(self._sizes(wide)):
            self.launches.exchange(position, (self.kernels[position], size))

    def move(self) -> None:
        """Let another memory take the place of the first one, which is given back at once."""
        before, self.memories[0] = self.memories[0], self.engine.allocate_bytes(4 * 3 * 5000, "numbers", zero=True)
        for number, kernel in enumerate(self.kernels):
            kernel.set_buffer(number % 2, self.memories[0])
        before.release()

    def run(self, stream: Stream, values: Array) -> None:
        stream.write(self.memories[0], values)
        stream.enqueue_all(self.launches)

    def result(self, stream: Stream) -> Array:
        return stream.read(self.memories[0], 4 * 3 * self.wide).view(np.int32)

    def expected(self, values: Array) -> Array:
        count = 3 * self.wide
        places = np.arange(count, dtype=np.int32)
        for _ in range(ROUNDS):
            values = values[::-1] + places
            padded = np.concatenate([values, np.full(-count % 64, count, np.int32)]).reshape(-1, 64)
            values = padded[:, ::-1].reshape(-1)[:count] ^ np.int32(count)
        return values

    def check(self, stream: Stream, rng: np.random.Generator) -> None:
        values = rng.integers(-1000, 1000, 3 * self.wide, np.int32)
        self.run(stream, values)
        np.testing.assert_array_equal(self.result(stream), self.expected(values))

    def join(self, stream: Stream, rng: np.random.Generator) -> None:
        """Run until the launches are stages."""
        for _ in range(megakernels.AGAIN):
            self.check(stream, rng)
        until = time.monotonic() + 60
        while self.launches.staged is None and time.monotonic() < until:
            time.sleep(0.05)
            self.check(stream, rng)
        assert self.launches.staged is not None


class OneByOne(megakernels.Megakernels):
    """Megakernels of any device whose pointers are numbers: one work-item does all."""

    def _join(self, engine: Engine, launches: Sequence[Launch]) -> Joined:
        keys = dict.fromkeys(map(key_of, launches))
        bodies = tuple(Body(PtxKernel(key.entry, PARAMETERS, "", ""), key.local, False) for key in keys)
        built = Megakernel("", bodies, 256, STAGE.size + 32)
        program = engine.build_program(
            BY_ITSELF, f"-DSTAGE_BYTES={built.stage_bytes} -DUNITS={engine.capabilities.compute_units}u")
        return Joined(program, built, {key: number for number, key in enumerate(keys)}, frozenset(range(len(launches))))


@pytest.fixture
def chain(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Chain:
    if engine.megakernels is None:
        monkeypatch.setitem(engine.__dict__, "megakernels", OneByOne(engine.capabilities.compute_units))
    return Chain(engine, 300)


def test_an_engine_goes_with_its_last_user(engine: Engine, rng: np.random.Generator) -> None:
    """And with it a context of the user's, without the garbage collector."""
    mine = Engine(engine.device, engine.capabilities)
    if mine.megakernels is None:
        mine.__dict__["megakernels"] = OneByOne(mine.capabilities.compute_units)
    stream, gone = mine.create_stream(), weakref.ref(mine)
    chain = Chain(mine, 300)
    chain.join(stream, rng)
    chain.move()
    chain.check(stream, rng)
    gc.disable()
    try:
        del mine, stream, chain
        # The thread that joins launches may be about to end.
        until = time.monotonic() + 10
        while gone() is not None and time.monotonic() < until:
            time.sleep(0.05)
        assert gone() is None
    finally:
        gc.enable()


def test_joined_launches_compute_the_same(chain: Chain, engine: Engine, rng: np.random.Generator) -> None:
    stream = engine.create_stream()
    chain.join(stream, rng)
    for _ in range(20):
        chain.check(stream, rng)


def test_sizes_and_memories_may_change(chain: Chain, engine: Engine, rng: np.random.Generator) -> None:
    stream = engine.create_stream()
    chain.join(stream, rng)
    staged = chain.launches.staged
    for wide in (301, 5000, 128, 129, 1777):
        chain.resize(wide)
        for _ in range(3):
            chain.check(stream, rng)
        chain.move()
        for _ in range(3):
            chain.check(stream, rng)
    assert chain.launches.staged is staged


def test_memory_may_be_given_back_while_it_is_used(chain: Chain, engine: Engine, rng: np.random.Generator) -> None:
    stream = engine.create_stream()
    chain.join(stream, rng)
    for _ in range(20):
        values = rng.integers(-1000, 1000, 3 * chain.wide, np.int32)
        for _ in range(5):
            chain.run(stream, values)
        kept = engine.allocate_bytes(4 * 3 * chain.wide, "a copy")
        stream.copy(chain.memories[0], kept, 4 * 3 * chain.wide)
        chain.move()
        others = [engine.allocate_bytes(4 * 3 * 5000, "others", zero=True) for _ in range(4)]
        chain.run(stream, values)
        np.testing.assert_array_equal(stream.read(kept).view(np.int32), chain.expected(values))
        np.testing.assert_array_equal(chain.result(stream), chain.expected(values))
        del others


def test_another_kernel_takes_them_apart(chain: Chain, engine: Engine, rng: np.random.Generator) -> None:
    stream = engine.create_stream()
    chain.join(stream, rng)
    other = engine.create_kernel(chain.kernels[0].program, "open")
    other.set_buffer(0, chain.memories[0])
    other.set_buffer(1, chain.memories[1])
    other.set_bytes(2, np.int32(chain.wide).tobytes())
    chain.launches.exchange(0, (other, WorkSize((chain.wide, 3))))
    assert chain.launches.staged is None
    chain.kernels[0] = other
    chain.join(stream, rng)


def test_queues_take_turns(chain: Chain, engine: Engine, rng: np.random.Generator) -> None:
    chains = [chain, *(Chain(engine, 1000 + number) for number in range(3))]
    streams = [engine.create_stream() for _ in chains]
    for each, stream in zip(chains, streams, strict=True):
        each.join(stream, rng)
    for _ in range(200):
        given = [rng.integers(-1000, 1000, 3 * each.wide, np.int32) for each in chains]
        for each, stream, values in zip(chains, streams, given, strict=True):
            each.run(stream, values)
            stream.flush()
        for each, stream, values in zip(chains, streams, given, strict=True):
            np.testing.assert_array_equal(each.result(stream), each.expected(values))
            stream.finish()


def test_without_the_knob_nothing_is_joined(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_MEGAKERNELS", "0")
    assert Engine(engine.device, engine.capabilities).megakernels is None
