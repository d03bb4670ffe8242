"""The text of a megakernel: one persistent kernel of PTX that runs the bodies of others, stage by stage.

As many groups as the device has compute units stay from the first stage to the last. Each takes every n-th work-group
of a stage; before a stage that uses what others write all of them meet, or within it: a body may begin with what does
not depend on others, and wait for them at one of several points, where it needs what they wrote. Stages come from a
table in global memory, so that one megakernel serves any order of its bodies, any sizes and any arguments. A body is
the text of a kernel: where it asks for its group, its work-item, its parameters or its local memory, it is given those
of the work-group whose turn it is. Parameters come from local memory, to which those of the next stage are copied
meanwhile.

PTX is described in NVIDIA's "Parallel Thread Execution ISA". What one group writes is there for the others behind the
barrier by its memory consistency model: they release and acquire a counter. Reads that need not heed writes of the
same launch (ld.global.nc) become such that do, and bulk copies, which go another way, are ordered by a proxy fence.
"""
from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from clinfer.runtime.ptx_kernel import VARIABLE, NotJoinable, PtxKernel, rounded, variables

ENTRY = "megakernel"
STAGE = struct.Struct("<8I")
"""Before the arguments of a stage: the number of its body, its groups in the first two dimensions, all of its groups,
its work-items in the first dimension, when groups meet (0: not, 1: before it, 1 + n: at its n-th point), the group that
begins with its work, a zero."""
_MEETS_AT, _FIRST_AT = 5 * 4, 6 * 4
"""Where in it, in bytes, it stands when groups meet, and which of them begins."""
_BEFORE = 1

_REGISTERS, _MOST_REGISTERS = 65536, 255
"""Of a compute unit, and of a work-item ("CUDA C++ Programming Guide", technical specifications)."""
_LEAST_ITEMS, _MOST_ITEMS = 256, 1024
_WARP, _VECTOR, _ALIGNMENT = 32, 16, 1024
_BARRIERS = 16
"""Those of a group: the first is of all work-items, the others of the work-groups that run in it."""
_POLLS = 1 << 24
"""Some ten seconds; then a group that never came will not come, and the launch is given up."""
_REGISTERS_OF = re.compile(r"^\s*\.reg\s+\.([busf]\d+)\s+(%\w+)<(\d+)>;$", re.MULTILINE)
_ZEROS = {"f32": "0f00000000", "f64": "0d0000000000000000"}
_COMMON = re.compile(r"\.sync\b|\.shared\b")


@dataclass(frozen=True)
class Body:
    """A kernel with the local size that it has in a megakernel. `is_cut`: the first dimension of a launch need not be a
    multiple of it, because nothing is common to the work-items of a group."""

    kernel: PtxKernel
    local: tuple[int, int, int]
    is_cut: bool

    def __post_init__(self) -> None:
        if self.items % _WARP or self.items > _MOST_ITEMS:
            raise NotJoinable(f"{self.kernel.name} has {self.items} work-items in a group")
        if self.is_cut and _COMMON.search(self.kernel.text):
            raise NotJoinable(f"{self.kernel.name} leaves the local size open, and has work-items that wait for others")

    @property
    def items(self) -> int:
        """Work-items of a group."""
        return self.local[0] * self.local[1] * self.local[2]


@dataclass(frozen=True)
class Megakernel:
    """The text of a megakernel, its bodies in the order of their numbers, the work-items of its groups, and the bytes
    of a stage in its table."""

    text: str
    bodies: tuple[Body, ...]
    items: int
    stage_bytes: int

    def stage(self, header: bytes, arguments: bytes) -> bytes:
        """A stage as it stands in the table: what `stage_header` and `turn_header` give, and the arguments."""
        return (header + arguments).ljust(self.stage_bytes, b"\0")


def work_words(bodies: np.ndarray, groups: np.ndarray, wide: np.ndarray) -> np.ndarray:
    """The first part of what stands before the arguments of stages, a row of words for each: of the numbers of bodies,
    their work-groups in three dimensions (a row each), and their work-items in the first dimension."""
    return np.column_stack([bodies, groups[:, :2], groups.prod(axis=1), wide]).astype(np.uint32)


