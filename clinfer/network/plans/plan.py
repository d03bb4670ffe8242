"""Execution plans: what one segment does for one key, as plain data."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clinfer.base.shape import StaticShape
from clinfer.kernels.aliasing import Alias
from clinfer.kernels.implementation import StageLaunch
from clinfer.network.memory.slot_bytes import SlotBytes
from clinfer.program.program import ProgramNode, Segment
from clinfer.runtime.launches import WorkSize
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive

PlanKey = tuple[tuple[StaticShape, ...], tuple[bytes, ...]]


class TensorAlias(NamedTuple):
    """A tensor that lies within another one's memory from this byte on; what would copy it is not launched."""

    moved: int
    within: int
    offset: int


class Launch(NamedTuple):
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


@dataclass(frozen=True)
class Fetch:
    """Begin to read a tensor that the host needs for a later segment; what follows does not hold it up."""

    tensor: int


@dataclass(frozen=True)
class CallHost:
    """Compute a node on the host, from what its inputs hold."""

    node: int


def launch_of(kernel: int, launch: StageLaunch) -> Launch:
    """The step that launches a kernel of the network's table."""
    return Launch(kernel, launch.block, WorkSize(launch.work.global_size, launch.work.local_size))


def run_body(node: int, primitive: Primitive, values: Values) -> RunBody:
    """The step that runs one of a node's bodies."""
    return RunBody(node, primitive.body_to_run(values), primitive.run_limit(values))


def fetches(segment: Segment, node: ProgramNode) -> tuple[Fetch, ...]:
    """The steps behind a node of a segment that bring to the host what later segments need."""
    return tuple(Fetch(tensor) for tensor in node.outputs if tensor in segment.fetched)


OtherStep = Upload | RunBody | Fetch | CallHost
Step = Launch | OtherStep


@dataclass(frozen=True, eq=False)
class Plan:
    """The steps of one segment for one key, and what they need and yield.

    `shapes` and `values`: what is known of every tensor that the segment makes (shapes of outputs that data decides
    are missing: they are known after the run). `slot_bytes` and `output_bytes`:
    the memory that must be there before the first step, per slot and per output tensor. `planned`: the nodes that
    were planned one by one; what traces gave of the others cost next to nothing. `waits`: for each step the
    numbers of the steps that it waits for, where they may run out of order; else empty. `aliases`: the tensors that
    lie within others, by the indices of tensors that own memory; `left_out` tells what it spares. `is_kept`: whether
    it is worth keeping for when its key comes again; a plan that differs from the one before in little is not.
    """

    steps: Sequence[Step]
    shapes: Mapping[int, StaticShape]
    values: Mapping[int, np.ndarray]
    slot_bytes: SlotBytes
    output_bytes: Mapping[int, int]
    planned: tuple[int, ...] = ()
    waits: tuple[tuple[int, ...], ...] = ()
    aliases: tuple[TensorAlias, ...] = ()
    is_kept: bool = True

    def left_out(self, node: ProgramNode) -> tuple[Alias, ...]:
        """The stages of a node that have nothing to do, because their tensors lie in one another's memory."""
        placed = {place.moved for place in self.aliases}
        return tuple(aliased.alias for aliased in node.aliases if aliased.moved in placed)
