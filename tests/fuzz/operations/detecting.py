"""Boxes that detectors propose, keep and pool within: no two have the same score, and no overlap is that of a limit."""
from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.draft import Draft, Tensor
from tests.fuzz.operations.seldom import along, shaped
from tests.fuzz.operations.special import picture
from tests.fuzz.operations.table import i64, operation

OVERLAP = 0.4307
"""A limit that no overlap of boxes on a grid has."""


def ranked(draft: Draft, *shape: int) -> Tensor:
    """Scores above 0 of any data, which change by less than they are apart."""
    order = draft.rng.permutation(int(np.prod(shape))).reshape(shape) + 1
    return draft.op("Add", little(draft, *shape), order.astype(np.float32), auto_broadcast="numpy")


def little(draft: Draft, *shape: int, most: float = 0.375) -> Tensor:
    """Exact data that is brought near 0."""
    return draft.op("Clamp", shaped(draft, "f32", *shape, exact=True), min=-most, max=most)


def moves(draft: Draft, *shape: int) -> Tensor:
    """Offsets of boxes that leave them about where and as large as they are."""
    return draft.op("Multiply", little(draft, *shape), np.array(0.125, np.float32), auto_broadcast="numpy")


def boxes(draft: Draft, *shape: int, size: int = 1) -> Tensor:
    """Boxes x1, y1, x2, y2 on a grid, many of which overlap, moved by data."""
    first, sides = (np.round(draft.rng.uniform(low, high, (*shape, 2)) * 64) / 64 * size for low, high in (
        (0.5, 2), (0.3, 1.2)))
    shift = little(draft, *shape, 2)
    corners = np.concatenate([first, first + sides], -1).astype(np.float32)
    return draft.op("Add", draft.op("Concat", shift, shift, axis=-1), corners, auto_broadcast="numpy")


def anchors(draft: Draft, height: int, width: int, count: int) -> np.ndarray:
    """Boxes [height, width, count, 4] around places that are 8 pixels apart, or 2."""
    apart = draft.one((2, 8, 8))
    y, x = np.mgrid[:height, :width] * apart + apart / 2
    middles = np.stack([x, y], -1)[:, :, None]
    sides = draft.rng.uniform(0.5, 3.7, (count, 2)) * apart
    return np.concatenate([middles - sides / 2, middles + sides / 2], -1).astype(np.float32)


@operation("detecting", 2)
def kept_of_classes(draft: Draft) -> None:
    """MatrixNms and MulticlassNms."""
    batch, classes, count = draft.integer(1, 2), draft.integer(1, 3), draft.integer(1, 9)
    common: dict[str, Any] = {
        "sort_result_type": draft.one(("score", "classid")), "sort_result_across_batch": draft.chance(0.5),
        "output_type": draft.one(("i64", "i32")), "score_threshold": draft.one((0.0, 2.441)),
        "nms_top_k": draft.one((-1, 5)), "keep_top_k": draft.one((-1, 7)), "normalized": draft.chance(0.5),
        "background_class": draft.one((-1, -1, 0))}
    given = boxes(draft, batch, count), ranked(draft, batch, classes, count)
    if draft.chance(0.5):
        draft.step("MatrixNms", *given, decay_function=draft.one(("linear", "gaussian")), gaussian_sigma=1.5,
                   post_threshold=draft.one((0.0, 1.137)), **common)
    else:
        draft.step("MulticlassNms", *given, iou_threshold=OVERLAP, nms_eta=draft.one((1.0, 0.913)), **common)


@operation("detecting", 2)
def detected_by_priors(draft: Draft) -> None:
    """DetectionOutput of as many boxes as there is room for: what stands behind the last one is anything. At least one
    box of each place and class is kept."""
    batch, classes, spots, each = (draft.integer(low, most) for low, most in ((1, 2), (2, 3), (1, 3), (1, 3)))
    count, is_shared = spots * each, draft.chance(0.7)
    first = np.repeat(np.arange(spots)[:, None] * 0.3 + 0.02, each, 0) + draft.rng.uniform(0, 0.04, (count, 2))
    priors = np.concatenate([first, first + draft.rng.uniform(0.06, 0.12, (count, 2))], 1)
    given = np.stack([priors.reshape(-1), np.full(count * 4, 0.02)])[None].astype(np.float32)
    most = draft.integer(1, spots * (classes - 1))
    draft.step("DetectionOutput", little(draft, batch, count * 4 * (1 if is_shared else classes)),
               ranked(draft, batch, count * classes), given, background_label_id=0, top_k=-1, keep_top_k=[most],
               nms_threshold=OVERLAP, confidence_threshold=0.3, share_location=is_shared, normalized=True,
               code_type=f"caffe.PriorBoxParameter.{draft.one(('CORNER', 'CENTER_SIZE'))}",
               clip_before_nms=draft.chance(0.3), clip_after_nms=draft.chance(0.3),
               decrease_label_id=draft.chance(0.3))


