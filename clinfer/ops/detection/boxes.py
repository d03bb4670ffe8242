"""Boxes x1, y1, x2, y2 in f32: how much they overlap, and lists of those that were kept."""
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


def areas(boxes: np.ndarray, extent: float, reach: float = 0.0) -> np.ndarray:
    """Areas of boxes [..., 4] whose sides are `extent` longer than their corners are apart; 0 for those inverted by
    more than `reach`."""
    sides = boxes[..., 2:] - boxes[..., :2]
    return np.where((sides < -reach).any(-1), np.float32(0), (sides + np.float32(extent)).prod(-1)).astype(np.float32)


def overlaps(box: np.ndarray, others: np.ndarray, extent: float, reach: float = 0.0) -> np.ndarray:
    """Intersection over union of a box [4] with others [n, 4], f32 [n]; of corners that are further apart than `reach`
    it is 0."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.where((high - low < -reach).any(-1), np.float32(0), (high - low + np.float32(extent)).prod(-1))
    together = areas(box, extent, reach) + areas(others, extent, reach) - shared
    return np.divide(shared, together, out=np.zeros_like(shared), where=together > 0)


def best_first(scores: np.ndarray, most: int) -> np.ndarray:
    """The places of the best scores, at most that many (-1: all); of equal ones the first is better."""
    order = np.argsort(-scores, kind="stable")
    return order if most < 0 else order[:most]


@dataclass(frozen=True)
class Kept:
    """Boxes of one picture that were kept, each in all arrays at the same place: class, score, where it stood among
    the boxes, and its corners [n, 4]."""

    classes: np.ndarray
    scores: np.ndarray
    places: np.ndarray
    corners: np.ndarray

    @staticmethod
    def joined(parts: list[Kept]) -> Kept:
        """Several lists behind each other."""
        if not parts:
            return Kept(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int64),
                        np.zeros((0, 4), np.float32))
        return Kept(np.concatenate([p.classes for p in parts]), np.concatenate([p.scores for p in parts]),
                    np.concatenate([p.places for p in parts]), np.concatenate([p.corners for p in parts]))

    def take(self, order: np.ndarray) -> Kept:
        """Those at these places."""
        return Kept(self.classes[order], self.scores[order], self.places[order], self.corners[order])

    def spread(self, step: int, first: int) -> Kept:
        """With places that are `step` apart and begin at `first`."""
        return replace(self, places=self.places * step + first)

    def rows(self) -> np.ndarray:
        """(class, score, x1, y1, x2, y2) of each, f32 [n, 6]."""
        return np.concatenate([self.classes[:, None], self.scores[:, None], self.corners], 1).astype(np.float32)
