"""GridSample in volumes, which OpenVINO does not have."""
from __future__ import annotations

from itertools import product

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.values import Value, concat, op, scalar

_MODES = {"linear": "bilinear", "cubic": "bicubic"}


def convert(node: Operands) -> list[Value]:
    """What stands at the places of a grid: [batch, channels, *grid]. The last axis of the grid counts axes from the
    last one on."""
    x, grid = node[0], node[1]
    mode = node.text("mode", "linear")
    mode = _MODES.get(mode, mode)
    aligns, padding = bool(node.number("align_corners", 0)), node.text("padding_mode", "zeros")
    if x.rank == 4:
        attributes = {"align_corners": aligns, "mode": mode, "padding_mode": padding}
        return [Value(op.grid_sample(x.port, grid.port, attributes))]
    if mode == "bicubic":
        raise ValueError("GridSample in volumes is linear or nearest here")
    axes = x.rank - 2
    places = [_place(grid.gather(scalar(axes - 1 - axis), axes + 1), x.count(2 + axis), aligns, padding,
                     mode == "nearest") for axis in range(axes)]
    if mode == "nearest":
        return [_pixels(x, places, padding)]
    lows = [place.apply("floor") for place in places]
    found = None
    for corner in product((0, 1), repeat=axes):
        weight = None
        for place, low, side in zip(places, lows, corner, strict=True):
            share = place - low if side else 1.0 - (place - low)
            weight = share if weight is None else weight * share
        assert weight is not None
        part = _pixels(x, [low + float(side) for low, side in zip(lows, corner, strict=True)], padding)
        part = part * weight.unsqueeze(1).like(x)
        found = part if found is None else found + part
    assert found is not None
    return [found]


def _place(at: Value, count: Value, aligns: bool, padding: str, rounds: bool) -> Value:
    """From -1 to 1 to places among the elements of an axis."""
    length = count.like(at)
    place = (at + 1.0) / 2.0 * (length - 1.0) if aligns else ((at + 1.0) * length - 1.0) / 2.0
    if rounds:
        place = place.rounded()
    if padding == "border":
        return place.at_least(0.0).at_most(length - 1.0)
    if padding == "reflection":
        low = place.constant_like(0.0 if aligns else -0.5)
        extent = length - 1.0 if aligns else length
        extent = extent.equals(0.0).where(1.0, extent)
        beyond = (place - low).apply("abs") % (extent * 2.0)
        return low + (beyond > extent).where(extent * 2.0 - beyond, beyond)
    return place


def _pixels(x: Value, places: list[Value], padding: str) -> Value:
    """The elements at whole places; beyond the ends zeros, or the last ones."""
    index, inside = None, None
    for axis, place in enumerate(places):
        last = x.count(2 + axis) - 1
        whole = place.to("i64")
        clamped = whole.at_least(0).at_most(last)
        is_there = whole.equals(clamped)
        index = clamped if index is None else index * (last + 1) + clamped
        inside = is_there if inside is None else inside & is_there
    assert index is not None and inside is not None
    found = x.reshape([0, 0, -1], copies_zeros=True).gather(index.reshape([0, -1], copies_zeros=True), 2, batch_dims=1)
    found = found.reshape(concat([x.shape().slice(0, 0, 2), index.shape().slice(0, 1, index.rank)], 0))
    return inside.unsqueeze(1).where(found, 0.0) if padding == "zeros" else found


MENDINGS = (Reading("GridSample", convert, lambda node, scope: scope.version >= 20),)