@operation("detecting", 2)
def proposed(draft: Draft) -> None:
    """Proposal, whose anchors are its attributes, at least 16 of them: of few OpenVINO's plugin crashes."""
    batch, height, width = draft.integer(1, 2), draft.integer(4, 5), draft.integer(4, 5)
    ratios, scales = [0.5, 2.0][:draft.integer(1, 2)], [1.0, 2.5][:draft.integer(1, 2)]
    count = len(ratios) * len(scales)
    sizes = np.array([height * 16 + 3, width * 16 + 5, 1, *([1] if draft.chance(0.3) else [])], np.float32)
    draft.step("Proposal", ranked(draft, batch, 2 * count, height, width),
               moves(draft, batch, 4 * count, height, width), sizes, base_size=16, feat_stride=16, min_size=1,
               pre_nms_topn=draft.one((16, 500)), post_nms_topn=draft.integer(1, 9), nms_thresh=OVERLAP, ratio=ratios,
               scale=scales, clip_before_nms=draft.chance(0.7), clip_after_nms=draft.chance(0.3),
               normalize=draft.chance(0.3), box_size_scale=draft.one((1.0, 5.0)),
               box_coordinate_scale=draft.one((1.0, 10.0)), framework=draft.one(("", "tensorflow")))


@operation("detecting", 2)
def proposed_of_anchors(draft: Draft) -> None:
    """GenerateProposals, or that of Detectron for one picture."""
    batch, count, height, width = (draft.integer(1, most) for most in (2, 3, 4, 4))
    around, sizes = anchors(draft, height, width, count), [height * 8 + 2, width * 8 + 1, 1]
    common = {"nms_threshold": OVERLAP, "pre_nms_count": draft.one((7, 100)), "post_nms_count": draft.integer(1, 9)}
    if draft.chance(0.5):
        draft.step("ExperimentalDetectronGenerateProposalsSingleImage", np.array(sizes, np.float32),
                   around.reshape(-1, 4), moves(draft, 4 * count, height, width),
                   ranked(draft, count, height, width), min_size=0.0, **common)
    else:
        draft.step("GenerateProposals", np.array([sizes] * batch, np.float32), around,
                   moves(draft, batch, 4 * count, height, width), ranked(draft, batch, count, height, width),
                   min_size=draft.one((0.0, 7.03)), normalized=draft.chance(0.5), nms_eta=1.0,
                   roi_num_type=draft.one(("i64", "i32")), **common)


@operation("detecting")
def spread_over_a_grid(draft: Draft) -> None:
    """Anchors at each place of a map, whose picture is a few times as large."""
    x = along(draft, picture(draft), 0, 1)
    rows, columns = (draft.one((0, x.size(axis) or 0)) for axis in (2, 3))
    draft.step("ExperimentalDetectronPriorGridGenerator", shaped(draft, "f32", draft.integer(1, 3), 4), x,
               draft.op("Tile", x, i64(1, 1, 3, 2)), flatten=draft.chance(0.7), h=rows, w=columns,
               stride_x=draft.one((0.0, 8.0)), stride_y=draft.one((0.0, 4.0)))


@operation("detecting")
def pooled_of_maps(draft: Draft) -> None:
    """One or two maps, pooled within regions of all sizes."""
    maps, count = [along(draft, picture(draft), 0, 1)], draft.integer(1, 5)
    if draft.chance(0.6):
        maps.append(draft.op("Slice", maps[0], i64(0, 0), i64(2**31 - 1, 2**31 - 1), i64(2, 2), i64(2, 3)))
    first, sides = draft.rng.uniform(-2, 20, (count, 2)), np.geomspace(2, 500, count)[:, None]
    regions = np.concatenate([first, first + sides * draft.rng.uniform(0.5, 1.5, (count, 2))], 1)
    draft.step("ExperimentalDetectronROIFeatureExtractor", regions.astype(np.float32), *maps,
               output_size=draft.integer(1, 3), sampling_ratio=draft.integer(0, 2),
               pyramid_scales=[4, 8][:len(maps)], aligned=draft.chance(0.5))


@operation("detecting")
def best_regions(draft: Draft) -> None:
    count = draft.integer(1, 9)
    draft.step("ExperimentalDetectronTopKROIs", boxes(draft, count), ranked(draft, count),
               max_rois=draft.integer(1, count))


@operation("detecting", 2)
def detected_in_regions(draft: Draft) -> None:
    count, classes = draft.integer(1, 9), draft.integer(2, 4)
    regions = boxes(draft, count, size=draft.one((1, 4, 32)))
    draft.step("ExperimentalDetectronDetectionOutput", regions, moves(draft, count, classes * 4),
               ranked(draft, count, classes), np.array([[80, 90, 1]], np.float32),
               score_threshold=draft.one((0.05, 3.441)), nms_threshold=OVERLAP, num_classes=classes,
               post_nms_count=draft.one((-1, 3)), max_detections_per_image=draft.integer(1, 12),
               class_agnostic_box_regression=False, max_delta_log_wh=4.0,
               deltas_weights=draft.one(([1.0, 1.0, 1.0, 1.0], [10.0, 10.0, 5.0, 5.0])))
