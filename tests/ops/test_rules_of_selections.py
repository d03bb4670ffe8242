"""The shape rules of what the host computes from data: they tell how much there may be, or all, as OpenVINO does."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import UNBOUNDED, Dim, Shape, Size, StaticShape, is_static
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.ops.detection.detection_output import DetectionOutput, DetectionOutput1
from clinfer.ops.detection.op import MatrixNms, MulticlassNms, MulticlassNms8
from clinfer.ops.sparse_fill_empty_rows.op import SparseFillEmptyRows
from clinfer.topology import Primitive
from clinfer.topology.shape_rules import signature_of

Rng = np.random.Generator
ROUNDS = 120
TOPS = (-1, 0, 1, 4)
CLASSES = 3


def _selection(kind: type[MatrixNms | MulticlassNms], rng: Rng) -> tuple[Primitive, tuple[StaticShape, ...]]:
    pictures, classes, boxes = map(int, rng.choice([0, 1, 2, 5, 20], 3))
    primitive = kind("node", ("boxes", "scores"), nms_top_k=int(rng.choice(TOPS)), keep_top_k=int(rng.choice(TOPS)))
    if kind is MulticlassNms and rng.random() < 0.5:
        return primitive, ((classes, boxes, 4), (classes, boxes), (pictures,))
    return primitive, ((pictures, boxes, 4), (pictures, classes, boxes))


def _detection(kind: type[DetectionOutput], rng: Rng) -> tuple[Primitive, tuple[StaticShape, ...]]:
    pictures, boxes, normalized, shares = *map(int, rng.choice([0, 1, 2, 9], 2)), *map(bool, rng.integers(0, 2, 2))
    more: dict[str, Any] = {"num_classes": CLASSES} if kind is DetectionOutput1 else {}
    primitive = kind("node", ("offsets", "scores", "priors"), normalized=normalized, share_location=shares,
                     keep_top_k=(int(rng.choice(TOPS)),), top_k=int(rng.choice(TOPS)), **more)
    return primitive, ((pictures, boxes * 4 * (1 if shares else CLASSES)), (pictures, boxes * CLASSES),
                       (1, 2, boxes * (4 if normalized else 5)))


def _sparse(rng: Rng) -> tuple[Primitive, tuple[StaticShape, ...]]:
    count = int(rng.integers(0, 4))
    return SparseFillEmptyRows("node", ("values", "size", "places", "default")), ((count,), (2,), (count, 2), ())


KINDS: dict[str, Callable[[Rng], tuple[Primitive, tuple[StaticShape, ...]]]] = {
    **{kind.__name__: lambda rng, kind=kind: _selection(kind, rng)  # type: ignore[misc]
       for kind in (MatrixNms, MulticlassNms, MulticlassNms8)},
    **{kind.__name__: lambda rng, kind=kind: _detection(kind, rng)  # type: ignore[misc]
       for kind in (DetectionOutput, DetectionOutput1)},
    "SparseFillEmptyRows": _sparse}


def _opened(size: int, rng: Rng) -> Size:
    return (size, size, Dim(), Dim(max(size - 1, 0), size + 2))[rng.integers(0, 4)]


def _spoiled(shape: StaticShape, rng: Rng) -> StaticShape:
    """Now and then with another size, or another rank."""
    if rng.random() < 0.9:
        return shape
    return shape[:-1] if rng.random() < 0.2 else tuple(size + int(rng.random() < 0.5) for size in shape)


def _bounds(size: Size) -> tuple[int, int]:
    return (size.low, size.high) if isinstance(size, Dim) else (size, size)


def _agree(mine: Shape, other: Shape | None) -> bool:
    """Whether two rules that count with bounds may both be right."""
    return other is None or (len(mine) == len(other) and all(
        low <= upper and lower <= high for (low, high), (lower, upper) in zip(
            map(_bounds, mine), map(_bounds, other), strict=True)))


@pytest.mark.parametrize("name", KINDS)
def test_rules_agree_with_openvino(name: str, rng: Rng) -> None:
    asked = 0
    for _ in range(ROUNDS):
        primitive, sizes = KINDS[name](rng)
        sizes = tuple(_spoiled(shape, rng) for shape in sizes)
        shapes = tuple(tuple(_opened(size, rng) for size in shape) for shape in sizes)
        types = [ElementType.of("f32")] * len(shapes)
        for index in {"SparseFillEmptyRows": (1, 2), "MulticlassNms": (2,)}.get(name, ()):
            types[index:index + 1] = [ElementType.of("i64")] * (index < len(types))
        rule = OpenVinoShapeInference().rule(signature_of(primitive), tuple(types))
        for given in (sizes, shapes):
            told = primitive.infer_shapes(given, {})
            try:
                expected = rule(given, {})
            except ClinferError:
                assert told is None or not all(map(is_static, given)), f"OpenVINO refuses {given} of {primitive}"
                continue
            asked += told is not None
            assert told is None or all(map(_agree, told, expected)), f"{primitive} of {given}: {told}, not {expected}"
            if told is not None and is_static(expected[-1]):
                assert expected[-1] == told[-1], primitive
    assert asked > ROUNDS // 3


@pytest.mark.parametrize("kind", [MatrixNms, MulticlassNms])
def test_the_most_boxes_are_those_of_openvino(kind: type[MatrixNms | MulticlassNms], rng: Rng) -> None:
    for _ in range(ROUNDS):
        primitive, sizes = _selection(kind, rng)
        types = (*[ElementType.of("f32")] * 2, *[ElementType.of("i64")] * (len(sizes) - 2))
        (told, *_), (expected, *_) = (
            rule(sizes, {}) or () for rule in (primitive.infer_shapes,
                                               OpenVinoShapeInference().rule(signature_of(primitive), types)))
        assert told is not None and expected is not None
        assert _bounds(told[0])[1] == _bounds(expected[0])[1] < UNBOUNDED, f"{primitive} of {sizes}"
