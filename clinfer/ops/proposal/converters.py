"""From OpenVINO's Proposal-1 and -4, GenerateProposals-9 and ExperimentalDetectronGenerateProposalsSingleImage-6."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.ops.non_max_suppression import SelectBoxes
from clinfer.ops.proposal.op import AnchorBoxes, AnchorScores, AtMost, Decoding, Proposals
from clinfer.ops.reshape import Reshape, Unsqueeze
from clinfer.ops.topk import TopK
from clinfer.topology import Constant, Port, Primitive, SourceNode

_LONGEST = math.log(1000 / 16)
"""Of the logarithms by which Detectron lengthens sides."""


def convert_proposal(node: SourceNode) -> tuple[Primitive, ...]:
    """Boxes that are too small stay, with score 0."""
    given = node.attributes
    framework = str(given["framework"]).lower()
    if framework not in ("", "tensorflow"):
        raise ClinferError("proposals of this framework are not known", where=f"layer {node.name!r}",
                           values={"framework": framework, "known": "tensorflow, none"})
    turned = framework == "tensorflow"
    extent = 0.0 if turned else 1.0
    decoding = Decoding(
        extent, float(given["min_size"]), _anchors(given, extent, turned), int(given["feat_stride"]), turned,
        float(given["box_coordinate_scale"]), float(given["box_size_scale"]), clips_anchors=turned,
        clips_boxes=bool(given["clip_before_nms"]), ends_early=False)
    scores = AnchorScores(f"{node.id}/scores", node.inputs, origin=node.name, decoding=decoding)
    best = best_places(node, Port(scores.id), int(given["pre_nms_topn"]))
    boxes = _boxes(node, best, node.inputs[1:], decoding)
    chosen = select(node, boxes, extent, int(given["post_nms_topn"]), float(given["nms_thresh"]))
    return (scores, *best, boxes, *chosen, Proposals(
        node.id, (Port(boxes.id), *listed(chosen[-1])[:3], node.inputs[2]), origin=node.name, extent=extent,
        rows=int(given["post_nms_topn"]), numbered=True, turned=turned, clips=bool(given["clip_after_nms"]),
        normalizes=bool(given["normalize"]), types=node.output_types))


def convert_generate_proposals(node: SourceNode) -> tuple[Primitive, ...]:
    """Boxes that are too small take places among the best, and go then."""
    picture, anchors, offsets, scores = node.inputs
    decoding = Decoding(0.0 if node.attributes["normalized"] else 1.0, float(node.attributes["min_size"]),
                        longest=_LONGEST)
    of_picture = constant(node, "of_picture", np.array([0, -1], np.int64))
    of_box = constant(node, "of_box", np.array([-1, 4], np.int64))
    flat = Reshape(f"{node.id}/flat", (scores, Port(of_picture.id)), origin=node.name, special_zero=True)
    listed = Reshape(f"{node.id}/anchors", (anchors, Port(of_box.id)), origin=node.name)
    best = best_places(node, Port(flat.id), int(node.attributes["pre_nms_count"]))
    inputs = offsets, picture, Port(listed.id)
    return (of_picture, of_box, flat, listed, *best, *_generated(node, best, inputs, decoding, is_fixed=False))


def convert_generate_proposals_single_image(node: SourceNode) -> tuple[Primitive, ...]:
    """One picture, without an axis for it; boxes that are too small stay, with score 0. Their overlap is that of boxes
    without an extent."""
    picture, anchors, offsets, scores = node.inputs
    decoding = Decoding(1.0, float(node.attributes["min_size"]), longest=_LONGEST, scales_least=False)
    first = constant(node, "first", np.array([0], np.int64))
    one = [Unsqueeze(f"{node.id}/{name}", (port, Port(first.id)), origin=node.name)
           for name, port in (("batch", scores), ("offsets", offsets))]
    inputs = Port(one[1].id), picture, anchors
    ranked = AnchorScores(f"{node.id}/scores", (Port(one[0].id), *inputs), origin=node.name, decoding=decoding)
    best = best_places(node, Port(ranked.id), int(node.attributes["pre_nms_count"]))
    return (first, *one, ranked, *best, *_generated(node, best, inputs, decoding, is_fixed=True))


def _generated(node: SourceNode, best: Sequence[Primitive], inputs: tuple[Port, ...], decoding: Decoding,
               is_fixed: bool) -> tuple[Primitive, ...]:
    """The last steps: boxes of the best anchors, and those of them that are proposed."""
    boxes = _boxes(node, best, inputs, decoding, drops_small=not is_fixed, is_extended=not is_fixed)
    count = int(node.attributes["post_nms_count"])
    extent = decoding.extent if boxes.is_extended else 0.0
    chosen = select(node, boxes, extent, count, float(node.attributes["nms_threshold"]))
    last = listed(chosen[-1])
    read = (*last[:3], inputs[1]) if is_fixed else (*last, Port(chosen[-1].id))
    return (boxes, *chosen, Proposals(
        node.id, (Port(boxes.id), *read), origin=node.name, extent=extent, rows=count if is_fixed else 0,
        types=node.output_types))


def _boxes(node: SourceNode, best: Sequence[Primitive], inputs: tuple[Port, ...], decoding: Decoding,
           drops_small: bool = False, is_extended: bool = True) -> AnchorBoxes:
    scores, places = both(best[-1])
    return AnchorBoxes(f"{node.id}/boxes", (scores, *inputs[:2], places, *inputs[2:]), origin=node.name,
                       decoding=decoding, drops_small=drops_small, is_extended=is_extended)


def _anchors(given: Mapping[str, Any], extent: float, centred: bool) -> tuple[tuple[float, ...], ...]:
    """Boxes of each ratio of height to width and each scale, around the middle of `base_size` or, `centred`, 0."""
    base = float(given["base_size"])
    middle = 0.5 * (base - extent) - (0.5 * base if centred else 0.0)
    found = []
    for ratio in given["ratio"]:
        width = math.sqrt(base * base / float(ratio))
        width = width if centred else float(math.floor(width + 0.5))
        height = width * float(ratio)
        height = height if centred else float(math.floor(height + 0.5))
        for scale in given["scale"]:
            half_width, half_height = (0.5 * (side * float(scale) - extent) for side in (width, height))
            found.append((middle - half_width, middle - half_height, middle + half_width, middle + half_height))
    return tuple(found)


# -- parts that operations on boxes share -------------------------------------------------------------


def constant(node: SourceNode, name: str, value: np.ndarray) -> Constant:
    """A constant that a node's primitives read."""
    return Constant(f"{node.id}/{name}", value=value, element_type=ElementType.of_numpy(value.dtype))


