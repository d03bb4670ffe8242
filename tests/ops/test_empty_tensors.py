"""Every operation on tensors without elements: each axis of each input in turn, and those that go with it.

One row of each operation is chosen by the seed (`CLINFER_TEST_FULL=1`: all rows). OpenVINO's shape rule says which
shapes are legal and what comes out. Where outputs have elements all the same, `EXPECTED` says which; OpenVINO's CPU
plugin leaves memory unwritten there.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from clinfer.base.errors import ClinferError, OpenRankError
from clinfer.network.network import Network
from clinfer.ops import all_operations
from clinfer.ops.operation import Case
from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute, needs
from tests.oracle import assert_close, build_model, ov, parameter_specs, random_inputs
from tests.seeds import FULL, seed_of

Shapes = tuple[tuple[int, ...], ...]
Arrays = Sequence[np.ndarray]
ROWS = [case for op in all_operations() for case in import_module(f"clinfer.ops.{op.name}.cases").CASES]
KINDS = sorted({(case.op, case.opset) for case in ROWS})

REFUSED = {"CTCGreedyDecoder", "CTCGreedyDecoderSeqLen", "ConvolutionBackpropData", "DeformableConvolution",
           "DeformablePSROIPooling", "ExperimentalDetectronGenerateProposalsSingleImage",
           "ExperimentalDetectronPriorGridGenerator", "ExperimentalDetectronROIFeatureExtractor", "GRUCell",
           "GRUSequence", "GridSample", "GroupConvolutionBackpropData", "IRDFT", "ISTFT", "Interpolate", "LSTMCell",
           "LSTMSequence", "PRelu", "Pad", "PriorBox", "PriorBoxClustered", "Proposal", "RNNCell", "RNNSequence",
           "ROIAlign", "RegionYolo", "ScaledDotProductAttention", "Squeeze", "StridedSlice", "TopK", "VariadicSplit"}
"""Operations that may have no result although OpenVINO's shape rule gives one."""


def _constant(case: Case, index: int) -> Any:
    return np.asarray(case.inputs[index])


def _reduce(case: Case, data: np.ndarray, axes: np.ndarray) -> np.ndarray:
    mode, over = case.op.removeprefix("Reduce"), tuple({int(axis) % data.ndim for axis in np.atleast_1d(axes)})
    is_float, keep = np.issubdtype(data.dtype, np.floating), bool(case.attributes.get("keep_dims", False))
    ends = (-np.inf, np.inf) if is_float else (True, True) if data.dtype == np.bool_ else (
        np.iinfo(data.dtype).min, np.iinfo(data.dtype).max)
    if mode == "Mean":
        total, count = data.sum(over, dtype=data.dtype, keepdims=keep), _product(data, over)
        return np.asarray(total / data.dtype.type(count or np.nan) if is_float else total // max(count, 1))
    functions: dict[str, Callable[[], Any]] = {
        "Max": lambda: data.max(over, initial=ends[0], keepdims=keep),
        "Min": lambda: data.min(over, initial=ends[1], keepdims=keep),
        "Prod": lambda: data.prod(over, dtype=data.dtype, keepdims=keep),
        "LogicalAnd": lambda: data.all(over, keepdims=keep), "LogicalOr": lambda: data.any(over, keepdims=keep)}
    default = lambda: np.abs(data).sum(over, dtype=data.dtype, keepdims=keep)  # noqa: E731
    if mode == "Sum":
        return data.sum(over, dtype=data.dtype, keepdims=keep)
    return np.asarray(functions.get(mode, default)())


def _product(data: np.ndarray, axes: tuple[int, ...]) -> int:
    return int(np.prod([data.shape[axis] for axis in axes], dtype=np.int64))


def _reduced(case: Case, given: Arrays, outputs: Shapes) -> list[np.ndarray]:
    return [_reduce(case, given[0], given[1] if len(given) > 1 else _constant(case, 1))]


def _zeros(case: Case, given: Arrays, outputs: Shapes) -> list[np.ndarray]:
    return [np.zeros(shape) for shape in outputs]


def _filled(value: float) -> Callable[[Case, Arrays, Shapes], list[np.ndarray]]:
    """The first output full of a value, the second, places, of 0."""
    return lambda case, given, outputs: [np.full(shape, 0.0 if i else value) for i, shape in enumerate(outputs)]


def _unchanged(case: Case, given: Arrays, outputs: Shapes) -> list[np.ndarray]:
    return [given[0]]


def _states(case: Case, given: Arrays, outputs: Shapes) -> list[np.ndarray]:
    """Nothing has been read: the last states are the first ones."""
    return [np.zeros(outputs[0]), *given[1:len(outputs)]]


def _attention(case: Case, given: Arrays, outputs: Shapes) -> list[np.ndarray]:
    """Without keys 0; keys without features weigh what the mask says, if it says something, beside the sink."""
    _, key, value, *others = (np.asarray(a, np.float64) for a in given)
    scores = np.zeros((*outputs[0][:-1], key.shape[-2])) + (others[0] if others and others[0].ndim else 0)
    if case.attributes.get("causal"):
        scores += np.triu(np.full(scores.shape[-2:], -np.inf), 1)
    if len(others) > 2:
        scores = np.concatenate([scores, np.broadcast_to(others[2], (*scores.shape[:-1], 1))], -1)
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e300))
    return [(weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300))[..., :key.shape[-2]] @ value]


