"""What the planning and preparing of one inference came to, as plain data."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

PlanReason = Literal["first sight", "other values", "evicted", "continued"]
ShapeUpdate = Literal["inferred", "traced", "known", "static output", "not changed", "shape_of not changed",
                      "shape_of subgraph not changed", "after the run"]
MemoryUse = Literal["reused", "grown", "external", "view", "host", "body", "call", "within another"]


class PlanCounts(NamedTuple):
    """Plans that were made to be kept, that continued the one before and are not kept, and that were run again; how
    often a primitive was planned by itself, since no trace held."""

    made: int = 0
    continued: int = 0
    reused: int = 0
    by_themselves: int = 0


@dataclass(frozen=True)
class Growth:
    """Memory that was made anew because more was needed: a slot by its number, an output of the caller's by its
    tensor, or the whole pool in which slots lie (0).

    Bytes that it had (0: there was none) and has.
    """

    kind: Literal["slot", "output", "pool"]
    number: int
    before: int
    after: int


@dataclass(frozen=True)
class NodeRecord:
    """One primitive; what changed is told against the execution before of the same network.

    `changed_shapes`, `changed_values`: the inputs whose shape changed, and those whose value changed that the host
    reads (in the first execution all that are not constant). `shape`: how the output shapes came about, or why
    nothing had to be done for them. `kernel`: the implementation that runs, empty where none does; `form`: whether
    it takes sizes as arguments, was made for the only ones that there are, or took the place of either for shapes that
    come often. `memory`: where the outputs lie;
    `grown` counts scratch buffers too. `waited_for`: the primitives that had to be done before the host could plan.
    `left_out`: moves that would only have copied bytes to where they are already.
    """

    name: str
    primitive: str
    layer: str
    changed_shapes: tuple[int, ...]
    changed_values: tuple[int, ...]
    shape: ShapeUpdate
    kernel: str
    form: Literal["", "static", "agnostic", "specialised"]
    memory: MemoryUse
    waited_for: tuple[str, ...]
    launches: int
    left_out: int = 0

    def __str__(self) -> str:
        changed = [f"{what} of {', '.join(map(str, inputs))}" for what, inputs in (
            ("shape", self.changed_shapes), ("value", self.changed_values)) if inputs]
        parts = [f"{self.primitive} {self.name}", f"shape {self.shape}",
                 f"inputs: changed {' and '.join(changed) or 'nothing'}", f"memory {self.memory}"]
        if self.kernel:
            parts.append(f"{self.kernel} ({self.form}), {self.launches} launches")
        if self.left_out:
            parts.append(f"{self.left_out} copies left out")
        if self.waited_for:
            parts.append(f"waited for {', '.join(self.waited_for)}")
        return "; ".join(parts)


@dataclass(frozen=True)
class SegmentRecord:
    """One run of a segment that was not the plain repetition of the run before it.

    `within`: the path of the body that the segment belongs to, empty for the model itself. `reason`: why a plan was
    made, empty where it was known; `continued`: it is the plan before but for a few primitives. `waited_for`: the
    primitives whose results the host read first.
    """

    within: str
    segment: int
    reason: PlanReason | Literal[""]
    waited_for: tuple[str, ...]
    grown: tuple[Growth, ...]
    nodes: tuple[NodeRecord, ...]

    @property
    def grown_bytes(self) -> int:
        """How much larger its memory became: slots count as the pool in which they lie."""
        return sum(growth.after - growth.before for growth in self.grown if growth.kind != "slot")

    @property
    def changed_nodes(self) -> int:
        """How many primitives saw another shape or value than in the execution before."""
        return sum(bool(node.changed_shapes or node.changed_values) for node in self.nodes)

    @property
    def launches(self) -> int:
        """Kernels launched."""
        return sum(node.launches for node in self.nodes)

    def __str__(self) -> str:
        plan = (f"planned ({self.reason})" if self.reason not in ("", "continued") else
                "plan continued" if self.reason else "known plan")
        waited = f", waited for {', '.join(self.waited_for)}" if self.waited_for else ""
        place = f"{self.within}/segment {self.segment}" if self.within else f"segment {self.segment}"
        return (f"{place}: {plan}, {self.changed_nodes} of {len(self.nodes)} primitives changed, "
                f"{self.launches} launches, {self.grown_bytes} bytes grown{waited}")


@dataclass(frozen=True)
class ExecutionRecord:
    """One inference. It is empty where every plan was known and no memory grew.

    Otherwise `segments` has, in the order of their runs, those that did not run exactly as in the inference before;
    `left_out` counts those beyond what is kept (loops whose runs all differ).
    """

    segments: tuple[SegmentRecord, ...] = ()
    left_out: int = 0

    def __bool__(self) -> bool:
        return bool(self.segments)

    @property
    def nodes(self) -> tuple[NodeRecord, ...]:
        """The primitives of all segments."""
        return tuple(node for segment in self.segments for node in segment.nodes)

    @property
    def plans_made(self) -> int:
        """How many segments had to be planned; plans that only continue the one before do not count."""
        return sum(segment.reason not in ("", "continued") for segment in self.segments)

    @property
    def grown_bytes(self) -> int:
        """How much larger memory became."""
        return sum(segment.grown_bytes for segment in self.segments)


NOTHING = ExecutionRecord()
"""The record of an inference whose shapes were all seen before."""
