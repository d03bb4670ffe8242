"""Execution plans: what one segment does for one key, as plain data."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clinfer.base.shape import StaticShape
from clinfer.runtime.stream import WorkSize

PlanKey = tuple[tuple[StaticShape, ...], tuple[bytes, ...]]


@dataclass(frozen=True)
class Launch:
    """Launch a kernel of the network's table with this argument block (empty: it takes none)."""

    kernel: int
    block: bytes
    work: WorkSize


@dataclass(frozen=True, eq=False)
class Upload:
    """Write a host value, packed for the tensor's layout, into the tensor's memory."""

    tensor: int
    units: np.ndarray


@dataclass(frozen=True)
class RunBody:
    """Execute one of a node's bodies; one that is a loop at most `limit` times (None: no limit)."""

    node: int
    body: int
    limit: int | None = None


Step = Launch | Upload | RunBody


@dataclass(frozen=True, eq=False)
class Plan:
    """The steps of one segment for one key, and what they need and yield.

    `shapes` and `values`: what is known of every tensor that the segment makes (shapes of outputs of
    bodies are missing: they are known after the run). `slot_bytes` and `output_bytes`: the memory that
    must be there before the first step, per slot and per output tensor.
    """

    steps: tuple[Step, ...]
    shapes: Mapping[int, StaticShape]
    values: Mapping[int, np.ndarray]
    slot_bytes: tuple[tuple[int, int], ...]
    output_bytes: tuple[tuple[int, int], ...]
