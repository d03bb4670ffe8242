"""Decoding, segments, colours, anchors, and what else few models have and reads mostly constants beside its data."""
from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.draft import Draft, Refused, Tensor
from tests.fuzz.operations.elementwise import tame
from tests.fuzz.operations.special import picture
from tests.fuzz.operations.table import i64, operation, scalar


def filled(draft: Draft, least: int, most: int) -> Tensor:
    """Real numbers of so many axes, with elements in every setting."""
    return draft.pick(lambda t: t.type == "f32" and least <= t.rank <= most and all(v.size for v in t.values))


def along(draft: Draft, x: Tensor, axis: int, count: int) -> Tensor:
    """So many elements of an axis, repeated where there are fewer."""
    if not x.least(axis):
        raise Refused("nothing to repeat")
    return draft.op("Gather", x, np.arange(count) % x.least(axis), scalar(axis), batch_dims=0)


def shaped(draft: Draft, kind: str, *shape: int, exact: bool = False) -> Tensor:
    """What any tensor of a type begins with, repeated where that is too short."""
    x = draft.pick(lambda t: t.type == kind and (t.exact or not exact) and all(v.size for v in t.values))
    flat = draft.op("Reshape", x, i64(-1), special_zero=False)
    return draft.op("Reshape", along(draft, flat, 0, int(np.prod(shape))), i64(*shape), special_zero=False)


@operation("seldom", 2)
def handed_on(draft: Draft) -> None:
    draft.step("Identity", draft.pick())


@operation("seldom", 2)
def either(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type == "f32" and t.exact)
    one, other = (draft.op(name, x, np.array(0.25, np.float32), auto_broadcast="numpy")
                  for name in ("Greater", "LessEqual"))
    second = draft.one((other, np.array(True), np.array([False])))
    draft.step(draft.one(("LogicalXor", "Xor")), one, second, auto_broadcast="numpy")


@operation("seldom", 2)
def promoted(draft: Draft) -> None:
    """Two tensors of types that may differ, both in the type that holds them."""
    x, y = (draft.pick(lambda t: t.type != "boolean") for _ in range(2))
    draft.step("ConvertPromoteTypes", x, y, promote_unsafe=True, pytorch_scalar_promotion=draft.chance(0.5),
               u64_integer_promotion_target="f32")


@operation("seldom", 2)
def rounded_to_a_byte(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type == "f32" and t.exact)
    draft.step("FakeConvert", x, np.array(draft.one((0.5, 1, 4)), np.float32),
               destination_type=draft.one(("f8e4m3", "f8e5m2")))


@operation("seldom", 2)
def inverted(draft: Draft) -> None:
    """Matrices whose diagonal is larger than what stands beside it."""
    x = filled(draft, 2, 4)
    tame(draft, x)
    size = draft.integer(1, 4)
    wide = along(draft, along(draft, draft.op("Tanh", x), x.rank - 1, size), x.rank - 2, size)
    draft.step("Inverse", draft.op("Add", wide, np.eye(size, dtype=np.float32) * (size + 1), auto_broadcast="numpy"),
               adjoint=draft.chance(0.3))


@operation("seldom", 2)
def largest_of_segments(draft: Draft) -> None:
    x = draft.pick(lambda t: t.type in ("f32", "i32", "i64") and t.rank > 0 and bool(t.size(0)))
    segments = np.sort(draft.rng.integers(0, 4, x.size(0) or 1))
    count = [scalar(draft.integer(1, 5))] if draft.chance(0.5) else []
    draft.step("SegmentMax", x, segments, *count, fill_mode="ZERO")


@operation("seldom", 2)
def filled_rows(draft: Draft) -> None:
    kind, rows, count = draft.one(("f32", "f32", "i32")), draft.integer(1, 5), draft.integer(1, 6)
    places = np.stack([np.sort(draft.rng.integers(0, rows, count)), draft.rng.integers(0, 4, count)], 1)
    draft.step("SparseFillEmptyRows", shaped(draft, kind, count), i64(rows, 4), places,
               np.array(9, np.float32 if kind == "f32" else np.int32))


