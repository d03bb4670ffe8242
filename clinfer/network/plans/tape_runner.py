"""Plans a segment by the tapes of its nodes: in C (`tape.c`) where clinfer was installed with a compiler at hand, else
in Python, with the same results."""
from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from clinfer.network.plans.in_c import TapeInC, address_of, asked_in_c, function_in_c
from clinfer.network.plans.memory_needs import NeedsTable
from clinfer.network.plans.node_function import MOST_TRACES
from clinfer.network.plans.plan import Launch
from clinfer.runtime.launches import PACK_SIZES, PLANNED, PLANNED_WORDS, SIZE_CODE, PlannedLaunches
from clinfer.symbolic.tape import NO_ANSWER, STEP_BYTES, Asked, Tape, answer_of, run

_DONE, _NODE_NEEDED, _ASKED = range(3)
_IDLE, _HAS_KERNELS = 1, 2


@dataclass(frozen=True, eq=False)
class TapeNode:
    """A node: the places of what it is given and, in a row, of what it gives; its kernels; its tapes, the latest of
    which come last, and what stands for the functions that they ask. `is_idle`: it is no arithmetic and gives nothing.
    """

    given: tuple[int, ...]
    made: slice
    kernels: range
    tapes: list[Tape]
    ask: Callable[[Asked], Callable[..., Any]]
    is_idle: bool


class _Node(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in (
        "given", "given_count", "made", "kernel", "tapes", "tape_count", "held", "flags")]


class _State(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_void_p) for name in (
        "numbers", "nodes", "tapes", "places", "last", "starts", "changed", "blocks", "launches", "needs",
        "need_places", "found")),
        *((name, ctypes.c_size_t) for name in (
            "need_count", "node_count", "launch_count", "block_bytes", "node", "tape", "step", "begins", "is_fresh",
            "touched", "touched_with_kernels", "asking", "asked"))]


class _Registers(Sequence[Any]):
    """The registers of a tape, which lie at an address."""

    def __init__(self, tape: Tape, address: int) -> None:
        count = len(tape.registers)
        self._integers = (ctypes.c_int64 * count).from_address(address)
        self._floats = (ctypes.c_double * count).from_address(address)
        self._are_floats = [type(number) is float for number in tape.registers]

    def __len__(self) -> int:
        return len(self._are_floats)

    def __getitem__(self, register: Any) -> Any:
        return (self._floats if self._are_floats[register] else self._integers)[register]

    def put(self, first: int, numbers: Sequence[Any]) -> None:
        """Put numbers of one type in a row of registers."""
        (self._floats if self._are_floats[first] else self._integers)[first:first + len(numbers)] = numbers


@dataclass(eq=False)
class _Alike:
    """Nodes, by number, that share `tapes`; these lie in front of the place `end` of a table, where there is `room` for
    so many, the latest first: they are the likeliest to hold. `needs`: the most launches and bytes that one of those
    that were `taken` over gives."""

    tapes: list[Tape]
    end: int
    room: int
    nodes: list[int] = field(default_factory=list)
    taken: int = 0
    needs: tuple[int, int] = (0, 0)

    @property
    def has_new(self) -> bool:
        """Whether there are tapes that were not taken over. Another network may add some at any time."""
        return len(self.tapes) > self.taken

    def take(self) -> list[tuple[Tape, int]]:
        """Take over those, the latest first, as far as there is room; their places."""
        new = self.tapes[self.taken:self.room]
        self.taken += len(new)
        launches, nbytes = zip(self.needs, *[tape.needs for tape in new], strict=True)
        self.needs = max(launches), max(nbytes)
        return [(tape, self.end - self.taken + number) for number, tape in enumerate(reversed(new))]


