"""Functions, layers and transforms that few models have, and variables."""
from __future__ import annotations

import numpy as np

from clinfer.frontend.openvino_import import openvino as ov
from tests.fuzz.draft import Draft, Refused
from tests.fuzz.graph import dtype_of
from tests.fuzz.operations.elementwise import tame
from tests.fuzz.operations.heavy import image
from tests.fuzz.operations.table import i64, operation


@operation("rare", 3)
def bounded_function(draft: Draft) -> None:
    """Functions with poles or a domain, away from their ends."""
    x = draft.pick(lambda t: t.is_real)
    name = draft.one(("Asin", "Acos", "Atanh", "Tan", "Acosh", "Exp", "Cosh", "ErfInv", "HardSigmoid"))
    if name == "HardSigmoid":
        draft.step(name, x, *(np.array(value, dtype_of(x.type)) for value in (0.25, 0.5)))
        return
    within = draft.op("Clamp", x, min=-0.75, max=0.75)
    if name == "Acosh":
        within = draft.op("Add", within, np.array(2.25, dtype_of(x.type)), auto_broadcast="numpy")
    draft.step(name, within)


@operation("rare")
def asked_for_numbers(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type == "f32" and t.exact)
    name = draft.one(("IsNaN", "IsInf", "IsFinite"))
    draft.step(name, x, **({"detect_negative": True, "detect_positive": draft.chance(0.5)} if name == "IsInf" else {}))


@operation("rare")
def shifted(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type in ("u8", "i32", "i64") and all((value >= 0).all() for value in t.values))
    name = draft.one(("BitwiseNot", "BitwiseLeftShift", "BitwiseRightShift"))
    if name == "BitwiseNot":
        draft.step(name, x)
    else:
        draft.step(name, x, np.array(draft.integer(0, 3), dtype_of(x.type)), auto_broadcast="numpy")


@operation("rare")
def converted_like(draft: Draft) -> None:
    draft.step("ConvertLike", draft.pick(lambda t: t.type != "boolean"), draft.pick(lambda t: t.type != "boolean"))


@operation("rare")
def normalized_beside(draft: Draft) -> None:
    """LRN, across channels or places."""
    x = draft.pick(lambda t: t.type == "f32" and t.rank >= 3)
    axes = i64(1) if draft.chance(0.6) else i64(*range(2, x.rank))
    draft.step("LRN", x, axes, alpha=0.5, beta=0.75, bias=1.0, size=draft.one([1, 3, 5]))


@operation("rare", 2)
def summed_products(draft: Draft) -> None:
    """Einsum with a constant."""
    x = draft.pick(lambda t: t.type == "f32" and 2 <= t.rank <= 3 and t.size(t.rank - 1))
    letters, size = "bij"[3 - x.rank:], x.size(x.rank - 1) or 1
    other, weights = draft.one([("jk", (size, 3)), ("j", (size,)), ("kj", (2, size))])
    left = "".join(dict.fromkeys(letters + other))
    kept = [letter for letter in left if letter != "j" or draft.chance(0.3)]
    turned = "".join(draft.rng.permutation(kept).tolist())
    draft.step("Einsum", x, draft.weights(*weights), equation=f"{letters},{other}->{turned}")


@operation("rare", 3)
def stepped(draft: Draft) -> None:
    """One step of a recurrent layer."""
    x = draft.pick(lambda t: t.type == "f32" and t.rank == 2 and bool(t.size(1)))
    tame(draft, x)
    size, hidden = x.size(1) or 1, draft.one([1, 3, 8])
    state = draft.op("Tanh", draft.op("MatMul", x, draft.weights(size, hidden), transpose_a=False, transpose_b=False))
    name, gates = draft.one((("RNNCell", 1), ("GRUCell", 3), ("LSTMCell", 4)))
    given = [draft.weights(gates * hidden, size), draft.weights(gates * hidden, hidden)]
    if name == "GRUCell" and draft.chance(0.5):
        more, bias = {"linear_before_reset": True}, draft.weights(4 * hidden)
    else:
        more, bias = {}, draft.weights(gates * hidden)
    states = [state, draft.op("Negative", state)] if name == "LSTMCell" else [state]
    draft.step(name, x, *states, *given, bias, hidden_size=hidden, **more)


@operation("rare", 2)
def enlarged_in_groups(draft: Draft) -> None:
    """A transposed convolution in groups."""
    x = image(draft)
    channels, axes = x.size(1) or 1, x.rank - 2
    groups = draft.one([g for g in (1, 2, channels) if channels % g == 0])
    weights = draft.weights(groups, channels // groups, draft.one([1, 2, 3]), *[draft.one([1, 2, 3])] * axes)
    draft.step("GroupConvolutionBackpropData", x, weights, strides=[draft.one([1, 2])] * axes, pads_begin=[0] * axes,
               pads_end=[0] * axes, dilations=[1] * axes, output_padding=[0] * axes, auto_pad="explicit")


@operation("rare", 2)
def pooled_to_a_size(draft: Draft) -> None:
    x = image(draft)
    if not all(x.least(axis) for axis in range(x.rank)):
        raise Refused("nothing to pool")
    sizes = i64(*[draft.integer(1, 3) for _ in range(x.rank - 2)])
    if draft.chance(0.5):
        draft.step("AdaptiveAvgPool", x, sizes)
    else:
        draft.step("AdaptiveMaxPool", x, sizes, index_element_type="i64")


@operation("rare")
def sampled(draft: Draft) -> None:
    """GridSample at places between and beside those of the picture."""
    x = image(draft)
    if x.rank != 4 or not x.size(0) or not all(x.least(axis) for axis in range(4)):
        raise Refused("no pictures")
    # Away from whole places, where nearest jumps.
    places = draft.rng.uniform(-1.2, 1.2, (x.size(0) or 1, draft.integer(1, 3), draft.integer(1, 4), 2))
    draft.step("GridSample", x, places.astype(np.float32), align_corners=draft.chance(0.5),
               mode=draft.one(("bilinear", "bilinear", "bicubic")),
               padding_mode=draft.one(("zeros", "border", "reflection")))


@operation("rare", 2)
def transformed(draft: Draft) -> None:
    """Fourier transforms of real and of complex numbers."""
    x = draft.pick(lambda t: t.type == "f32" and 1 <= t.rank <= 3 and all(value.size for value in t.values))
    axes = i64(*sorted(draft.rng.permutation(x.rank)[:draft.integer(1, min(x.rank, 2))].tolist()))
    if draft.chance(0.5):
        draft.step("RDFT", x, axes)
        return
    part = draft.op("Unsqueeze", x, i64(x.rank))
    draft.step(draft.one(("DFT", "IDFT")), draft.op("Concat", part, draft.op("Negative", part), axis=x.rank), axes)


@operation("rare")
def reorganized(draft: Draft) -> None:
    x = image(draft)
    if x.rank != 4 or any(shape[1] % 4 or shape[2] % 2 or shape[3] % 2 or not all(shape) for shape in x.shapes):
        raise Refused("sizes that a stride of 2 does not divide")
    draft.step("ReorgYolo", x, stride=[2])


@operation("rare", 3)
def remembered(draft: Draft) -> None:
    """A variable, which begins as a tensor and grows with each inference until it is reset."""
    x = draft.pick(lambda t: t.rank > 0)
    if draft.depth:
        raise Refused("variables of bodies")
    if any(not x.port.get_partial_shape().compatible(ov.PartialShape(list(shape))) for shape in x.shapes):
        raise Refused("a variable of a declared shape that is not that of its first value")
    draft.step("Remember", x, axis=draft.integer(0, x.rank - 1))