@operation("seldom", 2)
def detected(draft: Draft) -> None:
    """The regions of YOLO version 2 (with probabilities) or 3."""
    x = picture(draft)
    tame(draft, x)
    classes, regions, has_softmax = draft.integer(1, 3), draft.integer(1, 2), draft.chance(0.5)
    draft.step("RegionYolo", along(draft, x, 1, regions * (classes + 5)), coords=4, classes=classes, num=regions,
               do_softmax=has_softmax, mask=[] if has_softmax else list(range(regions)), axis=1,
               end_axis=draft.one((1, 2, 3)), anchors=[1.0] * 2 * regions)


@operation("seldom", 2)
def transformed_back(draft: Draft) -> None:
    """The signal of half a spectrum."""
    x = draft.pick(lambda t: t.type == "f32" and 1 <= t.rank <= 3 and all(t.least(a) > 1 for a in range(t.rank)))
    axes = i64(*sorted(draft.rng.permutation(x.rank)[:draft.integer(1, min(x.rank, 2))].tolist()))
    draft.step("IRDFT", draft.op("RDFT", x, axes), axes)


@operation("seldom", 2)
def summed_in_older_bags(draft: Draft) -> None:
    """Rows of a table, with factors or without."""
    x = draft.pick(lambda t: t.type == "f32" and 2 <= t.rank <= 3 and t.least(0) > 0)
    count, has_factors = draft.integer(1, 8), draft.chance(0.5)
    indices = draft.rng.integers(0, x.least(0), count)
    if draft.chance(0.5):
        offsets = np.sort(draft.rng.integers(0, count, draft.integer(1, 4)))
        offsets[0] = 0
        more = [scalar(0), draft.weights(count)] if has_factors else []
        draft.step("EmbeddingBagOffsetsSum", x, indices, offsets, *more)
    else:
        draft.step("EmbeddingBagPackedSum", x, np.stack([indices, indices[::-1]]),
                   *([draft.weights(2, count)] if has_factors else []))


@operation("seldom", 2)
def decoded_greedily(draft: Draft) -> None:
    """The most probable labels of each step."""
    first, second = draft.integer(1, 6), draft.integer(1, 6)
    x = shaped(draft, "f32", first, second, draft.integer(2, 5), exact=True)
    if draft.chance(0.5):
        mask = (np.arange(first)[:, None] < draft.rng.integers(1, first + 1, second)).astype(np.float32)
        draft.step("CTCGreedyDecoder", x, mask, ctc_merge_repeated=draft.chance(0.5))
    else:
        draft.step("CTCGreedyDecoderSeqLen", x, draft.rng.integers(1, second + 1, first).astype(np.int32),
                   merge_repeated=draft.chance(0.5), classes_index_type="i64", sequence_length_type="i64")


