"""The function of a segment: one straight line from the shapes that come in to the plan.

It hands sizes from node to node as plain local variables, calls the function of each node, and puts shapes, bytes
and steps together.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from clinfer.base.layout import Layout
from clinfer.base.shape import StaticShape
from clinfer.base.shape_inference import Values
from clinfer.base.symbols import array_of
from clinfer.network.function_text import code_of, joined
from clinfer.network.node_arguments import Argument, Elements, NodeArguments, Number, is_small
from clinfer.network.node_function import NodeFunction, WantedTrace
from clinfer.network.node_planner import NodePlanner
from clinfer.network.plan import CallHost, Place, Plan, Upload, fetches, run_body
from clinfer.program.program import AliasedTensor, Program, ProgramNode

_Names = tuple[int | str, ...]
_MemoEntry = tuple[tuple[Any, ...], tuple[Any, ...]]
_NOTHING: _MemoEntry = ((None,), ())


@dataclass(frozen=True)
class NodeStep:
    """The function of a node, and the names of what it is given and of what it gives besides the launches."""

    index: int
    function: NodeFunction
    given: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class SegmentFunction:
    """What plans a segment from the shapes and values that come in, and the nodes that it calls, in order.

    The size of axis a of tensor t is called `s<t>_<a>`, element i of a small value on the host `e<t>_<i>`, another
    value `e<t>`; sizes that the model declares static have no names.
    """

    plan: Callable[[Mapping[int, StaticShape], Values], Plan]
    nodes: tuple[NodeStep, ...]
    memo: list[_MemoEntry]

    def forget(self) -> None:
        """Forget what nodes gave last."""
        self.memo[:] = [_NOTHING] * len(self.memo)


def make_segment_function(program: Program, segment: int, planner: NodePlanner,
                          constant: Callable[[int], np.ndarray | None],
                          wanted: deque[WantedTrace]) -> SegmentFunction:
    """The function that plans a segment; `constant` gives the value of a tensor that is one, `wanted` takes what makes
    traces that are missing."""
    return _Writer(program, segment, planner, constant, wanted).function()


def size_name(tensor: int, axis: int) -> str:
    """The name of a size that is open."""
    return f"s{tensor}_{axis}"


class _Writer:
    """Writes the function of one segment.

    `_sizes` holds the spelled shape of each tensor, `_values` that of each value on the host: its elements, or
    the name of an array.
    """

    def __init__(self, program: Program, segment: int, planner: NodePlanner,
                 constant: Callable[[int], np.ndarray | None], wanted: deque[WantedTrace]) -> None:
        self._program = program
        self._segment = program.segments[segment]
        self._planner = planner
        self._constant = constant
        self._wanted = wanted
        self._memo: list[_MemoEntry] = []
        self._helpers: dict[str, Any] = {"Plan": Plan, "placed": _placed, "memo": self._memo}
        self._nodes: list[NodeStep] = []
        self._lines: list[str] = []
        self._sizes: dict[int, _Names] = {}
        self._values: dict[int, _Names | str] = {}
        self._made: list[int] = []
        self._steps: list[str] = []
        self._needs: dict[int, list[int | str]] = {}
        self._scratch: dict[int, list[int | str]] = {}
        self._places: list[AliasedTensor] = []

    def function(self) -> SegmentFunction:
        """The finished function."""
        self._write_incoming()
        for index in self._segment.nodes:
            node = self._program.nodes[index]
            if node.kind == "body":
                self._write_body(index, node)
            elif node.kind == "call":
                self._helpers[f"call{index}"] = CallHost(index)
                self._steps.append(f"call{index}")
            else:
                self._write_node(index, node)
            for number, step in enumerate(fetches(self._segment, node)):
                self._helpers[f"fetch{index}_{number}"] = step
                self._steps.append(f"fetch{index}_{number}")
        text = "\n    ".join(["def plan_segment(shapes, values):", *self._lines, f"return {self._plan_text()}"])
        return SegmentFunction(FunctionType(code_of(text), self._helpers), tuple(self._nodes), self._memo)

    # -- what comes in --------------------------------------------------------------------------

    def _write_incoming(self) -> None:
        for tensor in self._segment.incoming:
            self._sizes[tensor] = names = self._new_sizes(tensor)
            for axis, name in enumerate(names):
                if isinstance(name, str):
                    self._lines.append(f"{name} = shapes[{tensor}][{axis}]")
        for tensor in self._segment.values:
            elements = self._new_elements(tensor)
            self._values[tensor] = elements
            if isinstance(elements, str):
                self._lines.append(f"{elements} = values[{tensor}]")
            else:
                self._lines.append(f"{_targets(elements)} = values[{tensor}].reshape(-1).tolist()")

    def _layout(self, tensor: int) -> Layout:
        return self._program.tensors[tensor].layout

    def _new_sizes(self, tensor: int) -> _Names:
        return tuple(size if isinstance(size, int) else size_name(tensor, axis)
                     for axis, size in enumerate(self._layout(tensor).shape))

    def _new_elements(self, tensor: int) -> _Names | str:
        layout = self._layout(tensor)
        return tuple(f"e{tensor}_{i}" for i in range(layout.count)) if is_small(layout) else f"e{tensor}"

    # -- nodes ----------------------------------------------------------------------------------

    def _write_node(self, index: int, node: ProgramNode) -> None:
        arguments, names = self._arguments(node)
        function = NodeFunction(self._program, self._planner, index, arguments, self._wanted)
        self._helpers[f"node{index}"] = function
        results: list[str] = []
        for tensor in node.outputs:
            self._sizes[tensor] = self._new_sizes(tensor)
            self._made.append(tensor)
            results += [name for name in self._sizes[tensor] if isinstance(name, str)]
        if node.kind == "host":
            results += self._write_values(node)
        results += self._write_needs(index, node)
        self._nodes.append(NodeStep(index, function, names, tuple(results)))
        self._lines += self._call(index, arguments, names)
        self._lines.append(f"{', '.join([*results, f'l{index}'])}, = found")
        if node.kind == "host":
            self._write_uploads(node)
        elif node.kind == "kernel":
            self._steps.append(f"*l{index}")

    def _call(self, index: int, arguments: NodeArguments, names: tuple[str, ...]) -> Iterator[str]:
        """Lines that let `found` be what the function of a node gives: what it gave last, if that was for the same."""
        call, place = f"node{index}.call({', '.join(names)})", len(self._memo)
        if arguments.has_arrays:
            yield f"found = {call}"
            return
        self._memo.append(_NOTHING)
        yield f"given, found = memo[{place}]"
        yield f"if given != ({joined(names)}):"
        yield f"    found = {call}; memo[{place}] = ({joined(names)}), found"

    def _arguments(self, node: ProgramNode) -> tuple[NodeArguments, tuple[str, ...]]:
        """How a node's function is called: the form of its arguments, and what is given."""
        names: dict[str, Argument] = {}

        def numbers(spelled: _Names) -> tuple[Number, ...]:
            return tuple(item if isinstance(item, int) else names.setdefault(item, Argument(len(names)))
                         for item in spelled)

        shapes = tuple(numbers(self._size(tensor)) for tensor in node.inputs)
        values: dict[int, Elements | np.ndarray | Argument] = {}
        for position in node.read_on_host:
            tensor = node.inputs[position]
            constant, layout = self._constant(tensor), self._layout(tensor)
            if constant is not None:
                values[position] = constant
                continue
            spelled = self._values[tensor]
            if isinstance(spelled, str):
                values[position] = names.setdefault(spelled, Argument(len(names)))
            else:
                values[position] = Elements(numbers(spelled), layout.static_shape, layout.element_type.numpy)
        return NodeArguments(shapes, values), tuple(names)

    def _size(self, tensor: int) -> _Names:
        known = self._sizes.get(tensor)
        return self._layout(tensor).static_shape if known is None else known

    def _write_values(self, node: ProgramNode) -> Iterator[str]:
        for tensor in node.outputs:
            self._values[tensor] = elements = self._new_elements(tensor)
            yield from (elements,) if isinstance(elements, str) else map(str, elements)

    def _write_needs(self, index: int, node: ProgramNode) -> Iterator[str]:
        """Names for the bytes of outputs and scratch buffers, noted with what has to hold them, and for the offsets
        of tensors that may lie within others."""
        for tensor in node.outputs:
            self._needs.setdefault(self._program.tensors[tensor].root, []).append(f"b{tensor}")
            yield f"b{tensor}"
        for number, slot in enumerate(node.scratch_slots):
            self._scratch.setdefault(slot, []).append(f"b{index}_{number}")
            yield f"b{index}_{number}"
        self._places += node.aliases
        yield from (f"o{aliased.moved}" for aliased in node.aliases)

    def _write_uploads(self, node: ProgramNode) -> None:
        for tensor in node.outputs:
            if self._program.tensors[tensor].storage != "host":
                self._helpers[f"upload{tensor}"] = self._upload(tensor)
                self._steps.append(f"upload{tensor}({self._array_text(tensor)})")

    def _upload(self, tensor: int) -> Callable[[np.ndarray], Upload]:
        layout = self._layout(tensor)
        return lambda value: Upload(tensor, layout.with_shape(value.shape).pack(value))

    def _write_body(self, index: int, node: ProgramNode) -> None:
        read = node.read_on_host
        self._helpers[f"run{index}"] = lambda *values: run_body(index, node.primitive,
                                                                dict(zip(read, values, strict=True)))
        given = ", ".join(self._array_text(node.inputs[position]) for position in read)
        self._steps.append(f"run{index}({given})")

    # -- the plan -------------------------------------------------------------------------------

    def _array_text(self, tensor: int) -> str:
        """An expression for a host value as an array."""
        constant = self._constant(tensor)
        if constant is not None:
            self._helpers[f"constant{tensor}"] = constant
            return f"constant{tensor}"
        spelled, layout = self._values[tensor], self._layout(tensor)
        if isinstance(spelled, str):
            return spelled
        shape, kind = layout.static_shape, layout.element_type.numpy
        self._helpers[f"array{tensor}"] = lambda numbers: array_of(numbers, shape, kind)
        return f"array{tensor}({_tuple_text(spelled)})"

    def _plan_text(self) -> str:
        shapes = ", ".join(f"{tensor}: {_tuple_text(self._sizes[tensor])}" for tensor in self._made)
        values = ", ".join(f"{tensor}: {self._array_text(tensor)}" for tensor in self._made if tensor in self._values)
        slots, outputs = self._memory_needs()
        places = "".join(f"({aliased.moved}, {aliased.within}, o{aliased.moved}), " for aliased in self._places)
        return (f"Plan(({''.join(step + ', ' for step in self._steps)}), {{{shapes}}}, {{{values}}}, "
                f"{_largest(slots)}, {_largest(outputs)}{f', places=placed(({places}))' if places else ''})")

    def _memory_needs(self) -> tuple[dict[int, list[int | str]], dict[int, list[int | str]]]:
        """What the memory of slots and of outputs must hold; nothing of a tensor that lies within another."""
        slots, outputs = dict(self._scratch), {}
        movable = {aliased.moved for aliased in self._places}
        for root, names in self._needs.items():
            described = self._program.tensors[root]
            if described.storage == "output":
                outputs[root] = names
            elif described.storage == "slot":
                at_home = [f"o{root} < 0"] if root in movable else []
                held = [f"o{s.moved} >= 0" for s in self._places if s.within == root]
                longer = self._program.long_homes.get(root)
                if longer is not None and held:
                    slots[self._program.tensors[longer].slot] = _only_if(names, [*at_home, f"({' or '.join(held)})"])
                    at_home.append(f"not ({' or '.join(held)})")
                slots[described.slot] = _only_if(names, at_home)
        return slots, outputs


def _placed(places: tuple[tuple[int, int, int], ...]) -> tuple[Place, ...]:
    """The places of the tensors that lie within others, of all that may."""
    return tuple([Place(*place) for place in places if place[2] >= 0])


def _only_if(names: list[int | str], conditions: list[str]) -> list[int | str]:
    """Numbers that are 0 unless all conditions hold."""
    return [f"{name} * ({' and '.join(conditions)})" for name in names] if conditions else names


def _targets(names: _Names) -> str:
    return f"[{', '.join(map(str, names))}]"


def _tuple_text(names: _Names) -> str:
    return f"({''.join(f'{name}, ' for name in names)})"


def _largest(needs: Mapping[int, list[int | str]]) -> str:
    """An expression for pairs (number, the largest of its needs)."""
    def largest(names: list[int | str]) -> str:
        return f"max({', '.join(map(str, names))})" if len(names) > 1 else str(names[0])
    return f"({''.join(f'({number}, {largest(names)}), ' for number, names in needs.items())})"
