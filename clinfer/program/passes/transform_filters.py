"""Transforms the filters of convolutions of 3x3, where that leaves less to multiply."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.kernels.contract import Problem
from clinfer.kernels.selector import ANYTHING, alternatives
from clinfer.ops import kernels_of
from clinfer.ops.convolution import Convolution
from clinfer.ops.winograd_convolution import FILTER, POINTS, WinogradConvolution, transformed
from clinfer.program.context import BuildContext
from clinfer.program.format_choice import problem_of, samples_of
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.byte_values import constant_before
from clinfer.program.sample_sizes import Sample

F32 = ElementType.of("f32")
FLOATS = ("f32", "f16", "bf16")
SHARE = 0.9
"""Of the time of a convolution as it is: what takes less is worth it."""
GROWTH, ANY_GROWTH = 0.5, 64 << 20
"""Of the bytes of all constants so many more may be taken for transformed filters, and so many bytes in any case."""


@dataclass(frozen=True)
class _Choice:
    """The tile for a node: outputs along each axis, the bytes that its filters grow by, the nanoseconds that it saves.
    """

    node: Node
    outputs: int
    growth: int
    saved: float


def transform_filters(graph: Graph, context: BuildContext) -> None:
    """A CPU convolves f32 with constant filters of 3x3 by tiles, of the size that takes least time, where that is less
    than without; both as estimated for the usual sizes. Transformed filters are larger: where there is not room for all
    (`GROWTH`), those come first that save most for what they take."""
    if context.engine.capabilities.device_type != "CPU":
        return
    choices: list[_Choice] = []
    samples: list[Sample] = []
    for node in graph:
        if _is_transformable(graph, context, node):
            direct = problem_of(graph, node, context)
            if not direct.is_static and not samples:
                samples = samples_of(graph, context)[:1]
            choices += _best(node, direct, [] if direct.is_static else samples, context)
    room = max(ANY_GROWTH, GROWTH * sum(data.layout.byte_size for data in graph.constants.values()))
    for choice in sorted(choices, key=lambda each: each.growth / each.saved):
        if choice.growth <= room:
            room -= choice.growth
            _transform(graph, context, choice)


def _is_transformable(graph: Graph, context: BuildContext, node: Node) -> bool:
    given = node.primitive
    if type(given) is not Convolution or given.has_factor or given.output_padding \
            or given.inputs[1].primitive not in graph.constants or context.options.forced(node.id) != ANYTHING:
        return False
    data, weights = graph.input_layouts(node)[:2]
    outputs, inputs, *filters = weights.static_shape
    return (set(given.strides) == set(given.dilations) == {1} and filters == [FILTER, FILTER] and outputs * inputs > 0
            and data.element_type == F32 and weights.element_type.name in FLOATS)


def _best(node: Node, direct: Problem, samples: Sequence[Sample], context: BuildContext) -> list[_Choice]:
    """The best size of tiles; nothing where the convolution had better stay as it is."""
    refused = context.refused_kernels(node.id)

    def time(problem: Problem, sizes: Sequence[Problem]) -> float:
        return alternatives(kernels_of(problem.primitive), problem, samples=sizes, refused=refused)[0].cost

    likely = [sample.problem(node, direct, ()) for sample in samples]
    present = time(direct, likely)
    found = []
    for outputs in POINTS:
        own = _problem(node, direct, outputs)
        needed = time(own, [_sized(own, sample) for sample in likely])
        if needed < SHARE * present:
            growth = own.inputs[1].byte_size - direct.inputs[1].byte_size
            found.append(_Choice(node, outputs, growth, present - needed))
    return sorted(found, key=lambda each: each.saved)[-1:]


def _problem(node: Node, direct: Problem, outputs: int) -> Problem:
    """That of the convolution by tiles."""
    primitive = _primitive(node, outputs)
    channels = direct.inputs[1].static_shape[:2]
    filters = Layout.planar(((outputs + FILTER - 1) ** 2, *channels, 1, 1), F32)
    inputs = direct.inputs[0], filters, *direct.all_inputs[2:]
    return kernels_of(primitive).problem.of(primitive, inputs, direct.outputs, direct.capabilities, {}, direct.is_large)


def _sized(own: Problem, sample: Problem) -> Problem:
    """The convolution by tiles with the sizes of a sample."""
    return replace(own, inputs=(sample.inputs[0], own.inputs[1], *sample.inputs[2:]), outputs=sample.outputs,
                   fused_inputs=sample.fused_inputs)


def _primitive(node: Node, outputs: int, **changed: Any) -> WinogradConvolution:
    attributes = {field.name: getattr(node.primitive, field.name) for field in fields(node.primitive)}
    return WinogradConvolution(**{**attributes, **changed, "outputs": outputs})


def _transform(graph: Graph, context: BuildContext, choice: _Choice) -> None:
    node = choice.node
    data, filters, *others = node.inputs
    values = graph.constants[filters.primitive].on_host(context.stream)
    constant = constant_before(graph, node, "transformed", transformed(values, choice.outputs))
    graph.replace(node.id, _primitive(node, choice.outputs, inputs=(data, constant, *others)))
    graph.remove_unread(filters.primitive)
