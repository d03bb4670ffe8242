"""What each primitive cost in one execution, on the device and on the host."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from clinfer.base.errors import CONTRADICTIONS
from clinfer.base.layout import Layout
from clinfer.base.shape import StaticShape
from clinfer.kernels.implementation import Implementation
from clinfer.kernels.tuned import problem_roofline
from clinfer.program.history import Removal
from clinfer.program.program import Program, ProgramNode
from clinfer.program.weights_cache import same_bytes
from clinfer.runtime.event import Event
from clinfer.topology import Constant, Input

Status = Literal["executed", "optimized_out", "not_run"]
IN_PLACE = "in place"


@dataclass(frozen=True)
class NodeProfile:
    """One primitive in one execution.

    `name`: the layer's name, made unique; primitives that a layer needs besides its own have one of theirs,
    those of a body stand behind `<layer>/body<number>/`. `kernel`: the kernel that ran (or would be tried
    first), or `cpu` (on the host), `view`, `body`, `input`, `in place` (nothing to copy), `fused into <name>`.
    `device_ns`: nanoseconds from start to end of its kernels, summed. `host_ns`: nanoseconds of planning it (none
    where the plan was known) and of launching its kernels. A primitive that runs a body does not count the body's,
    which follow it. `shapes` of its outputs, empty where it did not run. `within`: the name of the model's primitive
    in whose body it is, empty for those that are in none. `estimated_ns`: what the kernel that ran was estimated to
    take; `roofline_ns`: below what no kernel gets on the device; `flops`, `moved_bytes`: the operations and bytes of
    which that is told; 0 where no kernel ran. `weights`: how the kernel that ran had its constant weights; empty where
    it has none.
    """

    name: str
    primitive: str
    layer: str
    status: Status
    kernel: str
    device_ns: int = 0
    host_ns: int = 0
    shapes: tuple[StaticShape, ...] = ()
    within: str = ""
    estimated_ns: float = 0.0
    roofline_ns: float = 0.0
    flops: float = 0.0
    moved_bytes: int = 0
    weights: str = ""


@dataclass
class _Record:
    """What was measured of one node so far."""

    host_ns: int = 0
    kernel: str = ""
    implementation: Implementation | None = None
    events: list[Event] = field(default_factory=list)


class Profiler:
    """Measures the executions of one network on a profiling stream. One thread at a time."""

    def __init__(self, program: Program, kernel_nodes: Sequence[int] = (),
                 implementations: Sequence[Implementation] = ()) -> None:
        """`kernel_nodes`, `implementations`: of the network's kernels, by number; they may grow."""
        self._program = program
        self._nodes = kernel_nodes
        self._implementations = implementations
        self._fused = fused_primitives(program)
        self._records: dict[int, _Record] = {}
        self._shapes: Mapping[int, StaticShape] | None = None

    def start(self) -> None:
        """Forget earlier executions."""
        self._records, self._shapes = {}, None

    def add_execution(self, shapes: Mapping[int, StaticShape]) -> None:
        """Note that the program was executed, and the shapes of its tensors."""
        self._shapes = shapes

    def add_host_time(self, node: int, ns: int) -> None:
        """Note host time of a node."""
        self._record(node).host_ns += ns

    def add_launch(self, kernel: int, event: Event, host_ns: int) -> None:
        """Note a launch of a kernel of the network's table."""
        record = self._record(self._nodes[kernel])
        record.host_ns += host_ns
        record.implementation = self._implementations[kernel]
        record.kernel = record.implementation.name
        record.events.append(event)

    def profile(self, bodies: Mapping[tuple[int, int], tuple[NodeProfile, ...]]) -> tuple[NodeProfile, ...]:
        """One row per node, followed by those of its bodies, which were measured by (node, number); a body that
        is missing there did not run. The stream must be finished."""
        rows: list[NodeProfile] = []
        for index, node in enumerate(self._program.nodes):
            row = self._row(index, node)
            rows.append(row)
            rows += [NodeProfile(gone.primitive, gone.type, gone.layer, "optimized_out", f"fused into {gone.into}")
                     for gone in self._fused.get(node.primitive.id, ())]
            for number, body in enumerate(node.bodies):
                inner = bodies.get((index, number)) or unexecuted(body)
                rows += [replace(r, name=f"{row.name}/body{number}/{r.name}", within=row.name) for r in inner]
        return tuple(rows)

    def _record(self, node: int) -> _Record:
        return self._records.setdefault(node, _Record())

    def _row(self, index: int, node: ProgramNode) -> NodeProfile:
        record = self._records.get(index, _Record())
        return NodeProfile(
            profiled_name(node), type(node.primitive).__name__, node.primitive.origin, self._status(node, record),
            IN_PLACE if self._is_in_place(node, record) else _kernel(node, record),
            sum(event.duration_ns for event in record.events), record.host_ns,
            tuple(self._shapes[t] for t in node.outputs if t in self._shapes) if self._shapes is not None else (),
            "", *self._expected(node, record), self._weights(node, record))

    def _expected(self, node: ProgramNode, record: _Record) -> tuple[float, float, float, int]:
        """What the kernel that ran was estimated to take, the least that any takes, and the operations and bytes of
        which that is told; 0 where nobody can tell."""
        known, made = self._shapes, record.implementation
        if known is None or made is None:
            return 0.0, 0.0, 0.0, 0

        def sized(layout: Layout, tensor: int) -> Layout:
            return layout if layout.is_static or tensor not in known else layout.with_shape(known[tensor])
        inputs = tuple(map(sized, made.problem.all_inputs, node.inputs))
        own = len(made.problem.inputs)
        problem = replace(made.problem, inputs=inputs[:own], fused_inputs=inputs[own:],
                          outputs=tuple(map(sized, made.problem.outputs, node.outputs)))
        try:
            return (made.candidate.estimate(problem), problem_roofline(problem), float(problem.flops),
                    problem.moved_bytes)
        except CONTRADICTIONS:
            # Some costs depend on values of inputs, which nobody noted.
            return 0.0, 0.0, 0.0, 0

    def _weights(self, node: ProgramNode, record: _Record) -> str:
        """Type and format of the constant weights of the kernel that ran, and what it has them of, if it came later and
        wanted them otherwise than the program has them."""
        made = record.implementation
        index = None if made is None else made.problem.primitive.weights_input
        if made is None or index is None or node.inputs[index] not in self._program.constants:
            return ""
        held, wanted = self._program.tensors[node.inputs[index]].layout, made.problem.inputs[index]
        had = f"{wanted.element_type} in {wanted.format}"
        if held == wanted:
            return had
        return f"{had}, {'seen otherwise than in' if same_bytes(held, wanted) else 'reordered from'} {held.format}"

    def _is_in_place(self, node: ProgramNode, record: _Record) -> bool:
        """Whether the node ran without a launch, because it would have copied bytes to where they are."""
        return bool(node.aliases) and self._shapes is not None and not record.events

    def _status(self, node: ProgramNode, record: _Record) -> Status:
        if node.kind == "view" or self._is_in_place(node, record):
            return "optimized_out"
        ran = node.kind in ("host", "body", "call") or (node.kind == "kernel" and record.events)
        return "executed" if ran and self._shapes is not None else "not_run"


def unexecuted(program: Program) -> tuple[NodeProfile, ...]:
    """The rows of a program that did not run."""
    return Profiler(program).profile({})


def fused_primitives(program: Program) -> dict[str, list[Removal]]:
    """By a primitive's id, the operations that it does besides its own."""
    found: dict[str, list[Removal]] = {}
    for gone in program.removed:
        if gone.fate == "fused" and gone.type != Constant.__name__:
            found.setdefault(gone.into, []).append(gone)
    return found


def profiled_name(node: ProgramNode) -> str:
    """How a node is named in profiles: inputs by their layers, the others by the ids that layers give them."""
    primitive = node.primitive
    return primitive.origin or primitive.id if isinstance(primitive, Input) else primitive.id


def _kernel(node: ProgramNode, record: _Record) -> str:
    if node.kind == "kernel":
        return record.kernel or node.implementations[0].name
    return node.implementation_type or node.kind
