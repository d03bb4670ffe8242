"""Resize as far as OpenVINO's Interpolate differs from ONNX: places and weights are computed axis by axis."""
from __future__ import annotations

import numpy as np

from clinfer.frontend.onnx.graph import Node
from clinfer.frontend.onnx.operator import Operands, Reading, Scope
from clinfer.frontend.onnx.values import Value, iota, op, scalar, vector

_ROI, _SCALES, _SIZES = 1, 2, 3
_NEAREST = {"round_prefer_floor": lambda at: (at - 0.5).apply("ceil"), "floor": lambda at: at.apply("floor"),
            "round_prefer_ceil": lambda at: (at + 0.5).apply("floor"), "ceil": lambda at: at.apply("ceil")}


def convert(node: Operands) -> list[Value]:
    """The resized tensor.

    Formulas: the text of ONNX's operator and its reference implementation.
    """
    x = node[0]
    axes = [x.axis(axis) for axis in node.attribute("axes", range(x.rank))]
    scales = node.get(_SCALES)
    known = None if scales is None else scales.constant
    if known is not None and _is_interpolate(node, known):
        return [_interpolated(node, x, known, axes)]
    y = x if x.is_real or node.text("mode", "nearest") == "nearest" else x.to("f32")
    common = _common_scale(node, x, axes)
    for number, axis in enumerate(axes):
        if known is not None and known[number] == 1.0 and not node.has(_ROI):
            continue
        y = _along(node, y, axis, number, len(axes), common)
    return [y.like(x)]


def _is_interpolate(node: Operands, scales: np.ndarray) -> bool:
    """Whether Interpolate aligns corners likewise: sizes are whole multiples."""
    return (node.text("coordinate_transformation_mode", "") == "align_corners"
            and bool((scales == np.round(scales)).all()) and not node.number("exclude_outside", 0))


def _interpolated(node: Operands, x: Value, scales: np.ndarray, axes: list[int]) -> Value:
    mode = {"linear": "linear_onnx"}.get(node.text("mode", "nearest"), node.text("mode", "nearest"))
    return Value(op.interpolate(
        x.port, vector(*scales.tolist(), kind="f32").port, mode, "scales", [0] * x.rank, [0] * x.rank, "align_corners",
        node.text("nearest_mode", "round_prefer_floor"), False, float(node.attribute("cubic_coeff_a", -0.75)),
        vector(*axes).port))


def _common_scale(node: Operands, x: Value, axes: list[int]) -> Value | None:
    """The scale of all axes where the aspect ratio is kept."""
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch" or not node.has(_SIZES):
        return None
    ratios = node[_SIZES].to("f32") / x.shape().gather(vector(*axes), 0).to("f32")
    return ratios.min(0) if policy == "not_larger" else ratios.max(0)


def _along(node: Operands, x: Value, axis: int, number: int, count: int, common: Value | None) -> Value:
    """Resized along one axis, the `number`th of `count`."""
    length = x.count(axis).to("f32")
    if common is not None:
        scale = common
        size = (scale * length + 0.5).apply("floor")
    elif node.has(_SIZES):
        size = node[_SIZES].gather(scalar(number), 0).to("f32")
        scale = size / length
    else:
        scale = node[_SCALES].gather(scalar(number), 0)
        size = (scale * length).apply("floor")
    roi = None
    if node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
        roi = node[_ROI].to("f32").gather(scalar(number), 0), node[_ROI].to("f32").gather(scalar(number + count), 0)
    at = _places(node, length, scale, size, roi)
    y = _nearest(node, x, axis, at, length) if node.text("mode", "nearest") == "nearest" else \
        _weighted(node, x, axis, at, scale)
    if roi is None:
        return y
    is_outside = ((at < 0) | (at > length - 1)).reshape([-1, *[1] * (x.rank - 1 - axis)])
    return is_outside.where(y.constant_like(float(node.attribute("extrapolation_value", 0.0))), y)


def _places(node: Operands, length: Value, scale: Value, size: Value, roi: tuple[Value, Value] | None) -> Value:
    """Where each element of the result lies among those of the input."""
    mode = node.text("coordinate_transformation_mode", "half_pixel")
    result = iota(size.to("i64")).to("f32")
    whole = scale * length
    is_one = whole.equals(1.0)
    if mode == "align_corners":
        return is_one.where(0.0, result * (length - 1) / is_one.where(1.0, whole - 1))
    if roi is not None:
        start, extent = roi[0], (roi[1] - roi[0]) * (length - 1)
        return start * (length - 1) + is_one.where(extent / 2, result * extent / is_one.where(1.0, whole - 1))
    if mode == "asymmetric":
        return result / scale
    half = (result + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return length / 2 * (1.0 - size / whole) + half
    return is_one.where(-0.5, half) if mode == "pytorch_half_pixel" else half


def _nearest(node: Operands, x: Value, axis: int, at: Value, length: Value) -> Value:
    nearest = _NEAREST[node.text("nearest_mode", "round_prefer_floor")](at)
    return x.gather(nearest.at_least(0).at_most(length - 1).to("i64"), axis)


def _weighted(node: Operands, x: Value, axis: int, at: Value, scale: Value) -> Value:
    """By a matrix of weights; beyond its ends the line goes on with its last elements."""
    is_cubic = node.text("mode", "nearest") == "cubic"
    shrink = scale.at_most(1.0) if node.number("antialias", 0) else scale.constant_like(1.0)
    beyond = (float(2 if is_cubic else 1) / shrink).apply("ceil").to("i64") + 1
    length = x.count(axis)
    taps = iota(length + beyond * 2) - beyond
    inside = taps.at_least(0).at_most(length - 1)
    distance = ((taps.to("f32") - at.unsqueeze(1)) * shrink).apply("abs")
    weights = _cubic(distance, float(node.attribute("cubic_coeff_a", -0.75))) if is_cubic else \
        (1.0 - distance).at_least(0)
    if node.number("exclude_outside", 0):
        weights = taps.equals(inside).where(weights, 0.0)
    weights = (weights / weights.sum(1, keep=True)).like(x)
    order = [other for other in range(x.rank) if other != axis] + [axis]
    back = [order.index(place) for place in range(x.rank)]
    return x.gather(inside, axis).transpose(order).matmul(weights, transpose_b=True).transpose(back)


def _cubic(distance: Value, a: float) -> Value:
    """Keys' kernel of cubic convolution, IEEE Trans. ASSP 29 (1981)."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return (distance <= 1).where(near, (distance < 2).where(far, 0.0))


def _is_needed(node: Node, scope: Scope) -> bool:
    mode = node.value("coordinate_transformation_mode")
    by_scale = len(node.inputs) > _SCALES and node.inputs[_SCALES] != ""
    return (mode in ("tf_crop_and_resize", "half_pixel_symmetric")
            or node.value("keep_aspect_ratio_policy", "stretch") != "stretch"
            or bool(node.value("antialias", 0)) or bool(node.value("exclude_outside", 0))
            or (mode == "align_corners" and by_scale and scope.version >= 19))


MENDINGS = (Reading("Resize", convert, _is_needed),)
