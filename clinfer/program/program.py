"""The finished program: frozen data that any number of networks run."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from clinfer.base.layout import Layout
from clinfer.base.schema import IndexOf, Natural
from clinfer.base.shape import Shape
from clinfer.kernels.aliasing import Alias
from clinfer.kernels.contract import HOST, OCL
from clinfer.kernels.implementation import Implementation
from clinfer.kernels.implementation_cache import ImplementationCache
from clinfer.kernels.kernel_cache import LoadedKernels
from clinfer.program.constants import ConstantData
from clinfer.program.explanation import Explanation, explain_program
from clinfer.program.history import Removal
from clinfer.program.memory_dependencies import Dependencies, ExecutionOrder
from clinfer.program.weights_cache import WeightsCache
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.topology import Input, Port, Primitive, State

WEIGHTS_SHARE = 4
"""Reordered weights take at most this part of what the constants take."""

TensorIndex = Annotated[int, IndexOf("tensors")]
NodeIndex = Annotated[int, IndexOf("nodes")]
SegmentIndex = Annotated[int, IndexOf("segments")]
SlotIndex = Annotated[int, IndexOf("slots")]

NodeKind = Literal["input", "host", "view", "body", "call", "kernel"]
Storage = Literal["input", "constant", "slot", "output", "body", "host"]


@dataclass(frozen=True)
class Tensor:
    """One tensor of the program.

    `layout` may be dynamic. `root` is the index of the tensor whose memory this one is (its own index
    unless it is a view). `storage` says where the root's memory comes from: an input of the execution,
    a constant, a slot of the pool, an output of the execution (the caller's memory, or else a slot), a body's
    network or a host call, or nowhere (a host value that no kernel reads). `slot` is the slot's number, or -1.
    """

    port: Port
    layout: Layout
    root: TensorIndex
    storage: Storage
    slot: Annotated[int, IndexOf("slots", none=-1)] = -1


@dataclass(frozen=True)
class AliasedTensor:
    """A copy of a node that is not made by plans in which the moved tensor lies within another (both by index)."""

    alias: Alias
    moved: TensorIndex
    within: TensorIndex


@dataclass(frozen=True)
class ProgramNode:
    """One node: its tensors by index, and how it is carried out.

    `scratch_slots`: the slots of scratch buffers. `rejected`: kernels passed over, with reasons. `costs`: the
    estimated nanoseconds of every kernel that supports the primitive. `why`: what the first implementation was chosen
    for; `is_forced`: by a demand, so that no other may take its place. `aliases`: the copies that plans may leave out;
    `copies`: (number, reason) of those that they may not. `useful`: the inputs of `useful_values` that the host knows.
    `unfused`: those that it reads and was not fused with, each with the reason. `refused_types`: implementation types
    that do not compute it, with reasons. `built_for`: the sizes for which each implementation was taken.
    """

    primitive: Primitive
    inputs: tuple[TensorIndex, ...]
    outputs: tuple[TensorIndex, ...]
    kind: NodeKind
    segment: SegmentIndex
    implementations: tuple[Implementation, ...] = ()
    scratch_slots: tuple[SlotIndex, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()
    bodies: tuple[Program, ...] = ()
    costs: tuple[tuple[str, float], ...] = ()
    why: str = ""
    is_forced: bool = False
    aliases: tuple[AliasedTensor, ...] = ()
    copies: tuple[tuple[Natural, str], ...] = ()
    useful: tuple[Natural, ...] = ()
    unfused: tuple[tuple[str, str], ...] = ()
    refused_types: tuple[tuple[str, str], ...] = ()
    built_for: tuple[str, ...] = ()

    @property
    def implementation_type(self) -> str:
        """`host` or `ocl`; empty for what nothing computes: inputs, views and bodies."""
        if self.kind in ("host", "call"):
            return HOST
        return OCL if self.implementations else ""

    @property
    def read_on_host(self) -> tuple[int, ...]:
        """The inputs whose values are known when the node is planned."""
        if self.kind != "host":
            return self.primitive.value_inputs + self.useful
        return () if self.primitive.reads_shapes_only else tuple(range(len(self.inputs)))


@dataclass(frozen=True)
class Segment:
    """Nodes that run without the host looking at data in between.

    `incoming`: tensors from outside whose shapes belong to the key of a plan; `values`: those whose
    contents the host reads, which belong to the key too. `held`: slots with contents of earlier segments that
    this one or a later one needs. `fetched`: tensors made here whose contents the host reads for later segments.
    """

    nodes: tuple[NodeIndex, ...]
    incoming: tuple[TensorIndex, ...]
    values: tuple[TensorIndex, ...]
    held: tuple[SlotIndex, ...]
    fetched: tuple[TensorIndex, ...] = ()


@dataclass(frozen=True)
class OutputInfo:
    """An output of the program: its tensor's index and declared layout."""

    tensor: TensorIndex
    layout: Layout

    @property
    def shape(self) -> Shape:
        return self.layout.shape


@dataclass(frozen=True, eq=False)
class Program:
    """Everything that is decided before the first inference.

    `constants` by tensor index; `constant_memory` holds those that kernels read. `dependencies`: for each slot those
    with which it must not share memory, as the `execution_order` of the steps demands; from `first_scratch` on slots
    hold scratch buffers, in processing order. `removed`: what passes took out of the topology's graph.
    `long_homes`: for tensors in which others may lie the tensor that stands for their memory in plans where others
    do. `states`: the inputs and outputs that requests keep; `initial` makes their values after a reset. Four memories
    of its networks: `traces`, what they and those of bodies traced of planning nodes, `descriptions` of the nodes of
    segments that they plan by these, `implementations`, which specialised ones are faster for which shapes, and
    `weights`, which these want in other formats.
    """

    engine: Engine
    kernels: LoadedKernels
    nodes: tuple[ProgramNode, ...]
    tensors: tuple[Tensor, ...]
    segments: tuple[Segment, ...]
    inputs: Mapping[str, Input]
    input_tensors: Mapping[str, TensorIndex]
    outputs: Mapping[str, OutputInfo]
    constants: Mapping[TensorIndex, ConstantData]
    constant_memory: Mapping[TensorIndex, Memory]
    dependencies: Dependencies
    first_scratch: Natural
    execution_order: ExecutionOrder = "in_order"
    removed: tuple[Removal, ...] = ()
    states: tuple[State, ...] = ()
    initial: Program | None = None
    long_homes: Mapping[TensorIndex, TensorIndex] = field(default_factory=dict)
    traces: dict[object, list[Any]] = field(default_factory=dict, init=False, repr=False)
    descriptions: dict[int, Any] = field(default_factory=dict, init=False, repr=False)
    implementations: ImplementationCache = field(default_factory=ImplementationCache, init=False, repr=False)
    weights: WeightsCache = field(init=False, repr=False)

    def __post_init__(self) -> None:
        constants = sum(memory.nbytes for memory in self.constant_memory.values())
        object.__setattr__(self, "weights", WeightsCache(self.engine, self.kernels, constants // WEIGHTS_SHARE))
        self._share_traces(self.traces)

    @cached_property
    def called_inputs(self) -> frozenset[str]:
        """The inputs that the host computes with."""
        read = {tensor for node in self.nodes if node.kind == "call" for tensor in node.inputs}
        return frozenset(name for name, tensor in self.input_tensors.items() if tensor in read)

    def _share_traces(self, traces: dict[object, list[Any]]) -> None:
        """Let bodies, which are often alike, record in one place."""
        object.__setattr__(self, "traces", traces)
        for node in self.nodes:
            for body in node.bodies:
                body._share_traces(traces)
        if self.initial is not None:
            self.initial._share_traces(traces)

    def explain(self) -> Explanation:
        """What each node became and why, and what passes removed."""
        return explain_program(self)


def programs_within(program: Program) -> Iterator[Program]:
    """A program behind the bodies in it, and behind what gives its states their first values."""
    for node in program.nodes:
        for body in node.bodies:
            yield from programs_within(body)
    if program.initial is not None:
        yield from programs_within(program.initial)
    yield program
