"""Regions, patches, bags, searches, signals, and other operations that few models have."""
from __future__ import annotations

import numpy as np

from tests.fuzz.draft import Draft, Refused, Tensor
from tests.fuzz.operations.heavy import image
from tests.fuzz.operations.table import i64, operation, scalar


def picture(draft: Draft) -> Tensor:
    """An image with two axes of places, none of which is 0 at any time."""
    x = image(draft)
    if x.rank != 4 or not all(x.least(axis) for axis in range(4)):
        raise Refused("no picture")
    return x


@operation("special", 2)
def rolled(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank > 0)
    axes = draft.rng.permutation(x.rank)[:draft.integer(1, 2)].tolist()
    shifts = i64(*[draft.integer(-3, 5) for _ in axes])
    draft.step("Roll", x, shifts, i64(*[draft.signed(axis, x.rank) for axis in axes]))


@operation("special", 2)
def blocked(draft: Draft) -> None:
    """Places that become batches, perhaps there and back."""
    x = draft.pick(lambda t: t.type == "f32" and 3 <= t.rank <= 5)
    blocks = i64(1, *[draft.one([1, 2, 2, 3]) for _ in range(x.rank - 1)])
    begins, ends = (i64(0, *[draft.integer(0, 1) for _ in range(x.rank - 1)]) for _ in range(2))
    made = draft.op("SpaceToBatch", x, blocks, begins, ends)
    if draft.chance(0.5):
        draft.step("BatchToSpace", made, blocks, begins, ends)


@operation("special")
def shuffled(draft: Draft) -> None:
    x = draft.pick(lambda t: t.rank > 0)
    axis = draft.integer(0, x.rank - 1)
    draft.step("ShuffleChannels", x, axis=draft.signed(axis, x.rank), group=draft.one([1, 2, 2, 3]))


@operation("special", 2)
def searched(draft: Draft) -> None:
    """Where values stand among others that ascend."""
    x = draft.pick(lambda t: t.type == "f32" and t.exact and t.rank > 0)
    ascending = np.sort(draft.weights(draft.integer(1, 9)))
    if draft.chance(0.5):
        draft.step("Bucketize", x, ascending, output_type="i64", with_right_bound=draft.chance(0.5))
    else:
        x = draft.op("Reshape", x, i64(-1), special_zero=False)
        draft.step("SearchSorted", ascending, x, right_mode=draft.chance(0.5))


@operation("special", 2)
def summed_in_bags(draft: Draft) -> None:
    """Rows of a table."""
    x = draft.pick(lambda t: t.type == "f32" and 2 <= t.rank <= 3 and t.least(0) > 0)
    count = draft.integer(1, 8)
    indices = draft.rng.integers(0, x.least(0), count)
    way, reduction = draft.integer(0, 2), draft.one(("sum", "mean"))
    if way == 0:
        offsets = np.sort(draft.rng.integers(0, count, draft.integer(1, 4)))
        offsets[0] = 0
        draft.step("EmbeddingBagOffsets", x, indices, offsets, reduction=reduction)
    elif way == 1:
        draft.step("EmbeddingBagPacked", x, np.stack([indices, indices[::-1]]), reduction=reduction)
    else:
        segments = np.sort(draft.rng.integers(0, 4, count))
        draft.step("EmbeddingSegmentsSum", x, indices, segments, scalar(5), scalar(0))


@operation("special", 2)
def cut_into_patches(draft: Draft) -> None:
    x = picture(draft)
    sizes, strides, rates = ([draft.integer(1, most) for _ in range(2)] for most in (3, 2, 2))
    draft.step("ExtractImagePatches", x, sizes=sizes, strides=strides, rates=rates,
               auto_pad=draft.one(("valid", "same_upper", "same_lower")))


@operation("special", 3)
def pooled_regions(draft: Draft) -> None:
    x = picture(draft)
    count, bins = draft.integer(1, 4), draft.integer(1, 3)
    corners = np.sort(draft.rng.integers(-1, 9, (count, 2, 2)), 1).reshape(count, 4).astype(np.float32)
    first = np.zeros((count, 1), np.float32)
    way = draft.integer(0, 2)
    if way == 0:
        draft.step("ROIPooling", x, np.concatenate([first, corners], 1), output_roi=[bins, bins], method="max",
                   spatial_scale=draft.one((0.5, 1.0)))
    elif way == 1:
        draft.step("ROIAlign", x, corners, np.zeros(count, np.int64), pooled_h=bins, pooled_w=bins,
                   sampling_ratio=draft.integer(0, 2), spatial_scale=1.0, mode=draft.one(("avg", "max")),
                   aligned_mode=draft.one(("asymmetric", "half_pixel", "half_pixel_for_nn")))
    else:
        angles = draft.weights(count, 1)
        draft.step("ROIAlignRotated", x, np.concatenate([np.abs(corners), angles], 1), np.zeros(count, np.int64),
                   pooled_h=bins, pooled_w=bins, sampling_ratio=2, spatial_scale=1.0,
                   clockwise_mode=draft.chance(0.5))


@operation("special", 2)
def convolved_elsewhere(draft: Draft) -> None:
    """A deformable convolution, whose offsets another one makes of the same data."""
    x = picture(draft)
    channels, side = x.size(1) or 1, draft.one([1, 3])
    around = {"strides": [1, 1], "pads_begin": [side // 2] * 2, "pads_end": [side // 2] * 2, "dilations": [1, 1],
              "auto_pad": "explicit"}
    offsets = draft.op("Convolution", x, draft.weights(2 * side * side, channels, side, side), **around)
    weights = draft.weights(draft.one((1, 3, 8)), channels, side, side)
    draft.step("DeformableConvolution", x, offsets, weights, group=1, deformable_group=1,
               bilinear_interpolation_pad=draft.chance(0.5), **around)


@operation("special", 2)
def written_in_part(draft: Draft) -> None:
    """A slice, changed, and put back or elsewhere."""
    x = draft.pick(lambda t: t.type == "f32" and t.rank > 0)
    axis = i64(draft.signed(draft.integer(0, x.rank - 1), x.rank))
    start, stop, step = i64(draft.integer(-3, 2)), i64(draft.one([1, 3, -1, 99])), i64(draft.integer(1, 2))
    part = draft.op("Negative", draft.op("Slice", x, start, stop, step, axis))
    draft.step("SliceScatter", x, part, start, stop, step, axis)


@operation("special")
def transformed_frames(draft: Draft) -> None:
    size = draft.one([2, 4, 6])
    x = draft.pick(lambda t: t.type == "f32" and 1 <= t.rank <= 2 and t.least(t.rank - 1) >= size)
    draft.step("STFT", x, np.hanning(size).astype(np.float32), scalar(size), scalar(draft.integer(1, 3)),
               transpose_frames=draft.chance(0.5))


@operation("special")
def normalized_globally(draft: Draft) -> None:
    draft.step("GRN", draft.pick(lambda t: t.type == "f32" and 2 <= t.rank <= 4), bias=0.5)
