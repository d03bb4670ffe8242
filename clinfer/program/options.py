"""What a user may ask of the build of a program."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clinfer.base import knobs
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.kernels.contract import HOST, OCL
from clinfer.kernels.selector import ANYTHING, Forced
from clinfer.program.memory_dependencies import ExecutionOrder


@dataclass(frozen=True)
class BuildOptions:
    """`force_implementations` maps a primitive's id to (format name, kernel name) or (format name, kernel name,
    implementation type), each may be empty.

    `skipped_passes` names passes to leave out, of `clinfer.program.passes.OPTIONAL`. `is_internal` marks a program
    that computes constants for another: its outputs keep the layouts of their producers, and nothing in it is
    folded. `execution_order`: whether steps that do not depend on each other may run at the same time on an
    out-of-order queue; their tensors then share no memory. `large_indices`: kernels index with 64 bits, whether a
    tensor needs it or not; for tests.
    """

    force_implementations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    skipped_passes: frozenset[str] = frozenset()
    is_internal: bool = False
    execution_order: ExecutionOrder = "in_order"
    large_indices: bool = False

    def forced(self, primitive_id: str) -> Forced:
        """The demand on the selector for one primitive; the compile option wins over the knob."""
        return _forced(self.force_implementations).get(primitive_id) or _from_knob().get(primitive_id, ANYTHING)

    def check(self, primitive_ids: set[str]) -> None:
        """Raise if a forced implementation names a primitive that does not exist."""
        types = {OCL, HOST}
        unheard = sorted({x.type for x in _forced(self.force_implementations).values()} - types - {""})
        if unheard:
            raise ClinferError("force_implementations names implementation types that do not exist",
                               where="compile options", values={"unknown": ", ".join(unheard)},
                               hint=f"there are {', '.join(sorted(types))}")
        unknown = sorted(set(self.force_implementations) - primitive_ids)
        if unknown:
            raise ClinferError("force_implementations names primitives that the program does not have",
                               where="compile options", values={"unknown": ", ".join(unknown)},
                               hint="`clinfer explain` and CLINFER_DEBUG=3 list the primitives")


def _forced(table: Mapping[str, tuple[str, ...]]) -> dict[str, Forced]:
    forced = {}
    for primitive_id, demand in table.items():
        forced[primitive_id] = Forced(*demand)
        if forced[primitive_id].format:
            Format.of(forced[primitive_id].format)
    return forced


def _from_knob() -> dict[str, Forced]:
    table: dict[str, tuple[str, ...]] = {}
    for entry in filter(None, knobs.value("CLINFER_FORCE_KERNEL").split(",")):
        primitive_id, _, demand = entry.rpartition("=")
        parts = demand.split(":")
        if not primitive_id or len(parts) > 3:
            raise ClinferError("CLINFER_FORCE_KERNEL is malformed", values={"entry": entry},
                               hint="write `primitive=kernel`, `primitive=format:kernel` or "
                                    "`primitive=format:kernel:type`")
        table[primitive_id] = ("", *parts) if len(parts) == 1 else tuple(parts)
    return _forced(table)
