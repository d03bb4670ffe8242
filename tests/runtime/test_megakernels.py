"""Launches that are joined: the text of a megakernel, and what it computes where the device has them."""
from __future__ import annotations

import gc
import re
import time
import weakref

import numpy as np
import pytest

from clinfer.runtime import megakernels
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.ptx_kernel import NotJoinable, find_kernel
from clinfer.runtime.ptx_megakernel import STAGE, Body, megakernel, turn_words, work_words
from tests.runtime.chains import Chain, OneByOne, joinable_chain

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
    works = work_words(np.array([1, 0]), np.array([(3, 2, 5), (7, 1, 1)]), np.array([700, 8]))
    assert [STAGE.pack(*work, *turn_words(True, 0, 9)) for work in works.tolist()] == [
        STAGE.pack(1, 3, 2, 30, 700, 1, 9, 0), STAGE.pack(0, 7, 1, 7, 8, 1, 9, 0)]
    assert turn_words(True, 2, 9) == (3, 9, 0) and turn_words(False, 0, 9) == (0, 9, 0)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 11])
def test_a_stage_finds_its_body(count: int) -> None:
    lines = megakernel([_body()] * count, 48 << 10).text.split("$MK_CHOOSE:")[1].split("\n")
    labels = {line[:-1]: number for number, line in enumerate(lines) if line.startswith("$MK_FROM_")}
    for body in range(count):
        number, is_less = 0, False
        while not (found := re.fullmatch(r"\tbra \$MK_BODY_(\d+);", lines[number])):
            if compared := re.fullmatch(r"\tsetp\.ge\.u32 %mk_p, %mk_body, (\d+);", lines[number]):
                is_less = body < int(compared[1])
            branch = re.fullmatch(r"\t@%mk_p bra (\$MK_FROM_\d+);", lines[number])
            number = labels[branch[1]] if branch and not is_less else number + 1
        assert int(found[1]) == body


def test_a_work_item_has_its_place_in_a_group() -> None:
    """By shifts where sizes are powers of two, and by divisions where they are not."""
    own = megakernel([_body(local=(32, 4, 1)), _body(local=(48, 2, 1))], 48 << 10).text
    assert "shr.u32 %mk_t, %mk_item, 5;" in own and "and.b32 %mk_iy, %mk_t, 3;" in own
    assert "div.u32 %mk_t, %mk_item, 48;" in own and "mul.lo.u32 %mk_ix, %mk_t, 48;" in own


def test_a_body_waits_where_its_kernel_says() -> None:
    marker = "\tbar.sync \t0;\n\t// begin inline asm\n\t// awaits others, has read 0 1\n\t// end inline asm\n"
    text = PTX.replace("\tbar.sync \t0;\n", marker)
    early = find_kernel(text, "scale")
    assert early.read_early == ((0, 1),) and find_kernel(PTX, "scale").read_early == ()
    assert find_kernel(PTX.replace("\tbar.sync \t0;\n", "// awaits others, has read\n"), "scale").read_early == ((),)
    built = megakernel([Body(early, (32, 4, 1), False), _body()], 48 << 10)
    own, other = (built.text[built.text.index(f"$MK_BODY_{number}:"):built.text.index(f"$MK_DONE_{number}:")]
                  for number in range(2))
    assert "$MK_POLL_0_1:" in own
    assert own.index("bar.sync %mk_bar") < own.index("$MK_POLL_0_1:") < own.index("ld.global")
    assert "barrier.cta.sync %mk_bar, 128;" in own and "POLL" not in other
    # Twice: nobody knows which of them others are to be awaited at.
    assert find_kernel(text.replace(marker, 2 * marker), "scale").read_early == (None, None)


def test_a_body_has_several_points_at_which_it_may_wait() -> None:
    line = "\t// awaits others, has read{}\n"
    text = PTX.replace("\tbar.sync \t0;\n", line.format(" 7") + "\tbar.sync \t0;\n" + line.format(" 7 0"))
    kernel = find_kernel(text, "scale")
    assert kernel.read_early == ((7,), (7, 0))
    own = megakernel([Body(kernel, (32, 4, 1), False)], 48 << 10).text
    own = own[own.index("$MK_BODY_0:"):own.index("$MK_DONE_0:")]
    assert own.index("%mk_due, 2;") < own.index("$MK_POLL_0_1:") < own.index("\tbar.sync %mk_bar, 128;")
    assert own.index("\tbar.sync %mk_bar, 128;") < own.index("%mk_due, 3;") < own.index("$MK_POLL_0_2:")
    # A line that what is written early makes useless is none; the other one is.
    kernel = find_kernel(text.replace(line.format(" 7 0"), "\tst.global.u32 \t[%rd1], %r6;\n" + line.format(" 7 0")),
                         "scale")
    assert kernel.read_early == ((7,), None)
    assert "$MK_POLL_0_2:" not in megakernel([Body(kernel, (32, 4, 1), False)], 48 << 10).text


