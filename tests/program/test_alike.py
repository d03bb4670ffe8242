"""What is found out of a node holds for those that are like it, and for no others."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clinfer.base.shape import ANY
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.reduce import Reduce
from clinfer.program.alike import identity_of
from clinfer.program.format_choice import problem_of
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.mark_host_nodes import mark_host_nodes
from clinfer.program.passes.select_kernels import select_kernels
from clinfer.runtime.engine import Engine
from clinfer.topology import Primitive, Topology
from tests.program.building import context_of, given, graph_after, numbers


def _problems(engine: Engine, *primitives: Primitive) -> list[object]:
    names = [primitive.id for primitive in primitives]
    topology = Topology(given("x", 2, ANY, 4), given("y", 2, ANY, 4), numbers("first", 1), numbers("second", 2),
                        *primitives, outputs=dict(zip(names, names, strict=True)))
    graph = graph_after(engine, topology, [infer_layouts])
    return [identity_of(problem_of(graph, graph[name], context_of(engine))) for name in names]


def test_names_alone_tell_nothing_apart(engine: Engine) -> None:
    one, other = _problems(engine, Eltwise("a", ("x", "y"), mode="Add"), Eltwise("b", ("y", "x"), mode="Add"))
    assert one == other is not None


@pytest.mark.parametrize("other", [
    Eltwise("b", ("x",), mode="Elu", parameters=(-0.0,)), Eltwise("b", ("x",), mode="Elu", parameters=(1,)),
    Eltwise("b", ("x",), mode="Relu")], ids=["zeros of two signs", "whole numbers", "modes"])
def test_what_code_may_spell_otherwise_tells_apart(engine: Engine, other: Eltwise) -> None:
    value = 1.0 if other.parameters == (1,) else 0.0
    one, two = _problems(engine, Eltwise("a", ("x",), mode="Elu", parameters=(value,)), other)
    assert one != two


def test_known_values_tell_apart(engine: Engine) -> None:
    one, alike, other = _problems(engine, *(Reduce(name, (source, axis), mode="Sum") for name, source, axis in (
        ("a", "x", "first"), ("b", "y", "first"), ("c", "x", "second"))))
    assert one == alike != other


def test_alike_nodes_are_told_the_same_of_themselves(engine: Engine) -> None:
    """Of each: its own primitive, and what a build of its own would tell."""
    topology = Topology(given("x", 2, ANY, 4), numbers("axis", 1),
                        Reduce("a", ("x", "axis"), mode="Sum", keep_dims=True), Eltwise("b", ("x", "a"), mode="Add"),
                        Reduce("c", ("b", "axis"), mode="Sum", keep_dims=True))
    graph = graph_after(engine, topology, [infer_layouts, mark_host_nodes, select_kernels])
    one, other = graph["a"].selection, graph["c"].selection
    assert one is not None and other is not None
    assert (one.problem.primitive, other.problem.primitive) == (graph["a"].primitive, graph["c"].primitive)
    assert replace(other, problem=one.problem) == one
    assert other.problem.inputs == one.problem.inputs and np.array_equal(other.problem.values[1], one.problem.values[1])
