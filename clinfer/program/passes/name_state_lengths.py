"""Tells the lengths of states that are meant to grow together by one name."""
from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from clinfer.base.shape import Size
from clinfer.ops.concat import Concat
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph
from clinfer.program.size_names import SizeNames
from clinfer.symbolic.dimensions import NamedDim, names_in
from clinfer.topology import State


def name_state_lengths(graph: Graph, context: BuildContext) -> None:
    """Let the first stored sizes of states that begin with the same length, and grow by what is one size or stretched
    to one (as keys of rotated positions are), have one name; others of them lose the name that tells how they begin.

    Whoever runs the program makes sure of it: it refuses states of one name whose lengths differ, which a model that
    puts unlike lengths together would refuse too.
    """
    if not any(state.sizes for state in graph.states):
        return
    begins = {state.variable: state.sizes[0] for state in graph.states if state.sizes}
    graph.states = tuple(_with_length(state, "") for state in graph.states)
    names = SizeNames(graph, context)
    groups: list[tuple[str, set[Hashable], set[str]]] = []
    for state in graph.states:
        growth = _growth(graph, names, state) if begins.get(state.variable) else frozenset()
        if growth:
            _join(groups, begins[state.variable], set(growth), {state.variable})
    lengths = {variable: f"{begin}, {number}" for number, (begin, _, variables) in enumerate(groups)
               for variable in variables}
    graph.states = tuple(_with_length(state, lengths.get(state.variable, "")) for state in graph.states)


def _with_length(state: State, name: str) -> State:
    return replace(state, sizes=(name, *state.sizes[1:])) if state.sizes else state


def _growth(graph: Graph, names: SizeNames, state: State) -> frozenset[Hashable]:
    """The names of the sizes of which that by which a state grows is one; none where it has no name."""
    node = graph[graph.outputs[state.output].primitive]
    if not isinstance(node.primitive, Concat):
        return frozenset()
    size: Size = sum(names.shape(port)[0] for port in node.inputs[1:])
    return names_in(size) if isinstance(size, NamedDim) else frozenset([size] if isinstance(size, int) else [])


def _join(groups: list[tuple[str, set[Hashable], set[str]]], begin: str, growth: set[Hashable],
          variables: set[str]) -> None:
    """Add a variable to the group whose growth it shares, which may make one group of several."""
    for group in [group for group in groups if group[0] == begin and group[1] & growth]:
        groups.remove(group)
        growth, variables = growth | group[1], variables | group[2]
    groups.append((begin, growth, variables))
