"""What a program is made of and why, as plain frozen data for people and tools to read."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinfer.kernels.implementation import Implementation
from clinfer.kernels.tuned import measured
from clinfer.program.history import Removal
from clinfer.program.host_layers import transfers
from clinfer.topology import HostOperation, attributes_of

if TYPE_CHECKING:
    from clinfer.program.program import Program, ProgramNode


@dataclass(frozen=True)
class ExplainedKernel:
    """A kernel that may be launched for a primitive: its estimated nanoseconds for the usual sizes, its `.cl` files as
    (package, file), and where sizes are fixed what the tables of measured times have of it. `built_for`: the sizes for
    which it was taken; `build_s`: the seconds of its kernels' builds by now, None where they came from somewhere else
    (the cache on disk, a compiled blob)."""

    name: str
    cost: float
    sources: tuple[tuple[str, str], ...]
    measured: float | None = None
    built_for: str = ""
    build_s: float | None = None


@dataclass(frozen=True)
class ExplainedInput:
    """What a primitive reads: the id and output of the producer, how it lies in memory, and whether it is a
    constant."""

    primitive: str
    output: int
    layout: str
    is_constant: bool


@dataclass(frozen=True)
class ExplainedNode:
    """One primitive of a program.

    `layer`: the model's. `kind`: "input", "host" (computed with NumPy), "view" (its input's memory under
    another shape), "body", or "kernel". `kernels`: those that are built, of which each shape takes the
    fastest that accepts it; `why`: what the first was chosen for, or what a layer that
    OpenVINO computes on the host costs; `rejected`: (kernel, reason) of the
    others. `bodies`: what it may run inside. `unfused`: of element-wise primitives and of those that read compressed
    weights, (primitive that it reads, why the two were not fused). `implementation_type`: `ocl` or `host` (NumPy);
    empty for what nothing computes. `refused_types`: (type, reason) of the others.
    """

    primitive: str
    type: str
    layer: str
    kind: str
    segment: int
    inputs: tuple[ExplainedInput, ...]
    outputs: tuple[str, ...]
    kernels: tuple[ExplainedKernel, ...]
    why: str
    rejected: tuple[tuple[str, str], ...]
    attributes: tuple[tuple[str, str], ...]
    bodies: tuple[Explanation, ...]
    unfused: tuple[tuple[str, str], ...] = ()
    implementation_type: str = ""
    refused_types: tuple[tuple[str, str], ...] = ()

    @property
    def work(self) -> str:
        """What carries it out: its kernels, or its implementation type, or its kind."""
        return " | ".join(kernel.name for kernel in self.kernels) or self.implementation_type or self.kind


@dataclass(frozen=True)
class Explanation:
    """The nodes of a program in the order in which they run; what passes removed; (name, producer's id) of
    its outputs. `functions`: how many kernel functions the program and its bodies have, of which `built` were built
    since the process began, in `build_s` seconds."""

    nodes: tuple[ExplainedNode, ...]
    removed: tuple[Removal, ...]
    outputs: tuple[tuple[str, str], ...]
    functions: int = 0
    built: int = 0
    build_s: float = 0.0

    def node(self, primitive: str) -> ExplainedNode:
        """The node of a primitive's id; KeyError if there is none."""
        for node in self.nodes:
            if node.primitive == primitive:
                return node
        raise KeyError(primitive)


def explain_program(program: Program) -> Explanation:
    """The explanation of a program, its bodies included."""
    outputs = tuple((name, program.tensors[info.tensor].port.primitive) for name, info in program.outputs.items())
    seconds = [program.kernels.cache.build_seconds([kernel_id]) for kernel_id in _functions(program)]
    built = [each for each in seconds if each is not None]
    return Explanation(tuple(_node(program, node) for node in program.nodes), program.removed, outputs,
                       len(seconds), len(built), sum(built))


def _functions(program: Program) -> set[str]:
    own = {stage.code.kernel_id for node in program.nodes for each in node.implementations for stage in each.stages}
    return own.union(*(_functions(body) for node in program.nodes for body in node.bodies))


def _node(program: Program, node: ProgramNode) -> ExplainedNode:
    costs = dict(node.costs)
    taken = node.built_for or ("",) * len(node.implementations)
    kernels = tuple(ExplainedKernel(i.name, costs.get(i.name, 0.0), _sources(node, index), _measured(i), taken[index],
                                    program.kernels.cache.build_seconds(stage.code.kernel_id for stage in i.stages))
                    for index, i in enumerate(node.implementations))
    return ExplainedNode(
        node.primitive.id, type(node.primitive).__name__, node.primitive.origin, node.kind, node.segment,
        tuple(_input(program, tensor) for tensor in node.inputs),
        tuple(str(program.tensors[tensor].layout) for tensor in node.outputs),
        kernels, node.why or _on_host(program, node), node.rejected,
        tuple((name, str(value)) for name, value in attributes_of(node.primitive) if _is_plain(value)),
        tuple(explain_program(body) for body in node.bodies), node.unfused,
        node.implementation_type, node.refused_types)


def _on_host(program: Program, node: ProgramNode) -> str:
    if not isinstance(node.primitive, HostOperation):
        return ""
    return f"OpenVINO computes {node.primitive.operation} on the host: {transfers(program, node)}"


def _measured(implementation: Implementation) -> float | None:
    entry = measured(implementation.candidate, implementation.problem) if implementation.problem.is_static else None
    return None if entry is None else entry.measured


def _is_plain(value: object) -> bool:
    """Whether an attribute is a number, a text, or a row of them."""
    return isinstance(value, (bool, int, float, str)) or (isinstance(value, tuple) and all(map(_is_plain, value)))


def _sources(node: ProgramNode, implementation: int) -> tuple[tuple[str, str], ...]:
    stages = node.implementations[implementation].stages
    return tuple(dict.fromkeys(part.source for part in stages if part.source[0]))


def _input(program: Program, index: int) -> ExplainedInput:
    tensor = program.tensors[index]
    return ExplainedInput(tensor.port.primitive, tensor.port.index, str(tensor.layout), index in program.constants)