def turn_words(meets: bool, point: int, first_group: int) -> tuple[int, int, int]:
    """The second part of one stage: whether the groups of the megakernel meet for it, at which of the points where its
    kernel may await others (0: before it begins), and which of them has its first work-group."""
    return meets and _BEFORE + point, first_group, 0


def megakernel(bodies: Sequence[Body], local_bytes: int) -> Megakernel:
    """The megakernel of some bodies, with that much local memory at most; NotJoinable: they do not fit together."""
    items = max(_LEAST_ITEMS, *(body.items for body in bodies))
    stage_bytes = rounded(STAGE.size + max(body.kernel.arguments_bytes for body in bodies), _VECTOR)
    room = local_bytes - 2 * stage_bytes - _ALIGNMENT
    if stage_bytes > items * _VECTOR or max(body.kernel.local_bytes for body in bodies) > room:
        raise NotJoinable("its stages are too large")
    teams = tuple(_teams(body, items, room) for body in bodies)
    pool = rounded(max(_VECTOR, *((count - 1) * _pitch(body) + body.kernel.local_bytes
                                   for body, count in zip(bodies, teams, strict=True))), _VECTOR)
    text = _FRAME.format(
        numbers=_tables(bodies),
        header=max((body.kernel.header for body in bodies), key=lambda header: "sm_90a" in header), entry=ENTRY,
        registers=min(_MOST_REGISTERS, _REGISTERS // items // 8 * 8), items=items, bytes=pool + 2 * stage_bytes,
        tables=pool, stage_bytes=stage_bytes, vectors=stage_bytes // _VECTOR, header_bytes=STAGE.size,
        first_at=_FIRST_AT, meets_at=_MEETS_AT, before=_BEFORE, wait=_wait("FRAME", "%mk_tid", "0"),
        choices=_choice(0, len(bodies)), stages="".join(
            _stage(number, body, count) for number, (body, count) in enumerate(zip(bodies, teams, strict=True))))
    return Megakernel(text, tuple(bodies), items, stage_bytes)


def _tables(bodies: Sequence[Body]) -> str:
    """The tables of numbers that bodies read; NotJoinable: two have one name."""
    found: dict[str, str] = {}
    for name, table in (table for body in bodies for table in body.kernel.tables):
        if found.setdefault(name, table) != table:
            raise NotJoinable(f"there are two tables {name}")
    return "\n".join(found.values())


def _pitch(body: Body) -> int:
    """Bytes from the local memory of one work-group of a body to that of the next."""
    return rounded(body.kernel.local_bytes, _ALIGNMENT)


def _teams(body: Body, items: int, room: int) -> int:
    """How many work-groups of a body run in a group of the megakernel."""
    count = min(items // body.items, _BARRIERS - 1)
    return max(1, min(count, room // _pitch(body))) if body.kernel.local_bytes else count


_FRAME = """\
{header}.address_size 64

{numbers}
.entry {entry}(
	.param .u64 .ptr .global .align 16 {entry}_table,
	.param .u64 .ptr .global .align 4 {entry}_counter,
	.param .u32 {entry}_first,
	.param .u32 {entry}_stages,
	.param .u32 {entry}_met
)
.maxnreg {registers}
.reqntid {items}, 1, 1
{{
	.reg .pred %mk_p;
	.reg .b32 %mk_tid, %mk_cta, %mk_ctas, %mk_left, %mk_goal, %mk_place, %mk_other, %mk_t, %mk_u;
	.reg .b32 %mk_body, %mk_gx, %mk_gy, %mk_all, %mk_wide, %mk_work, %mk_step, %mk_team, %mk_item, %mk_bar;
	.reg .b32 %mk_x, %mk_y, %mk_z, %mk_ix, %mk_iy, %mk_iz, %mk_turn, %mk_due;
	.reg .b64 %mk_table, %mk_counter, %mk_arguments, %mk_local, %mk_from;
	.shared .align 1024 .b8 mk_memory[{bytes}];

	mov.u32 %mk_tid, %tid.x;
	mov.u32 %mk_cta, %ctaid.x;
	mov.u32 %mk_ctas, %nctaid.x;
	ld.param.u64 %mk_table, [{entry}_table];
	ld.param.u64 %mk_counter, [{entry}_counter];
	ld.param.u32 %mk_t, [{entry}_first];
	mul.wide.u32 %mk_from, %mk_t, {stage_bytes};
	add.u64 %mk_table, %mk_table, %mk_from;
	ld.param.u32 %mk_left, [{entry}_stages];
	ld.param.u32 %mk_goal, [{entry}_met];
	mov.u32 %mk_place, mk_memory;
	add.u32 %mk_place, %mk_place, {tables};
	add.u32 %mk_other, %mk_place, {stage_bytes};
	setp.ge.u32 %mk_p, %mk_tid, {vectors};
	@%mk_p bra $MK_FETCHED;
	shl.b32 %mk_t, %mk_tid, 4;
	cvt.u64.u32 %mk_from, %mk_t;
	add.u64 %mk_from, %mk_table, %mk_from;
	add.u32 %mk_t, %mk_place, %mk_t;
	cp.async.cg.shared.global [%mk_t], [%mk_from], 16;
	cp.async.wait_all;
$MK_FETCHED:
	barrier.cta.sync 0;

$MK_STAGE:
	add.u64 %mk_table, %mk_table, {stage_bytes};
	setp.le.u32 %mk_p, %mk_left, 1;
	@%mk_p bra $MK_ASKED;
	setp.ge.u32 %mk_p, %mk_tid, {vectors};
	@%mk_p bra $MK_ASKED;
	shl.b32 %mk_t, %mk_tid, 4;
	cvt.u64.u32 %mk_from, %mk_t;
	add.u64 %mk_from, %mk_table, %mk_from;
	add.u32 %mk_t, %mk_other, %mk_t;
	cp.async.cg.shared.global [%mk_t], [%mk_from], 16;
$MK_ASKED:
	ld.shared.v4.u32 {{%mk_body, %mk_gx, %mk_gy, %mk_all}}, [%mk_place];
	ld.shared.u32 %mk_wide, [%mk_place+16];
	ld.shared.u32 %mk_t, [%mk_place+{first_at}];
	sub.u32 %mk_turn, %mk_cta, %mk_t;
	setp.lt.u32 %mk_p, %mk_cta, %mk_t;
	@%mk_p add.u32 %mk_turn, %mk_turn, %mk_ctas;
	ld.shared.u32 %mk_due, [%mk_place+{meets_at}];
	setp.eq.u32 %mk_p, %mk_due, 0;
	@%mk_p bra $MK_CHOOSE;
	setp.eq.u32 %mk_p, %mk_due, {before};
	@%mk_p bra $MK_AWAIT;
	setp.lt.u32 %mk_p, %mk_turn, %mk_all;
	@%mk_p bra $MK_CHOOSE;
$MK_AWAIT:
{wait}$MK_CHOOSE:
	cvt.u64.u32 %mk_arguments, %mk_place;
	add.u64 %mk_arguments, %mk_arguments, {header_bytes};
{choices}{stages}
$MK_BEHIND:
	cp.async.wait_all;
	barrier.cta.sync 0;
	sub.u32 %mk_left, %mk_left, 1;
	setp.eq.u32 %mk_p, %mk_left, 0;
	@%mk_p bra $MK_END;
	ld.shared.u32 %mk_t, [%mk_other+{meets_at}];
	setp.eq.u32 %mk_p, %mk_t, 0;
	@%mk_p bra $MK_NEXT;
	add.u32 %mk_goal, %mk_goal, %mk_ctas;
	setp.ne.u32 %mk_p, %mk_tid, 0;
	@!%mk_p red.release.gpu.global.add.u32 [%mk_counter], 1;
$MK_NEXT:
	mov.u32 %mk_t, %mk_place;
	mov.u32 %mk_place, %mk_other;
	mov.u32 %mk_other, %mk_t;
	bra.uni $MK_STAGE;
$MK_END:
	ret;
}}
"""


def _wait(label: str, item: str, barrier: str) -> str:
    """What awaits all groups of the megakernel, for work-items that number 0 of them and a barrier bring together."""
    return f"""\
	setp.ne.u32 %mk_p, {item}, 0;
	@%mk_p bra $MK_CAME_{label};
	mov.u32 %mk_u, 0;
$MK_POLL_{label}:
	ld.acquire.gpu.global.u32 %mk_t, [%mk_counter];
	sub.u32 %mk_t, %mk_t, %mk_goal;
	setp.ge.s32 %mk_p, %mk_t, 0;
	@%mk_p bra $MK_CAME_{label};
	add.u32 %mk_u, %mk_u, 1;
	setp.lt.u32 %mk_p, %mk_u, {_POLLS};
	@%mk_p bra $MK_POLL_{label};
	trap;
$MK_CAME_{label}:
	barrier.cta.sync {barrier};
"""


def _wait_within(number: int, body: Body, point: int) -> str:
    """The same at a point of a body, by one team, the first time that it gets there."""
    label = f"{number}_{point}"
    return f"""\
	setp.ne.u32 %mk_p, %mk_due, {_BEFORE + point};
	@%mk_p bra $MK_GO_{label};
	mov.u32 %mk_due, 0;
{_wait(label, "%mk_item", f"%mk_bar, {body.items}")}$MK_GO_{label}:
"""


def _stage(number: int, body: Body, teams: int) -> str:
    """The turns of the work-groups of one body."""
    fence = "\tfence.proxy.async;\n" if "cp.async.bulk" in body.kernel.text else ""
    return f"""
$MK_BODY_{number}:
	setp.ge.u32 %mk_p, %mk_tid, {teams * body.items};
	@%mk_p bra $MK_BEHIND;
{_divide("%mk_tid", body.items, "%mk_team", "%mk_item")}\
{_divide("%mk_item", body.local[0], "%mk_t", "%mk_ix")}\
{_divide("%mk_t", body.local[1], "%mk_iz", "%mk_iy")}\
	add.u32 %mk_bar, %mk_team, 1;
	mov.u64 %mk_local, mk_memory;
	mul.wide.u32 %mk_from, %mk_team, {_pitch(body)};
	add.u64 %mk_local, %mk_local, %mk_from;
	mad.lo.u32 %mk_work, %mk_team, %mk_ctas, %mk_turn;
	mul.lo.u32 %mk_step, %mk_ctas, {teams};
$MK_TURN_{number}:
	setp.ge.u32 %mk_p, %mk_work, %mk_all;
	@%mk_p bra $MK_BEHIND;
	mov.u32 %mk_x, %mk_work;
	mov.u32 %mk_y, 0;
	mov.u32 %mk_z, 0;
	setp.eq.u32 %mk_p, %mk_gx, %mk_all;
	@%mk_p bra $MK_PLACED_{number};
	div.u32 %mk_t, %mk_work, %mk_gx;
	mul.lo.u32 %mk_u, %mk_t, %mk_gx;
	sub.u32 %mk_x, %mk_work, %mk_u;
	div.u32 %mk_z, %mk_t, %mk_gy;
	mul.lo.u32 %mk_u, %mk_z, %mk_gy;
	sub.u32 %mk_y, %mk_t, %mk_u;
$MK_PLACED_{number}:
	bar.warp.sync 0xffffffff;
{_cut(number, body) if body.is_cut else ""}{fence}{{
{_relocated(number, body)}
}}
$MK_DONE_{number}:
	bar.warp.sync 0xffffffff;
	add.u32 %mk_work, %mk_work, %mk_step;
	setp.ge.u32 %mk_p, %mk_work, %mk_all;
	@%mk_p bra $MK_BEHIND;
	barrier.cta.sync %mk_bar, {body.items};
	bra.uni $MK_TURN_{number};
"""


def _choice(first: int, end: int) -> str:
    """Goes to the body of a stage, which is one of these."""
    if end - first == 1:
        return f"\tbra $MK_BODY_{first};\n"
    middle = (first + end) // 2
    return (f"\tsetp.ge.u32 %mk_p, %mk_body, {middle};\n\t@%mk_p bra $MK_FROM_{middle};\n{_choice(first, middle)}"
            f"$MK_FROM_{middle}:\n{_choice(middle, end)}")


def _divide(value: str, divisor: int, quotient: str, rest: str) -> str:
    """Divides a register by a constant, which assemblers do with as many instructions as for any other number."""
    if divisor & (divisor - 1):
        return (f"\tdiv.u32 {quotient}, {value}, {divisor};\n\tmul.lo.u32 {rest}, {quotient}, {divisor};\n"
                f"\tsub.u32 {rest}, {value}, {rest};\n")
    return (f"\tshr.u32 {quotient}, {value}, {divisor.bit_length() - 1};\n"
            f"\tand.b32 {rest}, {value}, {divisor - 1};\n")


def _cleared(text: str) -> str:
    """Registers have a value from the beginning of a body on; else those that may be read before they are written, as
    the compiler sees it, would be kept for a body while others run. What is never read is no instruction."""
    return _REGISTERS_OF.sub(lambda found: found[0] + "".join(
        f"\n\tmov.{found[1]} {found[2]}{number}, {_ZEROS.get(found[1], 0)};" for number in range(int(found[3]))), text)


def _cut(number: int, body: Body) -> str:
    """Passes over the work-items behind the last one."""
    return (f"\tmad.lo.u32 %mk_t, %mk_x, {body.local[0]}, %mk_ix;\n\tsetp.ge.u32 %mk_p, %mk_t, %mk_wide;\n"
            f"\t@%mk_p bra $MK_DONE_{number};\n")


def _relocated(number: int, body: Body) -> str:
    """A kernel's text with what it asks for replaced by what the work-group whose turn it is has."""
    kernel, text = body.kernel, body.kernel.awaiting(partial(_wait_within, number, body))
    places, _ = variables(text)
    text = VARIABLE.sub("", text)
    for parameter in kernel.parameters:
        text = _based(text, parameter.name, "%mk_arguments", parameter.offset)
    for name, place in places.items():
        text = _based(text, name, "%mk_local", place)
    replacements: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
        (r"\bld\.param\b", "ld.shared"), (r"\bld\.global\.nc\b", "ld.global"), (r"\$L__", f"$L{number}_"),
        (r"\bret;", f"bra $MK_DONE_{number};"), (r"\bbar\.sync\s+0;", f"bar.sync %mk_bar, {body.items};"),
        (r"\bsetmaxnreg\.(?:dec|inc)[^;]*;", ""), (r"%envreg[0-5]\b", "0"), (r"%envreg6\b", "%mk_gx"),
        (r"%ctaid\.([xyz])", r"%mk_\g<1>"), (r"%tid\.([xyz])", r"%mk_i\g<1>"),
        (r"%ntid\.([xyz])", lambda found: str(body.local["xyz".index(found[1])])))
    for pattern, replacement in replacements:
        text = re.sub(pattern, replacement, text)
    text = _cleared(text)
    for name in (*places, *(parameter.name for parameter in kernel.parameters)):
        if name in text:
            raise NotJoinable(f"{kernel.name} takes the address of {name}")
    return text


def _based(text: str, name: str, register: str, place: int) -> str:
    """A text in which what lies at `name` lies so many bytes behind where a register points to."""
    name = re.escape(name)
    text = re.sub(rf"\[{name}(?:\+(\d+))?\]", lambda found: f"[{register}+{place + int(found[1] or 0)}]", text)
    return re.sub(rf"\bmov\.[bu]64(\s+%\w+), {name};", rf"add.u64\g<1>, {register}, {place};", text)