def best_places(node: SourceNode, scores: Port, most: int) -> tuple[Primitive, ...]:
    """The best scores along the last axis and their places, at most so many: the last primitive's outputs."""
    count = AtMost(f"{node.id}/count", (scores,), origin=node.name, limit=most)
    return count, TopK(f"{node.id}/best", (scores, Port(count.id)), origin=node.name)


def select(node: SourceNode, boxes: Primitive, extent: float, most: int, overlap: float,
           lowest: float = -math.inf) -> tuple[Primitive, ...]:
    """SelectBoxes, the last one, of boxes (whose last corners are `extent` further than meant) and scores that are a
    primitive's outputs."""
    numbers = (constant(node, "most", np.array(most, np.int64)),
               constant(node, "overlap", np.array(overlap, np.float32)),
               constant(node, "lowest", np.array(lowest, np.float32)))
    return (*numbers, SelectBoxes(f"{node.id}/select", (*both(boxes), *(Port(each.id) for each in numbers)),
                                  origin=node.name, extent=extent))


def both(primitive: Primitive) -> tuple[Port, Port]:
    """The first two outputs."""
    return Port(primitive.id), Port(primitive.id, 1)


def listed(select: Primitive) -> tuple[Port, ...]:
    """The lists of SelectBoxes: places, scores, numbers, and numbers of those before."""
    return tuple(Port(select.id, index) for index in range(1, 5))
