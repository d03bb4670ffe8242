"""What sizes decide: the guards of the traces of a program, in words of its tensors."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from clinfer.network.plans.open_nodes import open_nodes
from clinfer.program.program import Program
from clinfer.symbolic.tape import Asked, Op, Tape

_SIGNS = {Op.ADD: "+", Op.SUBTRACT: "-", Op.MULTIPLY: "*", Op.FLOOR_DIVIDE: "//", Op.MODULO: "%", Op.AND: "&",
          Op.OR: "|", Op.XOR: "^", Op.SHIFT: ">>", Op.ADD_F: "+", Op.SUBTRACT_F: "-", Op.MULTIPLY_F: "*",
          Op.DIVIDE_F: "/"}
_FUNCTIONS = {Op.LARGER: "max", Op.SMALLER: "min", Op.LARGER_F: "max", Op.SMALLER_F: "min"}
_ALONE = {Op.ABSOLUTE: "abs({})", Op.ABSOLUTE_F: "abs({})", Op.NEGATE: "(-{})", Op.NEGATE_F: "(-{})",
          Op.INVERT: "(~{})", Op.CEIL: "ceil({})", Op.FLOOR: "floor({})", Op.TO_FLOAT: "{}", Op.SINGLE: "single({})",
          Op.BITS: "bits({})"}
_COMPARED = {(Op.EQUAL, 1): "==", (Op.EQUAL, 0): "!=", (Op.LESS, 1): "<", (Op.LESS, 0): ">=", (Op.NOT_MORE, 1): "<=",
             (Op.NOT_MORE, 0): ">"}
_EXCHANGED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_LONGEST = 60


@dataclass(frozen=True)
class GuardedNode:
    """A primitive whose plan depends on sizes: `sizes` (`tokens[1]` is the second size of `tokens`, `pattern{0}` the
    first element of a value), and of each trace the conditions under which it holds. `within`: the path of the body.

    A primitive that is alike another one, `as_in`, has its traces. Without any it is planned by itself for each shape.
    """

    primitive: str
    layer: str
    within: str
    sizes: tuple[str, ...]
    traces: tuple[tuple[str, ...], ...]
    as_in: str = ""


def find_guards(program: Program, within: str = "") -> Iterator[GuardedNode]:
    """The primitives of a program that sizes decide about, those of bodies behind the primitive that runs them."""
    first: dict[int, str] = {}
    steps = {step.index: step for step in chain.from_iterable(open_nodes(program).values())}
    for index, node in enumerate(program.nodes):
        step, primitive = steps.get(index), node.primitive
        if step is not None and step.form is not None and step.given:
            sizes = tuple(_size(name, program) for name in step.given)
            known = first.setdefault(id(step.form.traces), primitive.id)
            traces = () if known != primitive.id else tuple(_conditions(each, sizes) for each in step.form.traces)
            yield GuardedNode(primitive.id, primitive.origin, within, sizes, traces,
                              known if known != primitive.id else "")
        for number, body in enumerate(node.bodies):
            path = f"{primitive.id}/body{number}"
            yield from find_guards(body, f"{within}/{path}" if within else path)


def _size(name: str, program: Program) -> str:
    """`s5_1` as `tokens[1]`, `e5_1` as `tokens{1}`, `e5` as `tokens`."""
    tensor, _, place = name[1:].partition("_")
    port = program.tensors[int(tensor)].port
    shown = port.primitive if not port.index else f"{port.primitive}:{port.index}"
    return f"{shown}[{place}]" if name[0] == "s" else f"{shown}{{{place}}}" if place else shown


def _conditions(tape: Tape, sizes: tuple[str, ...]) -> tuple[str, ...]:
    """The guards, each once, spelled with sizes."""
    spelled = _Spelled(tape, sizes)
    found: dict[str, None] = {}
    for op, to, one, other in tape.steps:
        if op <= Op.BITS:
            spelled.compute(op, to, one, other)
        elif op == Op.ASK:
            spelled.ask(tape.asked[one])
        elif op <= Op.NOT_MORE_F:
            # Floats are times, which kernels are chosen by.
            is_time = op > Op.NOT_MORE or spelled.is_asked(one) or spelled.is_asked(other)
            found[f"what is computed of {spelled.sizes_of(one, other)} decides the same" if is_time
                  else _shortened(spelled.condition(_COMPARED[Op(op), to], one, other))] = None
    return tuple(found)


class _Spelled:
    """What is in the registers of a tape, by the sizes that it follows from."""

    def __init__(self, tape: Tape, sizes: Sequence[str]) -> None:
        numbers = [repr(number) for number in tape.registers]
        self._texts = [*sizes, *numbers[len(sizes):]]
        self._sizes = [{size} for size in sizes] + [set() for _ in numbers[len(sizes):]]
        self._asked: set[int] = set()

    def compute(self, op: int, to: int, one: int, other: int) -> None:
        left, right = self._texts[one], self._texts[other]
        self._texts[to] = (f"({left} {_SIGNS[Op(op)]} {right})" if op in _SIGNS else
                           f"{_FUNCTIONS[Op(op)]}({left}, {right})" if op in _FUNCTIONS else
                           _ALONE[Op(op)].format(left))
        self._follow(to, (one, other))

    def ask(self, asked: Asked) -> None:
        """What functions give is not spelled."""
        for register in range(asked.first, asked.first + (sum(asked.counts) if asked.counts else 1)):
            self._follow(register, _registers(asked.arguments))
            self._asked.add(register)

    def _follow(self, register: int, others: Sequence[int]) -> None:
        self._sizes[register] = {size for other in others for size in self._sizes[other]}
        if any(other in self._asked for other in others):
            self._asked.add(register)

    def is_asked(self, register: int) -> bool:
        """Whether a function was asked on the way to it."""
        return register in self._asked

    def sizes_of(self, *registers: int) -> str:
        """The sizes that registers follow from."""
        return ", ".join(sorted({size for register in registers for size in self._sizes[register]}))

    def condition(self, sign: str, one: int, other: int) -> str:
        """A comparison, with the number that it is with behind."""
        if not self._sizes[one]:
            one, other, sign = other, one, _EXCHANGED[sign]
        return " ".join((self._bare(one), sign, self._bare(other)))

    def _bare(self, register: int) -> str:
        text = self._texts[register]
        return text[1:-1] if text.startswith("(") and self._sizes[register] else text


def _registers(item: object) -> list[int]:
    """Those in nested tuples."""
    if isinstance(item, tuple):
        return [register for part in item for register in _registers(part)]
    assert isinstance(item, int)
    return [item] if item >= 0 else []


def _shortened(condition: str) -> str:
    return condition if len(condition) <= _LONGEST else f"{condition[:_LONGEST]}..."
