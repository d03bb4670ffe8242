"""RoiAlign by the largest, which in ONNX is that of the weighted corners of each sample."""
from __future__ import annotations

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, iota, scalar


def convert(node: Operands) -> list[Value]:
    """[regions, channels, height, width]. Errors: ValueError where the number of samples depends on regions."""
    x, regions = node[0], node[1]
    samples = node.number("sampling_ratio", 0)
    if samples <= 0:
        raise ValueError("RoiAlign by the largest needs a sampling_ratio")
    is_half = node.version >= 16 and node.text("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    corners = regions * float(node.attribute("spatial_scale", 1.0)) - (0.5 if is_half else 0.0)
    counts = node.number("output_height", 1), node.number("output_width", 1)
    ways = [_samples(corners, first, count, samples, x.count(axis), is_half)
            for first, count, axis in ((1, counts[0], 2), (0, counts[1], 3))]
    pictures = x.gather(node[2].to("i64"), 0).reshape([0, 0, -1], copies_zeros=True)
    largest = None
    for row, row_weight in ways[0]:
        for column, column_weight in ways[1]:
            index = row.unsqueeze(2) * x.count(3) + column.unsqueeze(1)
            weight = row_weight.unsqueeze(2) * column_weight.unsqueeze(1)
            found = pictures.gather(index.reshape([0, -1], copies_zeros=True), 2, batch_dims=1)
            found = found * weight.reshape([0, 1, -1], copies_zeros=True)
            largest = found if largest is None else largest.at_least(found)
    assert largest is not None
    by_bin = largest.reshape([0, 0, counts[0], samples, counts[1], samples], copies_zeros=True)
    return [by_bin.max(3, 5)]


def _samples(corners: Value, first: int, count: int, samples: int, size: Value,
             is_half: bool) -> list[tuple[Value, Value]]:
    """(places, weights), each [regions, count * samples], of the lower and the upper neighbour along an axis."""
    start, end = (corners.gather(scalar(place), 1).unsqueeze(1) for place in (first, first + 2))
    extent = end - start if is_half else (end - start).at_least(1.0)
    at = start + (iota(scalar(count * samples)).to("f32") + 0.5) * (extent / float(count * samples))
    last = (size - 1).to("f32")
    is_there = (at >= -1.0) & (at <= last + 1.0)
    place = at.at_least(0.0).at_most(last)
    low = place.apply("floor")
    share = place - low
    return [(low.to("i64"), is_there.where(1.0 - share, 0.0)),
            ((low + 1.0).at_most(last).to("i64"), is_there.where(share, 0.0))]


def _by_largest(node: Node, scope: Scope) -> bool:
    return node.value("mode") == "max"


MENDINGS = (Reading("RoiAlign", convert, _by_largest),)
