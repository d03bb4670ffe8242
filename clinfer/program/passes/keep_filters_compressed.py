"""Lets convolutions read compressed filters without their scales."""
from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from clinfer.base.shape import StaticShape
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.shared.convolving import AnyConvolution
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.compressed_chain import ChainParts, stay_floats, weights_behind
from clinfer.program.passes.insertion import constant_before
from clinfer.program.passes.note_data_grids import multiplies_bytes
from clinfer.topology import Port


@dataclass(frozen=True)
class _Filter:
    """Numbers in the shape of the weights, and what output channels are multiplied with, [1, channels, 1...]."""

    numbers: np.ndarray
    scale: np.ndarray


def keep_filters_compressed(graph: Graph, context: BuildContext) -> None:
    """A convolution of f32 whose filter is (constant of 8 or 4 bits - zero point) * scale, with scales and zero points
    that differ between output channels at most, reads the differences, and its result is multiplied.

    They are held as i8 where they fit and else as f16, in both exactly. Convolutions that may multiply bytes, and those
    of narrower floats, which kernels want on both sides, read floats.
    """
    for node in graph:
        given = node.primitive
        if not isinstance(given, AnyConvolution) or not weights_behind(graph, node.inputs[1]):
            continue
        found = _filter(graph, context, node)
        if isinstance(found, _Filter):
            _replace(graph, context, node, found)
        else:
            stay_floats(graph, node, 1, found)


def _filter(graph: Graph, context: BuildContext, node: Node) -> _Filter | str:
    """What a convolution can read in place of its filter; a text says why there is nothing."""
    given = node.primitive
    assert isinstance(given, AnyConvolution)
    if any(graph.element_type(port).name != "f32" for port in node.inputs) or given.own_input_count > 2:
        return "kernels that multiply narrower floats read them on both sides"
    if multiplies_bytes(graph, context, node):
        return "its data are bytes, and so become its weights"
    parts = ChainParts.behind(graph, node.inputs[1])
    if isinstance(parts, str):
        return parts
    if parts.codebook is not None:
        return "its numbers are those of a codebook"
    weights, scale, zero_point = (None if port is None else graph.constants[port.primitive].on_host(context.stream)
                                  for port in (parts.weights, parts.scale, parts.zero_point))
    assert weights is not None and scale is not None
    per_channel = tuple(size if axis in given.channel_axes else 1 for axis, size in enumerate(weights.shape))
    if weights.shape != graph.layout(node.inputs[1]).shape:
        return "its Reshape changes the filter"
    if not all(_stretches(part.shape, per_channel) for part in (scale, zero_point) if part is not None):
        return "scales or zero points differ within an output channel"
    numbers = weights.astype(np.float32) - (0 if zero_point is None else zero_point.astype(np.float32))
    if not np.array_equal(numbers, numbers.astype(np.float16)):
        return "f16 does not hold its differences to the zero points"
    rank = node.layouts[0].rank
    factors = np.broadcast_to(scale.astype(np.float32), per_channel).reshape(1, prod(per_channel), *(1,) * (rank - 2))
    return _Filter(numbers.astype(_narrowest(numbers)), np.ascontiguousarray(factors))


def _narrowest(numbers: np.ndarray) -> type:
    fits = numbers.min(initial=0) >= -128 and numbers.max(initial=0) <= 127
    return np.int8 if fits and np.array_equal(numbers, np.rint(numbers)) else np.float16


def _stretches(shape: StaticShape, to: StaticShape) -> bool:
    """Whether a shape stretches to another one without making it larger."""
    lifted = (1,) * (len(to) - len(shape)) + tuple(shape)
    return len(lifted) == len(to) and all(have in (1, size) for have, size in zip(lifted, to, strict=True))


def _replace(graph: Graph, context: BuildContext, node: Node, found: _Filter) -> None:
    """Let a convolution read a narrow filter, and multiply what it makes of it."""
    wide, origin = node.inputs[1], node.primitive.origin
    graph.set_input(node.id, 1, constant_before(graph, node, "narrow", found.numbers))
    scale = constant_before(graph, node, "scale", found.scale)
    scaled = graph.insert_before(node.id, Eltwise(graph.unique_id(f"{node.id}/scaled"), (Port(node.id), scale),
                                                  mode="Multiply", origin=origin))
    graph.move_before(node.id, scaled.id)
    scaled.layouts = node.layouts
    graph.redirect(Port(node.id), Port(scaled.id))
    graph.remove_unread(wide.primitive)