def _gathered(case: Case, given: Arrays, outputs: Shapes) -> list[np.ndarray]:
    """Indices that name no axis select everything behind the batch axes, once for each of them."""
    data, indices, batch = given[0], given[1], case.attributes.get("batch_dims", 0)
    if indices.shape[-1]:
        return [np.zeros(outputs[0])]
    between = (1,) * (indices.ndim - 1 - batch)
    lifted = data.reshape(*data.shape[:batch], *between, *data.shape[batch:])
    return [np.broadcast_to(lifted, (*indices.shape[:-1], *data.shape[batch:]))]


def _bags(case: Case, given: Arrays, outputs: Shapes) -> list[np.ndarray]:
    """Empty bags have a row of the table if the row names one, those of no table zeros."""
    place = {"EmbeddingSegmentsSum": 4}.get(case.op, 3)
    row = int(_constant(case, place)) if place < len(case.inputs) else -1
    return [np.broadcast_to(given[0][row], outputs[0]) if 0 <= row < len(given[0]) else np.zeros(outputs[0])]


def _regions(case: Case, given: Arrays, outputs: Shapes) -> list[np.ndarray]:
    """Zeros, and the regions."""
    return [np.zeros(outputs[0]), given[0] if given[0].ndim == 2 else _constant(case, 0)]


def _proposals(case: Case, given: Arrays, outputs: Shapes) -> list[np.ndarray]:
    """Zeros, in front of which -1 says of each picture that there is none."""
    found = [np.zeros(shape) for shape in outputs]
    if outputs[0][1] == 5:
        found[0][::case.attributes["post_nms_topn"], 0] = -1
    return found


def _grid(case: Case, given: Arrays, outputs: Shapes) -> list[np.ndarray]:
    """The anchors at each place: only the sizes of the map and the picture count."""
    (rows, columns), picture = given[0].shape[2:], given[1].shape[2:]
    steps = [case.attributes[name] or size / count for name, size, count in zip(
        ("stride_y", "stride_x"), picture, (rows, columns), strict=True)]
    y, x = (np.arange(count) * step + step / 2 for count, step in zip((rows, columns), steps, strict=True))
    middles = np.stack(np.broadcast_arrays(x, y[:, None]) * 2, -1)[:, :, None]
    return [(middles + _constant(case, 0)).reshape(outputs[0])]


EXPECTED: dict[str, Callable[[Case, Arrays, Shapes], list[np.ndarray]]] = {
    **dict.fromkeys(("Convolution", "GroupConvolution", "ConvolutionBackpropData", "GroupConvolutionBackpropData",
                     "DFT", "IDFT", "RDFT", "IRDFT", "Einsum", "Gather", "GatherElements", "GridSample", "MatMul",
                     "MatrixNms", "MulticlassNms", "NonMaxSuppression", "SpaceToBatch", "ISTFT", "ROIPooling",
                     "PSROIPooling", "DeformablePSROIPooling", "ROIAlignRotated", "CTCGreedyDecoderSeqLen",
                     "ExperimentalDetectronDetectionOutput", "ExperimentalDetectronTopKROIs", "GenerateProposals",
                     "Multinomial", "NMSRotated"), _zeros),
    "CTCLoss": _filled(np.inf),
    "ExperimentalDetectronPriorGridGenerator": _grid,
    "ExperimentalDetectronROIFeatureExtractor": _regions,
    **dict.fromkeys(("ExperimentalDetectronGenerateProposalsSingleImage", "Proposal"), _proposals),
    **dict.fromkeys(("EmbeddingBagOffsets", "EmbeddingBagOffsetsSum", "EmbeddingBagPacked", "EmbeddingBagPackedSum",
                     "EmbeddingSegmentsSum"), _bags),
    "GatherND": _gathered,
    **dict.fromkeys(("MaxPool", "AdaptiveMaxPool"), _filled(-np.inf)),
    **dict.fromkeys(("AvgPool",), _zeros),
    "AdaptiveAvgPool": _filled(np.nan),
    "Concat": lambda case, given, outputs: [np.concatenate(given, case.attributes["axis"])],
    "ConvertLike": lambda case, given, outputs: [given[0].astype(np.int32)],
    "Pad": lambda case, given, outputs: [np.full(outputs[0], float(_constant(case, 3)) if len(case.inputs) > 3 else 0)],
    "ShapeOf": lambda case, given, outputs: [np.array(given[0].shape)],
    "ScaledDotProductAttention": _attention,
    **dict.fromkeys(("LSTMSequence", "GRUSequence", "RNNSequence"), _states),
    **dict.fromkeys(("ScatterElementsUpdate", "ScatterNDUpdate", "ScatterUpdate"), _unchanged),
    **dict.fromkeys({case.op for case in ROWS if case.op.startswith("Reduce")}, _reduced),
}


