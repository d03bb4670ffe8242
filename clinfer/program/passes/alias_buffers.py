"""Finds tensors that may lie within another one, so that the copies between them need not be made."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from clinfer.base.tracing import log
from clinfer.kernels.aliasing import Alias, aliases_of, why_copied
from clinfer.kernels.contract import Move, Problem
from clinfer.kernels.selector import Selection
from clinfer.program.context import BuildContext
from clinfer.program.graph import AliasedBuffer, Graph, Node
from clinfer.program.sample_sizes import Sample
from clinfer.program.schedule import assign_segments, useful_inputs
from clinfer.topology import Port

SAMPLE_SIZES = ((1, 64), (1, 1), (64, 64))
"""For the first axis of inputs and for the others, where they are open; the likeliest first."""


def alias_buffers(graph: Graph, context: BuildContext) -> None:
    """Note for every move of bytes (`kernels/aliasing.py`) which tensor may lie within which.

    Each plan decides for its shapes. An output lies within an input unless it is an output of the graph; then, and
    where several moves fill one output, an input lies within the output, if a kernel of the same segment makes it.
    What applies fused operations does not only move bytes. A state that grows lies within its next value.
    A tensor lies within one other at most, the one where that is likeliest. What bodies read or make stays where it
    is. What shares no memory for any of a few sizes hardly ever does, and is not worth to keep a tensor for.
    Steps that may run out of order wait for those that use the same tensors: there, nothing lies within another.
    """
    nodes = [node for node in graph if node.selection is not None and node.id not in graph.constants
             and not node.primitive.fused_ops and aliases_of(_moves(node.selection, node.selection.problem))]
    if not nodes or context.options.execution_order != "in_order":
        return
    is_static = all(layout.is_static for node in graph for layout in node.layouts)
    samples = [Sample(graph, context, *sizes) for sizes in SAMPLE_SIZES[:1 if is_static else None]]
    finder = _Finder(graph, assign_segments(graph))
    found = [candidate for node in nodes for candidate in _candidates(graph, node, finder, samples)]
    for candidate in sorted(found, key=lambda candidate: candidate.rank):
        node, aliased = candidate.node, candidate.aliased
        if finder.take(aliased.moved):
            node.aliases = (*node.aliases, aliased)
        else:
            node.copies = (*node.copies, (aliased.alias.move, f"{aliased.moved} lies within another tensor already"))
    for node in nodes:
        log(3, "".join(f"{node.primitive.where}: copy {number} is always made: {reason}\n"
                       for number, reason in sorted(node.copies)).rstrip())


class _Candidate(NamedTuple):
    """Something that a node may leave out; `rank`: the first sample for which it does (0 where none can tell)."""

    rank: int
    node: Node
    aliased: AliasedBuffer


def _candidates(graph: Graph, node: Node, finder: _Finder, samples: list[Sample]) -> Iterator[_Candidate]:
    assert node.selection is not None
    selection, problem = node.selection, node.selection.problem
    read = (*node.primitive.value_inputs, *useful_inputs(graph, node, finder.segments))
    seen = {rank: sample.problem(node, problem, read) for rank, sample in enumerate(samples)
            if sample.is_inferred(node)}
    moves = {rank: _moves(selection, given) for rank, given in seen.items()}
    is_certain = problem.is_static and all(node.inputs[i].primitive in graph.constants for i in read)
    is_open = len(seen) < len(samples) or any(i not in given.values for given in seen.values() for i in read)
    for asked in aliases_of(_moves(selection, problem)):
        pair = finder.pair(node, asked)
        if isinstance(pair, str):
            node.copies = (*node.copies, (asked.move, pair))
            continue
        alias, moved, within = pair
        why = {rank: why_copied(alias, moves[rank][alias.move], seen[rank]) for rank in seen}
        if None in why.values() or is_open:
            rank = next((rank for rank, reason in why.items() if reason is None), 0)
            yield _Candidate(rank, node, AliasedBuffer(alias, moved, within, is_certain))
        else:
            node.copies = (*node.copies, (alias.move, str(why[0])))


def _moves(selection: Selection, problem: Problem) -> tuple[Move, ...]:
    """What its stages move, of which all candidates tell the same."""
    return selection.candidates[0].lower(problem).moves


class _Finder:
    """Which tensors may move where; remembers those that do. `segments`: the number of each node's."""

    def __init__(self, graph: Graph, segments: dict[str, int]) -> None:
        self._graph = graph
        self.segments = segments
        self._outputs = {self._root(port) for port in graph.outputs.values()}
        self._bodies = {self._root(port) for node in graph if node.primitive.bodies for port in
                        (*node.inputs, *(Port(node.id, i) for i in range(len(node.layouts))))}
        self._grown = {(Port(state.input), self._root(graph.outputs[state.output]))
                       for state in graph.states if state.grows}
        self._moved: set[Port] = set()

    def pair(self, node: Node, alias: Alias) -> tuple[Alias, Port, Port] | str:
        """(the alias as it can be had, which tensor moves, within which), by the roots of their memory; or why not."""
        source, target = self._root(node.inputs[alias.input]), Port(node.id, alias.output)
        if {source, target} & self._bodies:
            return "a body reads or makes one of them"
        if (source, target) in self._grown:
            return replace(alias, output_moves=False), source, target
        if alias.output_moves and target not in self._outputs:
            return alias, target, source
        maker = self._graph[source.primitive]
        if source in self._outputs:
            return f"{source} is an output"
        if maker.selection is None or maker.id in self._graph.constants:
            return f"{source} is not made by a kernel"
        if self.segments[maker.id] != self.segments[node.id]:
            return f"{source} is made in an earlier segment"
        return replace(alias, output_moves=False), source, target

    def take(self, moved: Port) -> bool:
        """Let a tensor move, unless it does already."""
        is_new = moved not in self._moved
        self._moved.add(moved)
        return is_new

    def _root(self, port: Port) -> Port:
        while self._graph[port.primitive].is_view:
            port = self._graph[port.primitive].inputs[0]
        return port
