"""What is known of the results of a body before it runs."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.shape import Shape

BodySize = int | frozenset[tuple[str, int]]
"""A number, or the size to which the sizes of these axes, each of an input of the body, stretch: each of them is that
size, or 1."""


@dataclass(frozen=True)
class BodyResult:
    """One result: its `shape`, and each of its `sizes` as it follows from the body's inputs; None where one of them
    does not."""

    shape: Shape
    sizes: tuple[BodySize, ...] | None
