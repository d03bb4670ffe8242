"""MelWeightMatrix, which OpenVINO's import does not know."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import TYPES, Operands, Reading
from clinfer.frontend.onnx.values import Value, iota, vector


def convert(node: Operands) -> list[Value]:
    """Triangles on the mel scale: [frequencies, bins].

    Formulas: ONNX's reference implementation.
    """
    bins, length, rate = (node[index].to("i64").reshape([]) for index in (0, 1, 2))
    low, high = (_to_mel(node[index].to("f32").reshape([])) for index in (3, 4))
    step = (high - low) / (bins + 2).to("f32")
    mels = iota(bins + 2).to("f32") * step + low
    hertz = (10.0 ** (mels / 2595.0) - 1.0) * 700.0
    edges = ((length + 1).to("f32") * hertz / rate.to("f32")).apply("floor")
    first, centre, last = (edges.slice(0, vector(start), bins.reshape([1]) + start) for start in range(3))
    places = iota(length // 2 + 1).to("f32").unsqueeze(1)
    width = centre - first
    rising = width.equals(0.0).where(1.0, (places - first) / width.equals(0.0).where(1.0, width))
    fall = last - centre
    falling = (last - places) / fall.equals(0.0).where(1.0, fall)
    is_falling = (places >= centre) & (places < last)
    is_rising = (places >= first) & (places <= centre)
    weights = is_falling.where(falling, is_rising.where(rising, 0.0))
    return [weights.to(TYPES[node.number("output_datatype", 1)])]


def _to_mel(hertz: Value) -> Value:
    return (hertz / 700.0 + 1.0).apply("log") * (2595.0 / 2.302585092994046)


MENDINGS = (Reading("MelWeightMatrix", convert),)