@operation("seldom", 2)
def lost(draft: Draft) -> None:
    """CTCLoss of labels that the steps have room for."""
    batch, steps, classes = draft.integer(1, 3), draft.integer(3, 8), draft.integer(3, 6)
    x = shaped(draft, "f32", batch, steps, classes)
    tame(draft, x)
    labels = draft.rng.integers(0, classes - 1, (batch, steps)).astype(np.int32)
    draft.step("CTCLoss", x, np.full(batch, steps, np.int32), labels, np.full(batch, (steps - 1) // 2, np.int32),
               preprocess_collapse_repeated=False, ctc_merge_repeated=draft.chance(0.7), unique=False)


@operation("seldom", 2)
def anchored(draft: Draft) -> None:
    """Boxes around the places of a map and of a picture, whose sizes come as values."""
    x = draft.pick(lambda t: t.rank == 4 and all(t.least(axis) for axis in (2, 3)))
    sizes = draft.op("Slice", draft.op("ShapeOf", x, output_type="i64"), i64(2), i64(4), i64(1), i64(0))
    common: dict[str, Any] = {"clip": draft.chance(0.5), "offset": 0.5, "variance": [0.1, 0.1, 0.2, 0.2],
                              "step": draft.one((0.0, 16.0))}
    if draft.chance(0.5):
        draft.step("PriorBox", sizes, i64(64, 80), aspect_ratio=[2.0], flip=draft.chance(0.5),
                   scale_all_sizes=True, min_size=[4.0, 7.0], max_size=[9.0, 12.0],
                   min_max_aspect_ratios_order=draft.chance(0.5), **common)
    else:
        draft.step("PriorBoxClustered", sizes, i64(64, 80), width=[5.0, 9.0], height=[4.0, 8.0], step_widths=0.0,
                   step_heights=0.0, **common)


@operation("seldom", 2)
def coloured(draft: Draft) -> None:
    """A picture of planes of brightness and colour, as red, green and blue; values far from a step of rounding."""
    x = picture(draft)
    tame(draft, x)
    channels, rows = along(draft, x, 1, 1), draft.integer(1, 3)
    sides = along(draft, along(draft, channels, 2, 3 * rows), 3, 2 * draft.integer(1, 4))
    flat = draft.op("Transpose", sides, i64(0, 2, 3, 1))
    bright = draft.op("Multiply", draft.op("Sigmoid", flat), np.array(255, np.float32), auto_broadcast="numpy")
    draft.step(draft.one(("NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR")), bright)


@operation("seldom", 2)
def followed(draft: Draft) -> None:
    """The beams of a search, from their ends to their beginnings."""
    steps, batch, beams = (draft.integer(1, most) for most in (6, 3, 4))
    ids = shaped(draft, "f32", steps, batch, beams, exact=True)
    whole = draft.op("Convert", draft.op("Abs", ids), destination_type="i32")
    parents = draft.rng.integers(0, beams, (steps, batch, beams)).astype(np.int32)
    draft.step("GatherTree", whole, parents, draft.rng.integers(1, steps + 1, batch).astype(np.int32),
               np.array(draft.integer(0, 3), np.int32))


@operation("seldom", 2)
def pooled_by_position(draft: Draft) -> None:
    x = picture(draft)
    size, out, count = draft.integer(1, 3), draft.integer(1, 2), draft.integer(1, 4)
    corners = np.sort(draft.rng.integers(0, 9, (count, 2, 2)), 1).reshape(count, 4).astype(np.float32)
    regions = np.concatenate([np.zeros((count, 1), np.float32), corners], 1)
    draft.step("PSROIPooling", along(draft, x, 1, out * size * size), regions, output_dim=out, group_size=size,
               spatial_scale=draft.one((0.5, 1.0)), mode="average", spatial_bins_x=1, spatial_bins_y=1)


@operation("seldom", 2)
def recurrent(draft: Draft) -> None:
    """RNNSequence; each row has a length."""
    batch, steps, width, hidden = (draft.integer(1, most) for most in (3, 6, 5, 9))
    x = shaped(draft, "f32", batch, steps, width)
    tame(draft, x)
    direction = draft.one(("forward", "reverse", "bidirectional"))
    ways = 1 + (direction == "bidirectional")
    draft.step("RNNSequence", x, draft.weights(batch, ways, hidden), draft.rng.integers(1, steps + 1, batch),
               draft.weights(ways, hidden, width), draft.weights(ways, hidden, hidden), draft.weights(ways, hidden),
               hidden_size=hidden, direction=direction, activations=["tanh"])


@operation("seldom", 2)
def joined_frames(draft: Draft) -> None:
    """The signal of short spectra."""
    size, frames = draft.one([2, 4, 8]), draft.integer(1, 5)
    spectra = shaped(draft, "f32", size // 2 + 1, frames, 2)
    tame(draft, spectra)
    draft.step("ISTFT", spectra, np.hanning(size + 2)[1:-1].astype(np.float32), scalar(size), scalar(size // 2),
               center=False, normalized=draft.chance(0.5))


@operation("seldom", 2)
def kept_rotated(draft: Draft) -> None:
    """The best of boxes that are turned; no two have the same score."""
    batch, classes, count = draft.integer(1, 2), draft.integer(1, 2), draft.integer(1, 9)
    order = draft.rng.permutation(batch * classes * count).reshape(batch, classes, count).astype(np.float32) / 256
    scores = draft.op("Add", shaped(draft, "f32", batch, classes, count, exact=True), order, auto_broadcast="numpy")
    boxes = draft.rng.uniform(0.3, 3, (batch, count, 5)).astype(np.float32)
    draft.step("NMSRotated", boxes, scores, scalar(12), np.array(0.2, np.float32), np.array(0.1, np.float32),
               sort_result_descending=True, output_type="i64", clockwise=draft.chance(0.5))


@operation("seldom", 2)
def convolved_by_bits(draft: Draft) -> None:
    """Signs of the data by signs that bits stand for; what lies outside is 0 or a sign. (Of channels that fill no bytes
    OpenVINO's plugin takes other bits.)"""
    x = along(draft, picture(draft), 1, draft.one((8, 16, 32)))
    sides = [draft.integer(1, min(3, x.least(axis))) for axis in (2, 3)]
    shape = (draft.integer(1, 5), x.size(1) or 1, *sides)
    bits = draft.rng.integers(0, 2, shape, np.uint8)
    before, after = ([draft.integer(0, side // 2) for side in sides] for _ in range(2))
    draft.step("BinaryConvolution", x, bits, strides=[draft.integer(1, 2) for _ in sides], pads_begin=before,
               pads_end=after, dilations=[1, 1], mode="xnor-popcount", pad_value=draft.one((0.0, 1.0, -1.0)),
               auto_pad=draft.one(("explicit", "explicit", "valid")))


@operation("seldom", 2)
def pooled_where_moved(draft: Draft) -> None:
    """DeformablePSROIPooling, with or without offsets."""
    x = picture(draft)
    size, out, count, moves = draft.integer(1, 3), draft.integer(1, 2), draft.integer(1, 4), draft.chance(0.7)
    corners = np.sort(draft.rng.integers(0, 9, (count, 2, 2)), 1).reshape(count, 4).astype(np.float32)
    regions = np.concatenate([np.zeros((count, 1), np.float32), corners], 1)
    offsets = [draft.op("Clamp", shaped(draft, "f32", count, 2, size, size), min=-0.75, max=0.75)] if moves else []
    draft.step("DeformablePSROIPooling", along(draft, x, 1, out * size * size), regions, *offsets, output_dim=out,
               group_size=size, spatial_scale=0.73, mode="bilinear_deformable", spatial_bins_x=draft.integer(1, 3),
               spatial_bins_y=draft.integer(1, 3), trans_std=0.1, part_size=size)


@operation("seldom")
def drawn_of_one(draft: Draft) -> None:
    """Random integers of a range that has one: each inference draws others. OpenVINO's plugin draws no scalar."""
    x, kind = draft.pick(lambda t: t.rank > 0), draft.one((np.int32, np.int64))
    low = draft.integer(-3, 5)
    draft.step("RandomUniform", draft.op("ShapeOf", x, output_type="i64"), np.array(low, kind),
               np.array(low + 1, kind), output_type=np.dtype(kind).name.replace("nt", ""), global_seed=7, op_seed=9)


@operation("seldom", 2)
def drawn_by_chance(draft: Draft) -> None:
    """Multinomial, which draws the same in each inference."""
    batch, classes, replaces = draft.integer(1, 3), draft.integer(2, 9), draft.chance(0.5)
    near = draft.op("Clamp", shaped(draft, "f32", batch, classes, exact=True), min=-2, max=2)
    is_log = draft.chance(0.5)
    odds = near if is_log else draft.op("Add", near, np.array(2.25, np.float32), auto_broadcast="numpy")
    draft.step("Multinomial", odds, i64(draft.integer(1, 9 if replaces else classes)),
               convert_type=draft.one(("i32", "i64")), with_replacement=replaces, log_probs=is_log,
               global_seed=draft.integer(1, 99), op_seed=draft.integer(0, 99))


@operation("seldom")
def added_up_from_columns(draft: Draft) -> None:
    """Col2Im, the sum of patches where they belong."""
    batch, channels = draft.integer(1, 2), draft.integer(1, 3)
    kernel, strides, pads = ([draft.integer(low, most) for _ in range(2)] for low, most in ((1, 3), (1, 2), (0, 1)))
    sizes = [draft.integer(side, 6) for side in kernel]
    patches = [(size + 2 * pad - side) // stride + 1
               for size, pad, side, stride in zip(sizes, pads, kernel, strides, strict=True)]
    draft.step("Col2Im", shaped(draft, "f32", batch, channels * int(np.prod(kernel)), int(np.prod(patches))),
               i64(*sizes), i64(*kernel), strides=strides, dilations=[1, 1], pads_begin=pads, pads_end=pads)


@operation("seldom")
def turned_round(draft: Draft) -> None:
    """Some axes, from their ends to their beginnings."""
    x = draft.pick(lambda t: t.rank > 0 and t.type != "boolean")
    flags = draft.rng.integers(0, 2, x.rank).astype(np.bool_)
    if draft.chance(0.5):
        draft.step("Reverse", x, flags, mode="mask")
    else:
        draft.step("Reverse", x, np.flatnonzero(flags), mode="index")