def empty_shapes(case: Case) -> list[Shapes]:
    """Shapes of the row's inputs, of which one at least has no elements, that OpenVINO takes."""
    full = tuple(shape for shape, _ in parameter_specs(case))
    places = [(i, axis) for i, shape in enumerate(full) for axis in range(len(shape))]
    found: dict[Shapes, None] = {}
    for i, axis in places:
        alone, same_size, same_axis = {(i, axis)}, set(), set()
        for j, other in places:
            if full[j][other] == full[i][axis] and (j != i or other == axis):
                same_size.add((j, other))
            if other == axis:
                same_axis.add((j, other))
        for zeros in (alone, same_size, same_axis):
            shapes = tuple(tuple(0 if (j, a) in zeros else size for a, size in enumerate(shape))
                           for j, shape in enumerate(full))
            if shapes not in found and _output_shapes(case, shapes) is not None:
                found[shapes] = None
    return list(found)


def _output_shapes(case: Case, shapes: Shapes) -> list[ov.PartialShape] | None:
    model = build_model(case, dynamic=False)
    try:
        model.reshape({number: list(shape) for number, shape in enumerate(shapes)})
    except RuntimeError:
        return None
    return [port.partial_shape for port in model.outputs]


def _static(case: Case, shapes: Shapes) -> ov.Model:
    model = build_model(case, dynamic=False)
    model.reshape({number: list(shape) for number, shape in enumerate(shapes)})
    return model


def _check(network: Network, case: Case, shapes: Shapes, rng: np.random.Generator) -> None:
    given = random_inputs(case, shapes, rng)
    what = f"{case.name} {shapes} seed {seed_of(case.op)}"
    try:
        found = execute(network, given)
    except ClinferError:
        if case.op not in REFUSED:
            raise
        return
    declared = _output_shapes(case, shapes)
    assert declared is not None
    for array, partial in zip(found, declared, strict=True):
        # OpenVINO's bounds of what Unique finds in nothing contradict each other.
        actual = ov.PartialShape(list(array.shape))
        assert case.op == "Unique" or partial.compatible(actual), f"{what}: {actual}, expected {partial}"
    outputs = tuple(array.shape for array in found)
    if any(array.size for array in found) and case.op != "Unique":
        assert case.op in EXPECTED, f"{what}: what are the elements of {outputs}?"
        for number, (array, wanted) in enumerate(zip(found, EXPECTED[case.op](case, given, outputs), strict=True)):
            assert_close(array, np.asarray(wanted).reshape(array.shape).astype(array.dtype), 1e-4,
                         f"{what} output {number}")


@pytest.mark.parametrize("op, opset", KINDS, ids=[f"{op}-{opset}" for op, opset in KINDS])
def test_without_elements(engine: Engine, op: str, opset: str) -> None:
    rows = [case for case in ROWS if (case.op, case.opset) == (op, opset) and needs(case, engine)]
    for case in rows if FULL else random.Random(f"{seed_of(op)}{op}").sample(rows, min(1, len(rows))):
        _run(engine, case)


def _run(engine: Engine, case: Case) -> None:
    shapes, rng = empty_shapes(case), np.random.default_rng(seed_of(case.op))
    if not shapes:
        return
    full = tuple(shape for shape, _ in parameter_specs(case))
    try:
        network = network_of(engine, build_model(replace(case, sequence=tuple(shapes)), dynamic=True))
    except OpenRankError:
        for empty in shapes:
            _check(network_of(engine, _static(case, empty)), case, empty, rng)
        return
    given = random_inputs(case, full, rng)
    try:
        before = execute(network, given)
    except ClinferError:
        # A slope of PRelu belongs to channels or is broadcast, which is decided by sizes.
        assert case.op == "PRelu"
        return
    for empty in (*shapes, *shapes):
        _check(network, case, empty, rng)
    for one, other in zip(before, execute(network, given), strict=True):
        assert np.array_equal(one, other, equal_nan=True), f"{case.name} after empty shapes, seed {seed_of(case.op)}"
