"""What sizes decide: the guards of the traces of a program, in words of its tensors."""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from clinfer.network.plans.node_trace import NodeTrace
from clinfer.network.plans.open_nodes import open_nodes
from clinfer.program.program import Program
from clinfer.symbolic.shape_inference import ShapeInference

_NAME = re.compile(r"[arv]\d+")
_DENIED = re.compile(r"^not (.+) (==|!=|<=|>=|<|>) (.+)$")
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
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


def find_guards(program: Program, shape_inference: ShapeInference, within: str = "") -> Iterator[GuardedNode]:
    """The primitives of a program that sizes decide about, those of bodies behind the primitive that runs them."""
    first: dict[int, str] = {}
    steps = {step.index: step for step in chain.from_iterable(open_nodes(program, shape_inference).values())}
    for index, node in enumerate(program.nodes):
        step, primitive = steps.get(index), node.primitive
        if step is not None and step.function is not None and step.given:
            sizes = tuple(_size(name, program) for name in step.given)
            known = first.setdefault(id(step.function.traces), primitive.id)
            traces = () if known != primitive.id else tuple(_conditions(each, sizes) for each in step.function.traces)
            yield GuardedNode(primitive.id, primitive.origin, within, sizes, traces,
                              known if known != primitive.id else "")
        for number, body in enumerate(node.bodies):
            path = f"{primitive.id}/body{number}"
            yield from find_guards(body, shape_inference, f"{within}/{path}" if within else path)


def _size(name: str, program: Program) -> str:
    """`s5_1` as `tokens[1]`, `e5_1` as `tokens{1}`, `e5` as `tokens`."""
    tensor, _, place = name[1:].partition("_")
    port = program.tensors[int(tensor)].port
    shown = port.primitive if not port.index else f"{port.primitive}:{port.index}"
    return f"{shown}[{place}]" if name[0] == "s" else f"{shown}{{{place}}}" if place else shown


def _conditions(trace: NodeTrace, sizes: tuple[str, ...]) -> tuple[str, ...]:
    """The guards, each once, spelled with sizes."""
    spelled = {f"a{number}": (size, False) for number, size in enumerate(sizes)}
    found: dict[str, None] = {}
    for name, text in trace.steps:
        if name:
            spelled[name] = _spell(text, spelled, inside=True)
            continue
        for condition in text.split(" and "):
            shown, is_computed = _spell(condition, spelled)
            found[f"what is computed of {shown} decides the same" if is_computed else _plainly(shown)] = None
    return tuple(found)


def _spell(text: str, spelled: dict[str, tuple[str, bool]], inside: bool = False) -> tuple[str, bool]:
    """An expression with the sizes that it follows from, and whether functions are called for it (as for the times of
    kernels): then these sizes alone."""
    names = dict.fromkeys(_NAME.findall(text))
    is_computed = "apply" in text or any(spelled[name][1] for name in names if name in spelled)
    if is_computed:
        sizes = dict.fromkeys(size for name in names if name in spelled for size in spelled[name][0].split(", "))
        return ", ".join(sorted(size for size in sizes if size)), True
    shown = _NAME.sub(lambda found: spelled.get(found.group(), (found.group(), False))[0], text)
    return (f"({shown})" if inside and " " in shown else shown), False


def _plainly(condition: str) -> str:
    denied = _DENIED.match(condition)
    if denied is not None:
        condition = f"{denied[1]} {_OPPOSITE[denied[2]]} {denied[3]}"
    return condition if len(condition) <= _LONGEST else f"{condition[:_LONGEST]}..."
