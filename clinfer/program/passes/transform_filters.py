"""Transforms the filters of convolutions of 3x3, where that leaves less to multiply."""
from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any, NamedTuple

from clinfer.base.layout import Layout
from clinfer.kernels.contract import Problem
from clinfer.kernels.selector import ANYTHING, alternatives
from clinfer.ops import kernels_of
from clinfer.ops.convolution import Convolution
from clinfer.ops.shared.float_products import F32
from clinfer.ops.winograd_convolution import FILTER, POINTS, WinogradConvolution, transformed
from clinfer.program.alike import identity_of
from clinfer.program.context import BuildContext
from clinfer.program.format_choice import problem_of, usual_sample
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.byte_values import constant_before
from clinfer.program.sample_sizes import Sample

FLOATS = ("f32", "f16", "bf16")
SHARE = 0.9
"""Of the time of a convolution as it is: what takes less is worth it."""
GROWTH, ANY_GROWTH = 0.5, 64 << 20
"""Of the bytes of all constants so many more may be taken for transformed filters, and so many bytes in any case."""


class _Tile(NamedTuple):
    """The tile of a convolution: outputs along each axis, the bytes that its filters grow by, the nanoseconds that it
    saves."""

    outputs: int
    growth: int
    saved: float


def transform_filters(graph: Graph, context: BuildContext) -> None:
    """A CPU convolves f32 with constant filters of 3x3 by tiles, of the size that takes least time, where that is less
    than without; both as estimated for the usual sizes. Transformed filters are larger: where there is not room for all
    (`GROWTH`), those come first that save most for what they take."""
    if context.engine.capabilities.device_type != "CPU":
        return
    tiles = _Tiles(graph, context)
    chosen = [(node, tile) for node in graph if _is_transformable(graph, context, node) and (tile := tiles.best(node))]
    room = max(ANY_GROWTH, GROWTH * sum(data.layout.byte_size for data in graph.constants.values()))
    for node, tile in sorted(chosen, key=lambda each: each[1].growth / each[1].saved):
        if tile.growth <= room:
            room -= tile.growth
            _transform(graph, context, node, tile.outputs)


def _is_transformable(graph: Graph, context: BuildContext, node: Node) -> bool:
    given = node.primitive
    if type(given) is not Convolution or given.has_factor or given.output_padding \
            or given.inputs[1].primitive not in graph.constants or context.options.forced(node.id) != ANYTHING:
        return False
    data, weights = graph.input_layouts(node)[:2]
    outputs, inputs, *filters = weights.static_shape
    return (set(given.strides) == set(given.dilations) == {1} and filters == [FILTER, FILTER] and outputs * inputs > 0
            and data.element_type == F32 and weights.element_type.name in FLOATS)


class _Tiles:
    """The best tiles of a graph's convolutions, those that are alike judged once."""

    def __init__(self, graph: Graph, context: BuildContext) -> None:
        self._graph, self._context = graph, context
        self._found: dict[Hashable, _Tile | None] = {}

    def best(self, node: Node) -> _Tile | None:
        """The best tile; None: the convolution had better stay as it is."""
        problem = problem_of(self._graph, node, self._context)
        if not problem.is_static:
            problem = self._sample.problem(node, problem, ())
        refused = self._context.refused_kernels(node.id)
        key = (identity_of(problem), *sorted(refused.items()))
        if key not in self._found:
            self._found[key] = _best(node, problem, refused)
        return self._found[key]

    @cached_property
    def _sample(self) -> Sample:
        return usual_sample(self._graph, self._context)


def _best(node: Node, direct: Problem, refused: Mapping[str, str]) -> _Tile | None:
    def time(problem: Problem) -> float:
        return alternatives(kernels_of(problem.primitive), problem, refused=refused)[0].cost

    present = time(direct)
    own = {outputs: _problem(node, direct, outputs) for outputs in POINTS}
    needed = {outputs: time(problem) for outputs, problem in own.items()}
    best = min(needed, key=needed.__getitem__)
    if needed[best] >= SHARE * present:
        return None
    return _Tile(best, own[best].inputs[1].byte_size - direct.inputs[1].byte_size, present - needed[best])


def _problem(node: Node, direct: Problem, outputs: int) -> Problem:
    """That of the convolution by tiles."""
    primitive = _primitive(node, outputs)
    channels = direct.inputs[1].static_shape[:2]
    filters = Layout.planar(((outputs + FILTER - 1) ** 2, *channels, 1, 1), F32)
    inputs = direct.inputs[0], filters, *direct.all_inputs[2:]
    return kernels_of(primitive).problem.of(primitive, inputs, direct.outputs, direct.capabilities, {}, direct.is_large)


def _primitive(node: Node, outputs: int, **changed: Any) -> WinogradConvolution:
    attributes = {field.name: getattr(node.primitive, field.name) for field in fields(node.primitive)}
    return WinogradConvolution(**{**attributes, **changed, "outputs": outputs})


def _transform(graph: Graph, context: BuildContext, node: Node, outputs: int) -> None:
    data, filters, *others = node.inputs
    values = graph.constants[filters.primitive].on_host(context.stream)
    constant = constant_before(graph, node, "transformed", transformed(values, outputs))
    graph.replace(node.id, _primitive(node, outputs, inputs=(data, constant, *others)))
    graph.remove_unread(filters.primitive)
