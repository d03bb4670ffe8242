"""Makes attention one primitive where a model writes it out, and takes its constants into the primitive."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from clinfer.base.shape import Shape
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise, is_add
from clinfer.ops.matmul import FLOAT_TYPES, MatMul
from clinfer.ops.reshape import Reshape
from clinfer.ops.sdpa import MOST_WIDTH, ScaledDotProductAttention
from clinfer.ops.shared.views import static
from clinfer.ops.softmax import Softmax
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.insertion import constant_before, inserted, transposed
from clinfer.program.size_names import SizeNames
from clinfer.topology import Port


@dataclass(frozen=True)
class _Windows:
    """Masks of several windows [1, windows, 1 or heads, queries, keys], added to `scores`, which are those of all
    windows of all pictures [pictures * windows, heads, queries, keys]."""

    scores: Port
    masks: np.ndarray


@dataclass(frozen=True)
class _Attention:
    """softmax(scores * scale + mask) x values, written out; `windows`: what is added to the scores besides."""

    scores: Node
    scale: float
    mask: Port | None
    windows: _Windows | None
    softmax: Node
    result: Node

    @property
    def products(self) -> tuple[MatMul, MatMul]:
        return cast(MatMul, self.scores.primitive), cast(MatMul, self.result.primitive)


def fuse_attention(graph: Graph, context: BuildContext) -> None:
    """A product, constant factors (of the query or key, too), a mask, a softmax over the last axis and a product, each
    read by the next alone.

    Where sizes leave that open, the mask may stretch the scores, but not along the keys, which is checked for each
    shape. Conversions between these steps, as where f16 models have their softmax in f32, are left out: kernels compute
    scores in f32. Constant masks of windows, for which models see the scores as those of windows of pictures (Liu et
    al., "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows", 2021), make it attention of as many
    heads as all windows of a picture have.
    """
    for node in graph:
        if node.id not in graph:
            continue
        found = _written_out(graph, node, context)
        if found is not None:
            _fuse(graph, found, context)
        elif isinstance(node.primitive, ScaledDotProductAttention):
            _take_constants(graph, node, context)


# -- written out ------------------------------------------------------------------------------------


def _written_out(graph: Graph, node: Node, context: BuildContext) -> _Attention | None:
    if not _is_product(node) or node.layouts[0].rank < 3:
        return None
    width, softmax = node.layouts[0].shape[-1], graph[_unconverted(graph, node.inputs[0]).primitive]
    if not isinstance(width, int) or width > MOST_WIDTH or cast(MatMul, node.primitive).transpose_a:
        return None
    if not isinstance(softmax.primitive, Softmax) or not _is_read_once(graph, softmax):
        return None
    if softmax.primitive.axis not in (-1, softmax.layouts[0].rank - 1):
        return None
    masked = _unconverted(graph, softmax.inputs[0])
    windows = _windows(graph, masked, context)
    for scores, mask in _masked(graph, masked if windows is None else windows.scores):
        product, scale = _unscaled(graph, scores, context)
        at = graph[product.primitive]
        found = _Attention(at, scale, mask, windows, softmax, node)
        is_fit = _is_product(at) and _is_read_once(graph, at) and _fits(graph, found)
        if is_fit and (windows is None or _is_windowed(graph, found, context)):
            return found
    return None


def _windows(graph: Graph, port: Port, context: BuildContext) -> _Windows | None:
    """The windows of what a softmax reads."""
    merged = graph[port.primitive]
    added = graph[_unconverted(graph, merged.inputs[0]).primitive] if _is_view(graph, merged) else merged
    if not is_add(added.primitive) or not _is_read_once(graph, added):
        return None
    for seen, mask in (added.inputs, added.inputs[::-1]):
        split, masks = graph[_unconverted(graph, seen).primitive], context.known_value(graph, mask)
        if masks is None or not _is_view(graph, split) or added.layouts[0].rank != 5:
            continue
        scores, is_for_all = split.inputs[0], masks.ndim < 5 or masks.shape[0] == 1
        one = graph.layout(scores).shape[1:]
        known = tuple(size for size in added.layouts[0].shape if isinstance(size, int))
        is_split = len(one) == 3 and known[-4:] == (*masks.shape[-4:-3], *one)
        if is_split and merged.layouts[0].shape[1:] == one and is_for_all:
            return _Windows(_unconverted(graph, scores), masks.reshape((1,) * (5 - masks.ndim) + masks.shape))
    return None


def _is_view(graph: Graph, node: Node) -> bool:
    return isinstance(node.primitive, Reshape) and _is_read_once(graph, node)


def _is_windowed(graph: Graph, found: _Attention, context: BuildContext) -> bool:
    """Whether query, key and value have as many windows and heads as the scores, and another mask is a constant of what
    all windows have."""
    names = SizeNames(graph, context, found.result.id)
    shapes = [names.shape(port) for port in (*found.scores.inputs, found.result.inputs[1], Port(found.scores.id))]
    if len({shape[:2] for shape in shapes}) > 1 or not all(isinstance(size, int) for s in shapes for size in s[1:]):
        return False
    if found.mask is None:
        return True
    mask = graph.layout(found.mask)
    return found.mask.primitive in graph.constants and (mask.rank < 4 or mask.shape[0] == 1)


def _is_product(node: Node) -> bool:
    primitive = node.primitive
    return isinstance(primitive, MatMul) and len(primitive.inputs) == 2 and not primitive.fused_ops and not node.on_host


def _is_read_once(graph: Graph, node: Node) -> bool:
    return (not graph.is_output(node.id) and len(graph.readers(Port(node.id))) == 1
            and not node.primitive.output_padding and not node.primitive.fused_ops)


def _unconverted(graph: Graph, port: Port) -> Port:
    """What a tensor was before conversions between floats that nothing else reads."""
    node = graph[port.primitive]
    while isinstance(node.primitive, Convert) and _is_read_once(graph, node) and all(
            layout.element_type in FLOAT_TYPES for layout in (*graph.input_layouts(node), *node.layouts)):
        port = node.inputs[0]
        node = graph[port.primitive]
    return port


def _unscaled(graph: Graph, port: Port, context: BuildContext) -> tuple[Port, float]:
    """What a tensor was before conversions and constant factors, and the product of these."""
    port, scale = _unconverted(graph, port), 1.0
    while _is_read_once(graph, node := graph[port.primitive]) and (factor := _factor(graph, node, context)) is not None:
        port, scale = _unconverted(graph, node.inputs[0]), scale * factor
    return port, scale


def _factor(graph: Graph, node: Node, context: BuildContext) -> float | None:
    """What input 0 is multiplied with, if that is one constant."""
    mode = node.primitive.mode if isinstance(node.primitive, Eltwise) else ""
    if mode not in ("Multiply", "Divide") or graph.layout(node.inputs[0]).shape != node.layouts[0].shape:
        return None
    number = context.number(graph, node.inputs[1])
    if not number:
        return None
    return number if mode == "Multiply" else 1 / number


def _masked(graph: Graph, port: Port) -> list[tuple[Port, Port | None]]:
    """What may be the scores and their mask in what a softmax reads."""
    node = graph[port.primitive]
    if not is_add(node.primitive):
        return [(port, None)]
    both = (node.inputs, node.inputs[::-1]) if _is_read_once(graph, node) else ()
    return [(scores, mask) for scores, mask in both if _stretches(graph.layout(mask).shape, graph.layout(scores).shape)]


def _stretches(shape: Shape, target: Shape) -> bool:
    """Whether sizes that are known do not keep a shape from stretching to another."""
    return len(shape) <= len(target) and all(
        size in (1, whole) if isinstance(size, int) else not isinstance(whole, int)
        for size, whole in zip(reversed(shape), reversed(target), strict=False))


def _fits(graph: Graph, found: _Attention) -> bool:
    """Whether query, key and value are floats of one type and rank."""
    inputs = [graph.layout(port) for port in (*found.scores.inputs, found.result.inputs[1])]
    types = {x.element_type for x in (*inputs, *found.result.layouts)}
    ranks = {x.rank for x in (*inputs, *found.scores.layouts, *found.result.layouts)}
    return len(types) == 1 and len(ranks) == 1 and inputs[0].element_type in FLOAT_TYPES


def _fuse(graph: Graph, found: _Attention, context: BuildContext) -> None:
    scale = found.scale * _take_factors(graph, found.scores, context)
    (first, second), reader, mask = found.products, found.result, found.mask
    inputs = [_turned(graph, first.inputs[0], first.transpose_a, reader, context),
              _turned(graph, first.inputs[1], not first.transpose_b, reader, context),
              _turned(graph, second.inputs[1], second.transpose_b, reader, context)]
    if found.windows is not None:
        mask = _window_masks(graph, found.windows, mask, reader, context)
        windows = found.windows.masks.shape[1]
        inputs = [_merged(graph, port, windows, reader, context) for port in inputs]
    result = inserted(graph, context, reader, ScaledDotProductAttention(
        graph.unique_id(f"{found.softmax.id}/attention"), (*inputs, *(() if mask is None else (mask,))),
        origin=found.softmax.primitive.origin, scale=scale))
    if found.windows is not None:
        result = _viewed(graph, result, (-1, *static(reader.layouts[0].shape[1:])), reader, context)
    last = graph[result.primitive]
    graph.replace(last.id, replace(last.primitive, output_padding=second.output_padding))
    last.layouts = reader.layouts
    graph.redirect(Port(reader.id), result)
    graph.remove_unread(reader.id)


def _take_factors(graph: Graph, node: Node, context: BuildContext) -> float:
    """Let a node read query and key without their constant factors, and what these multiply the scores with."""
    scale = 1.0
    for index, scaled in enumerate(node.inputs[:2]):
        port, factor = _unscaled(graph, scaled, context)
        if graph.element_type(port) == graph.element_type(scaled):
            scale *= factor
            graph.set_input(node.id, index, port)
            graph.remove_unread(scaled.primitive)
    return scale


def _merged(graph: Graph, port: Port, windows: int, reader: Node, context: BuildContext) -> Port:
    """[pictures * windows, heads, ...] as [pictures, windows * heads, ...]."""
    _, heads, *others = static(graph.layout(port).shape)
    return _viewed(graph, port, (-1, windows * heads, *others), reader, context)


def _window_masks(graph: Graph, windows: _Windows, mask: Port | None, reader: Node, context: BuildContext) -> Port:
    """The masks of windows and of all of them as one of [1, windows * heads, queries, keys]."""
    _, *sizes = static(graph.layout(windows.scores).shape)
    common = 0 if mask is None else np.asarray(context.known_value(graph, mask), np.float32)
    masks = np.broadcast_to(windows.masks.astype(np.float32) + common, (1, windows.masks.shape[1], *sizes))
    kind = graph.element_type(windows.scores)
    most = np.finfo(kind.numpy).max
    # What is finite stays so: of a query that sees nothing all keys count the same then.
    masks = np.where(np.isfinite(masks), np.clip(masks, -most, most), masks).astype(kind.numpy)
    return constant_before(graph, reader, "masks", masks.reshape(1, -1, *sizes[1:]), kind)


def _viewed(graph: Graph, port: Port, shape: Sequence[int], reader: Node, context: BuildContext) -> Port:
    pattern = constant_before(graph, reader, "shape", np.array(shape, np.int64))
    return inserted(graph, context, reader, Reshape(graph.unique_id(f"{port}/viewed"), (port, pattern),
                                                    origin=graph[port.primitive].primitive.origin))


def _turned(graph: Graph, port: Port, turn: bool, reader: Node, context: BuildContext) -> Port:
    """A tensor, or its transpose over the last two axes."""
    if not turn:
        return port
    rank = graph.layout(port).rank
    return transposed(graph, context, reader, port, (*range(rank - 2), rank - 1, rank - 2))


# -- constants --------------------------------------------------------------------------------------


def _take_constants(graph: Graph, node: Node, context: BuildContext) -> None:
    """A constant scale becomes an attribute, as do constant factors of query and key; then a mask of nothing but one 0
    is left out."""
    primitive = cast(ScaledDotProductAttention, node.primitive)
    if len(node.inputs) == 5 and (scale := context.number(graph, node.inputs[4])) is not None:
        graph.replace(node.id, primitive := replace(primitive, inputs=node.inputs[:4], scale=scale))
    if primitive.scale is not None:
        scale = primitive.scale * _take_factors(graph, node, context)
        graph.replace(node.id, primitive := replace(primitive, inputs=node.inputs, scale=scale))
    if len(node.inputs) == 4 and (primitive.causal or context.number(graph, node.inputs[3]) == 0):
        graph.replace(node.id, replace(primitive, inputs=node.inputs[:3]))
