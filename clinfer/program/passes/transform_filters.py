"""Transforms the filters of convolutions, where that leaves less to multiply."""
from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from math import prod
from typing import Any, NamedTuple

from clinfer.base.layout import Layout
from clinfer.kernels.contract import Problem
from clinfer.kernels.selector import ANYTHING, alternatives
from clinfer.ops import kernels_of
from clinfer.ops.convolution import Convolution
from clinfer.ops.shared.float_products import F32
from clinfer.ops.winograd_convolution import WinogradConvolution, sides_of, tiles_of, transformed
from clinfer.program.alike import identity_of
from clinfer.program.context import BuildContext
from clinfer.program.format_choice import problem_of, usual_sample
from clinfer.program.graph import Graph, Node
from clinfer.program.kept_choices import described, kept_rows
from clinfer.program.passes.insertion import constant_before

FLOATS = ("f32", "f16", "bf16")
SHARE = 0.9
"""Of the time of a convolution as it is: what takes less is worth it."""
FEWEST = 4
"""Convolutions, below which judging takes little longer than reading what another process judged."""
GROWTH, ANY_GROWTH = 0.5, 64 << 20
"""Of the bytes of all constants so many more may be taken for transformed filters, and so many bytes in any case."""


class _Tile(NamedTuple):
    """The tile of a convolution: outputs along each axis, the bytes that its filters grow by, the nanoseconds that it
    saves."""

    outputs: tuple[int, ...]
    growth: int
    saved: float


def transform_filters(graph: Graph, context: BuildContext) -> None:
    """A CPU convolves f32 with constant filters, of more than one element along one axis or as many along two, by tiles
    of the size that takes least time, where that is less than without; both as estimated for the usual sizes.
    Transformed filters are larger: where there is not room for all (`GROWTH`), those come first that save most for what
    they take."""
    if context.engine.capabilities.device_type != "CPU":
        return
    nodes = [node for node in graph if _is_transformable(graph, context, node)]
    chosen = [(node, tile) for node, tile in zip(nodes, _tiles(graph, context, nodes), strict=True) if tile is not None]
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
    outputs, inputs, *window = weights.static_shape
    return (set(given.strides) == set(given.dilations) == {1} and bool(tiles_of(window)) and outputs * inputs > 0
            and data.element_type == F32 and weights.element_type.name in FLOATS)


def _tiles(graph: Graph, context: BuildContext, nodes: Sequence[Node]) -> Sequence[_Tile | None]:
    """The best tile of each node, as another process found it, or judged; None: it had better stay as it is."""
    problems = _usual_problems(graph, context, nodes)
    kept = kept_rows(context, ("tiles", *map(described, problems))) if len(nodes) >= FEWEST else None
    found = None if kept is None else kept.find(lambda rows: [
        None if tile is None else _understood(problem, *tile) for problem, tile in zip(problems, rows, strict=True)])
    if found is None:
        found = _judged(context, nodes, problems)
        if kept is not None:
            kept.keep(found)
    return found


def _understood(direct: Problem, outputs: Sequence[int], growth: int, saved: float) -> _Tile:
    tile = _Tile(tuple(outputs), growth, saved)
    if tile.outputs not in tiles_of(_window(direct)) or not growth > 0 < saved:
        raise ValueError(f"no tile: {tile}")
    return tile


def _usual_problems(graph: Graph, context: BuildContext, nodes: Sequence[Node]) -> list[Problem]:
    """The problems of nodes in the usual sizes."""
    problems = [problem_of(graph, node, context) for node in nodes]
    if all(problem.is_static for problem in problems):
        return problems
    sample = usual_sample(graph, context)
    return [sample.problem(node, problem, ()) for node, problem in zip(nodes, problems, strict=True)]


def _judged(context: BuildContext, nodes: Sequence[Node], problems: Sequence[Problem]) -> list[_Tile | None]:
    """The best tiles, those of problems that are alike judged once."""
    found: dict[Hashable, _Tile | None] = {}
    tiles = []
    for node, problem in zip(nodes, problems, strict=True):
        refused = context.refused_kernels(node.id)
        key = (identity_of(problem), *sorted(refused.items()))
        if key not in found:
            found[key] = _best(node, problem, refused)
        tiles.append(found[key])
    return tiles


def _best(node: Node, direct: Problem, refused: Mapping[str, str]) -> _Tile | None:
    def time(problem: Problem) -> float:
        return alternatives(kernels_of(problem.primitive), problem, refused=refused)[0].cost

    present = time(direct)
    own = {outputs: _problem(node, direct, outputs) for outputs in tiles_of(_window(direct))}
    needed = {outputs: time(problem) for outputs, problem in own.items()}
    best = min(needed, key=needed.__getitem__)
    if needed[best] >= SHARE * present:
        return None
    return _Tile(best, own[best].inputs[1].byte_size - direct.inputs[1].byte_size, present - needed[best])


def _window(direct: Problem) -> tuple[int, ...]:
    """The elements of a filter along each axis."""
    return direct.inputs[1].static_shape[2:]


def _problem(node: Node, direct: Problem, outputs: tuple[int, ...]) -> Problem:
    """That of the convolution by tiles."""
    channels, window = direct.inputs[1].static_shape[:2], _window(direct)
    primitive = _primitive(node, outputs, window)
    filters = Layout.planar((prod(sides_of(window, outputs)), *channels, *(1 for _ in window)), F32)
    inputs = direct.inputs[0], filters, *direct.all_inputs[2:]
    return kernels_of(primitive).problem.of(primitive, inputs, direct.outputs, direct.capabilities, {}, direct.is_large)


def _primitive(node: Node, outputs: tuple[int, ...], window: tuple[int, ...], **changed: Any) -> WinogradConvolution:
    attributes = {field.name: getattr(node.primitive, field.name) for field in fields(node.primitive)}
    return WinogradConvolution(**{**attributes, **changed, "outputs": outputs, "window": window})


def _transform(graph: Graph, context: BuildContext, node: Node, outputs: tuple[int, ...]) -> None:
    data, filters, *others = node.inputs
    values = graph.constants[filters.primitive].on_host(context.stream)
    constant = constant_before(graph, node, "transformed", transformed(values, outputs))
    graph.replace(node.id, _primitive(node, outputs, values.shape[2:], inputs=(data, constant, *others)))
    graph.remove_unread(filters.primitive)