@pytest.mark.parametrize(("moved", "is_early"), [
    ("ld.global.nc.u32 \t%r6, [%rd1];", True), ("ld.global.u32 \t%r6, [%rd9+4];", False),
    ("add.s64 \t%rd5, %rd9, %rd1;\n\t@%p1 ld.global.v2.u32 \t{%r6, %r7}, [%rd5];", False),
    ("cp.async.cg.shared.global [%r3], [%rd9], 16;", False), ("st.shared.u64 \t[%r3], %rd9;", True),
    ("ld.u32 \t%r6, [%rd9];", False), ("st.global.u32 \t[%rd1], %r6;", False), ("ld.shared.u32 \t%r6, [%rd9];", True)])
def test_what_a_compiler_moved_ahead_is_seen(moved: str, is_early: bool) -> None:
    text = PTX.replace("\t.param .u32 scale_param_1,", "\t.param .u64 .ptr .global .align 4 scale_param_1,").replace(
        "\tld.param.u64 \t%rd1, [scale_param_0];\n", "\tld.param.u64 \t%rd1, [scale_param_0];\n"
        f"\tld.param.u64 \t%rd9, [scale_param_1];\n\t{moved}\n\t// awaits others, has read 0\n")
    assert find_kernel(text, "scale").read_early == ((0,) if is_early else None,)


def test_registers_have_a_value_from_the_beginning() -> None:
    text = PTX.replace(".reg .b32 \t%r<9>;", ".reg .b32 \t%r<9>;\n\t.reg .f32 \t%f<2>;\n\t.reg .pred \t%p<3>;")
    own = megakernel([_body(text=text)], 48 << 10).text
    for line in ("mov.b32 %r8, 0;", "mov.b64 %rd0, 0;", "mov.f32 %f1, 0f00000000;"):
        assert line in own, line
    assert "%r9" not in own and "mov.pred" not in own


def test_tables_of_numbers_come_with_the_kernels_that_read_them() -> None:
    table, reads = ".global .align 4 .b8 two_over_pi[4] = {65, 144, 67, 60};", "\tmov.u64 \t%rd4, two_over_pi;\n"
    text = PTX.replace("\n.entry scale", f"{table}\n\n.entry scale", 1)
    reading = text.replace("\tbar.sync \t0;\n", "\tbar.sync \t0;\n" + reads)
    bodies = [_body(text=reading), _body(local=(64, 2, 1), text=reading), _body("plain", (128, 1, 1), True, text)]
    built = megakernel(bodies, 48 << 10).text
    assert built.count(table) == 1 and built.index(table) < built.index(".entry megakernel")
    assert built.count(reads.strip()) == 2
    assert table not in megakernel(bodies[2:], 48 << 10).text
    with pytest.raises(NotJoinable, match="two tables"):
        megakernel([bodies[0], _body(local=(64, 2, 1), text=reading.replace("{65,", "{66,"))], 48 << 10)


def test_work_items_may_have_a_little_memory() -> None:
    private = "\t.local .align 4 .b8 \t__local_depot3[28];\n"
    text = PTX.replace("\t.reg .b64 \t%rd<9>;\n", private + "\t.reg .b64 \t%rd<9>;\n", 1)
    assert private in megakernel([_body(text=text)], 48 << 10).text
    with pytest.raises(NotJoinable, match="each work-item"):
        _body(text=text.replace("[28]", "[260]"))


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

@pytest.fixture
def chain(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Chain:
    return joinable_chain(engine, monkeypatch)


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


def test_memory_that_is_given_back_while_addresses_are_asked_for_is_passed_over(chain: Chain, engine: Engine) -> None:
    """As states of a decoder are, which grow while its launches are joined."""
    other = engine.allocate_bytes(4 * 3 * 5000, "numbers")
    chain.go_by(other)
    other.release()
    megakernels._ask_addresses(engine, chain.launches)
    assert all(memory.cl_buffer and memory.origin[0].native.address is not None for memory in chain.memories)


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