class TapeRunner:
    """The nodes of one segment, whose numbers are `numbers`, an array that keeps its place. With a plan `needs` tell
    what they come to."""

    def __init__(self, numbers: array[int], nodes: Sequence[TapeNode], needs: NeedsTable) -> None:
        self.numbers = numbers
        self._nodes = nodes
        self._needs = needs
        self._carry_out = function_in_c("clinfer_plan") or self._in_python
        places = array("i", [place for node in nodes for place in node.given])
        self._firsts = [0, *accumulate(len(node.given) for node in nodes)]
        self._last = array("q", bytes(8 * len(places)))
        self._places = places
        self._starts = array("I", bytes(array("I").itemsize * len(nodes)))
        self._changed = bytearray(len(nodes))
        self._state = _State(node_count=len(nodes), is_fresh=1, numbers=address_of(numbers), places=address_of(places),
                             last=address_of(self._last), starts=address_of(self._starts),
                             changed=ctypes.addressof(ctypes.c_char.from_buffer(self._changed)) if nodes else None,
                             needs=ctypes.addressof(needs.table), need_places=address_of(needs.places),
                             found=address_of(needs.found), need_count=len(needs.found))
        self._at = ctypes.byref(self._state)
        self._launches, self._blocks = array(SIZE_CODE), array("B")
        self._take_tapes()

    # -- one plan after the other ---------------------------------------------------------------

    def begin(self) -> None:
        """Begin a plan for the numbers that stand among `numbers` now."""
        self._state.begins = 1

    def next_missing(self) -> int:
        """Go on to the next node for which no tape holds, and whose numbers and launches are to be given; -1: there is
        none, and the plan is made."""
        state = self._state
        while True:
            status = self._carry_out(self._at)
            if status == _DONE:
                return -1
            if status == _ASKED:
                self._answer()
            elif self._groups[state.node].has_new:
                self._take_new_tapes(self._groups[state.node])
                state.tape = state.step = 0
            else:
                return state.node

    def give(self, launches: Iterable[Launch]) -> None:
        """Go on behind the node, whose numbers are there, and which launches this."""
        state = self._state
        for launch in launches:
            self._append(*launch)
        state.node += 1
        state.tape = state.step = 0

    def forget(self) -> None:
        """Forget what nodes were given."""
        self._state.is_fresh = 1

    @property
    def changed(self) -> bytearray:
        """By nodes, whether they are given something else than in the plan before."""
        return self._changed

    @property
    def changed_count(self) -> tuple[int, int]:
        """How many are, and how many of those have kernels."""
        return self._state.touched, self._state.touched_with_kernels

    def launches_before(self, number: int) -> int:
        """How many launches there are before those of a node; of all nodes, if there is no such node."""
        return self._starts[number] if number < len(self._nodes) else self._state.launch_count

    def planned(self) -> PlannedLaunches:
        """All launches of the plan."""
        state = self._state
        return PlannedLaunches(self._launches[:state.launch_count * PLANNED_WORDS],
                               self._blocks[:state.block_bytes].tobytes())

    # -- tapes ----------------------------------------------------------------------------------

    def _take_tapes(self) -> None:
        """Take over all tapes, with room for as many as their nodes may have."""
        groups: dict[int, _Alike] = {}
        for number, node in enumerate(self._nodes):
            room = max(MOST_TRACES, len(node.tapes))
            last = next(reversed(groups.values())).end if groups else 0
            group = groups.setdefault(id(node.tapes), _Alike(node.tapes, last + room, room))
            group.nodes.append(number)
        self._groups = [groups[id(node.tapes)] for node in self._nodes]
        self._node_table = nodes = (_Node * len(self._nodes))()
        for node, own, first in zip(self._nodes, nodes, self._firsts, strict=False):
            own.given, own.given_count = first, len(node.given)
            own.made, own.kernel = node.made.start, node.kernels.start
            own.flags = _IDLE * node.is_idle | _HAS_KERNELS * bool(node.kernels)
        count = next(reversed(groups.values())).end if groups else 0
        self._tapes: list[Tape | None] = [None] * count
        self._tape_table = (TapeInC * count)()
        self._registers: dict[int, _Registers] = {}
        self._memory: list[object] = []
        self._most = (0, 0)
        self._state.nodes, self._state.tapes = ctypes.addressof(nodes), ctypes.addressof(self._tape_table)
        self._place([placed for group in groups.values() for placed in group.take()])
        for group in groups.values():
            self._tell(group, (0, 0))
        self._have_room(0, 0)

    def _take_new_tapes(self, group: _Alike) -> None:
        """Take over what there is by now for nodes that are alike."""
        if len(group.tapes) > group.room:
            self._take_tapes()
            return
        before = group.needs
        self._place(group.take())
        self._tell(group, before)
        self._have_room(0, 0)

    def _place(self, placed: Sequence[tuple[Tape, int]]) -> None:
        """Put tapes, of which blobs may repeat one, in their places of the table. Steps and data of one lie behind the
        other's, as they are gone through."""
        kept = [(tape.image, tape.code, tape.data + bytes(-len(tape.data) % 8)) for tape, _ in placed]
        memory = ctypes.create_string_buffer(b"".join([part for parts in kept for part in parts]))
        self._memory.append(memory)
        address = ctypes.addressof(memory)
        for (tape, place), (image, code, data) in zip(placed, kept, strict=True):
            own = self._tape_table[place]
            own.registers, own.steps = address, address + len(image)
            own.end = own.data = own.steps + len(code)
            own.gives = own.steps + tape.computing * STEP_BYTES
            own.asked, held = asked_in_c(tape)
            self._memory.append(held)
            address = own.end + len(data)
            self._tapes[place] = tape

    def _tell(self, group: _Alike, before: tuple[int, int]) -> None:
        """Tell the nodes where their tapes are, which needed so much `before`."""
        for number in group.nodes:
            own = self._node_table[number]
            own.tapes, own.tape_count, own.held = group.end - group.taken, group.taken, 0
        launches, nbytes = (len(group.nodes) * (now - then) for now, then in zip(group.needs, before, strict=True))
        self._most = self._most[0] + launches, self._most[1] + nbytes

    def _have_room(self, launches: int, nbytes: int) -> None:
        """Have memory for so many further launches and bytes beside all that tapes may give."""
        state = self._state
        launches += state.launch_count + self._most[0]
        nbytes += state.block_bytes + self._most[1]
        if launches * PLANNED_WORDS > len(self._launches):
            self._launches.frombytes(bytes(2 * launches * PLANNED.size))
            state.launches = address_of(self._launches)
        if nbytes > len(self._blocks):
            self._blocks.frombytes(bytes(2 * nbytes))
            state.blocks = address_of(self._blocks)

    def _append(self, kernel: int, block: bytes | bytearray, work: bytes) -> None:
        state, first = self._state, self._state.block_bytes
        self._have_room(1, len(block))
        PLANNED.pack_into(self._launches, state.launch_count * PLANNED.size, kernel, first, len(block), work)
        self._blocks[first:first + len(block)] = array("B", bytes(block))
        state.launch_count += 1
        state.block_bytes = first + len(block)

    def _answer(self) -> None:
        """Give a tape what the function answers that it asks; it does not hold where that is no answer."""
        state, number = self._state, self._state.asking
        tape, registers = self._tapes[number], self._registers.get(number)
        assert tape is not None
        if registers is None:
            registers = self._registers[number] = _Registers(tape, self._tape_table[number].registers)
        asked = tape.asked[state.asked]
        try:
            registers.put(asked.first, answer_of(asked, registers, self._nodes[state.node].ask))
        except NO_ANSWER:
            state.tape += 1
            state.step = 0

    # -- without C ------------------------------------------------------------------------------

    def _in_python(self, _: object) -> int:
        """What `clinfer_plan` does in `tape.c`."""
        state, numbers = self._state, self.numbers
        if state.begins:
            state.node = state.tape = state.step = state.launch_count = state.block_bytes = 0
            state.touched = state.touched_with_kernels = state.begins = 0
            self._changed[:] = bytes(len(self._changed))
        while state.node < state.node_count:
            number, node = state.node, self._nodes[state.node]
            given = [numbers[place] for place in node.given]
            self._enter(number, node, given)
            told = next(filter(None, (run(tape, given, node.ask) for tape in reversed(
                node.tapes[:self._groups[number].taken]))), None)
            if told is not None:
                numbers[node.made] = array("q", told.numbers)
                for place, block, sizes in told.launches:
                    work = PACK_SIZES[len(sizes) // 2](*sizes[::2], *sizes[1::2])
                    self._append(node.kernels.start + place, block, work)
            elif not node.is_idle:
                return _NODE_NEEDED
            state.node += 1
        state.is_fresh = 0
        self._needs.find(numbers)
        return _DONE

    def _enter(self, number: int, node: TapeNode, given: list[int]) -> None:
        state, own = self._state, slice(self._firsts[number], self._firsts[number + 1])
        is_changed = bool(state.is_fresh) or self._last[own].tolist() != given
        self._starts[number], self._last[own] = state.launch_count, array("q", given)
        self._changed[number] |= is_changed
        state.touched += is_changed
        state.touched_with_kernels += is_changed and bool(node.kernels)
