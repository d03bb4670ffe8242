"""The kernel contract: what a kernel says of itself, and the problems that it is asked about.

A kernel says on which devices it runs (`targets`), in which formats it wants its tensors (`formats`), which problems it
supports, its configurations (tile sizes and the like: plain data), the nanoseconds that one takes (`cost`), and what is
launched (`lower`). All of it is pure and is asked twice: when the program is built, with layouts that may be open
(`base/shape.py`), and for each new shape, with layouts of numbers or of symbols (`symbolic/symbols.py`).
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.layout import NO_PADDING, Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels import tuned
from clinfer.kernels.cost import time_of
from clinfer.kernels.recipe import USUAL, Recipe
from clinfer.runtime.capabilities import Capabilities
from clinfer.topology.primitive import Primitive
from clinfer.tuning.entry import Subject

Constant = int | float | str | bool
COUNTERS = 2048
"""The numbers by which work-groups of a stage may count."""
COUNTERS_BYTES = 4 * COUNTERS
OCL, HOST = "ocl", "host"
"""Implementation types: kernels of the operations, and NumPy on the host."""

P = TypeVar("P", bound="Problem")
C = TypeVar("C")


@dataclass(frozen=True)
class Formats:
    """The formats that a kernel wants for the primitive's inputs and outputs, in their order."""

    inputs: tuple[Format, ...]
    outputs: tuple[Format, ...]


@dataclass(frozen=True)
class Problem:
    """One primitive with the layouts of its tensors; operations derive their own, with their class of primitives and
    with the geometry as cached properties.

    `values` holds what is known of the primitive's `value_inputs`: all of them once layouts are static, only the
    constants while the program is built; for moves also of its `useful_values`. `inputs` are the primitive's own;
    `fused_inputs` those of its fused operations, which have output 0's rank and sizes that are output 0's or 1.
    `is_large`: kernels index with 64 bits, because a tensor has more than 2^31 - 1 elements.
    """

    primitive: Primitive
    inputs: tuple[Layout, ...]
    outputs: tuple[Layout, ...]
    capabilities: Capabilities
    values: Mapping[int, np.ndarray] = field(default_factory=dict)
    fused_inputs: tuple[Layout, ...] = ()
    is_large: bool = False

    @classmethod
    def of(cls: type[P], primitive: Primitive, inputs: tuple[Layout, ...], outputs: tuple[Layout, ...],
           capabilities: Capabilities, values: Mapping[int, np.ndarray], is_large: bool = False) -> P:
        """The problem of a primitive with all its inputs, those of its fused operations included; it is large where
        every size that the layouts admit is, or where that is asked for."""
        own = primitive.own_input_count
        return cls(primitive, inputs[:own], outputs, capabilities, values, inputs[own:],
                   is_large or any(layout.is_large for layout in inputs + outputs))

    @property
    def all_inputs(self) -> tuple[Layout, ...]:
        """The layouts of all the primitive's inputs, in its order."""
        return self.inputs + self.fused_inputs

    @cached_property
    def is_static(self) -> bool:
        """Whether every layout is static."""
        return all(layout.is_static for layout in self.inputs + self.outputs + self.fused_inputs)

    @cached_property
    def is_decided(self) -> bool:
        """Whether nothing that shapes the work is open: layouts are static, all value inputs have known values."""
        return self.is_static and all(i in self.values for i in self.primitive.value_inputs)

    @cached_property
    def moved_bytes(self) -> int:
        """The bytes of all tensors that kernels read or write, each once; layouts must be static."""
        hidden = self.primitive.value_inputs
        return (sum(x.byte_size for i, x in enumerate(self.all_inputs) if i not in hidden)
                + sum(x.byte_size for x in self.outputs))

    @cached_property
    def subject(self) -> Subject:
        """What it is, whatever its sizes, for tuning tables."""
        return tuned.subject_of(self)

    @property
    def sizes(self) -> Mapping[str, int]:
        """The numbers on which the time depends most, by name, in a fixed order: what tuning tables are keyed by.
        Layouts must be static."""
        return {"elements": sum(x.count for x in self.outputs)}

    @property
    def flops(self) -> float:
        """The floating-point operations that no way to compute it goes without, as far as they are known; layouts
        must be static."""
        return 0.0

    @property
    def lacks_inputs(self) -> bool:
        """Whether some input may be left to kernels to make, of others that they have too (`Kernel.has_prologue`).
        Of layouts that are open: whether that is so for some of the sizes that can come."""
        return False

    @property
    def runs_on_cpu(self) -> bool:
        """Whether the device is a CPU."""
        return self.capabilities.device_type == "CPU"

    def in_formats(self: P, formats: Formats) -> P:
        """The problem with every tensor in the given formats (a changed format drops padding); what fused operations
        read follows the output. Block tails may make it large."""
        inputs = tuple(x if x.format == f else replace(x, format=f, padding=NO_PADDING)
                       for x, f in zip(self.inputs, formats.inputs, strict=True))
        outputs = tuple(replace(x, format=f) for x, f in zip(self.outputs, formats.outputs, strict=True))
        fused_ops = tuple(fused_layout(x, outputs[0]) for x in self.fused_inputs)
        is_large = self.is_large or any(layout.is_large for layout in inputs + outputs)
        return replace(self, inputs=inputs, outputs=outputs, fused_inputs=fused_ops, is_large=is_large)

    def with_shapes(self: P, other: Problem) -> P:
        """The problem with the shapes and values of another one of the same primitive."""
        def shaped(own: tuple[Layout, ...], others: tuple[Layout, ...]) -> tuple[Layout, ...]:
            return tuple(x.with_shape(y.shape) for x, y in zip(own, others, strict=True))
        return replace(self, inputs=shaped(self.inputs, other.inputs), outputs=shaped(self.outputs, other.outputs),
                       fused_inputs=shaped(self.fused_inputs, other.fused_inputs), values=other.values)


def fused_layout(layout: Layout, output: Layout) -> Layout:
    """How a fused input must lie: like the output where it does not stretch along blocked axes, else planar."""
    follows = all((layout.shape[axis] == 1) == (output.shape[axis] == 1) for axis, _ in output.format.block_axes)
    return replace(layout, format=output.format if follows else Format.planar(layout.rank), padding=NO_PADDING)


# -- what is launched -------------------------------------------------------------------------------


@dataclass(frozen=True)
class BufferRef:
    """A buffer of the primitive: its n-th input, output or scratch buffer; of an input that is images, the one of
    this picture of the batch. Its `counters` (index 0) are `COUNTERS` zeros of u32 when a stage begins, and the stage
    must leave them as zeros."""

    kind: Literal["input", "output", "scratch", "counters"]
    index: int
    picture: int | None = None


@dataclass(frozen=True)
class Operand:
    """One buffer argument of a kernel: `macro` prefixes its macros, `view` is how it is indexed."""

    macro: str
    buffer: BufferRef
    view: TensorView


@dataclass(frozen=True)
class Work:
    """Work sizes; `local_size` None lets the driver choose on GPUs and is 1 on CPUs."""

    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None = None


class Move(NamedTuple):
    """What a stage does that does nothing but copy elements of one input to one output.

    `run`, where the elements are one run of bytes on both sides: where it starts in the input and in the output,
    and its length. None where they are not, or while shapes or values are unknown.
    """

    input: int
    output: int
    run: tuple[int, int, int] | None


@dataclass(frozen=True)
class Stage:
    """One kernel function to launch.

    `source` is a .cl file in the operation's folder (or in `package`, for kernels that operations share), in which
    KERNEL() names the function (`entry`, by default as the file); `text`, where there is one, is what would be in it.
    `operands` are the buffer arguments in the order of
    the function's parameters. `constants` become macros; `arguments` become fields of the argument block, read as
    ARG_<NAME>, and so do the sizes, pitches and offsets of operands: one build serves every shape. `work` and the
    arguments are looked at only where layouts are static; before, they may be open.

    `epilogue_views`, of the stage that stores output 0: how each fused input is seen, stretched to the output's view,
    axis by axis (`include/epilogue.cl`). None: the stage applies no fused operations.
    `moves`, of a stage that only moves elements: it is left out where each of them is needless, and of several it looks
    at each by itself. All kernels of an operation that share formats must tell the same moves, in the same order.
    `recipe`: how the code is built.
    """

    source: str
    operands: tuple[Operand, ...]
    work: Work | None
    constants: Mapping[str, Constant] = field(default_factory=dict)
    arguments: Mapping[str, int] = field(default_factory=dict)
    epilogue_views: tuple[TensorView, ...] | None = None
    moves: tuple[Move, ...] = ()
    entry: str = ""
    package: str = ""
    recipe: Recipe = USUAL
    text: str = ""

    @property
    def function(self) -> str:
        """The name given to KERNEL() in the source."""
        return self.entry or self.source.removesuffix(".cl")


@dataclass(frozen=True)
class Lowered:
    """All that is launched, in order, and the bytes of the scratch buffers that it needs (open while sizes are)."""

    stages: tuple[Stage, ...]
    scratch: tuple[int, ...] = ()

    @property
    def moves(self) -> tuple[Move, ...]:
        """Those of its stages, one behind the other."""
        return tuple([move for stage in self.stages for move in stage.moves])


# -- the contract -----------------------------------------------------------------------------------


class Kernel(ABC, Generic[P, C]):
    """One way to compute the problems of an operation.

    `name` tells it apart in its operation's table. `has_epilogue`: it computes the primitive's fused operations.
    `writes_packed`: it is made for outputs of which two elements share a byte, `reads_images`: for inputs that are
    images (`IMAGE_2D`), `supports_large`: also for problems that are large (its source has `index_t` for whatever may
    count a tensor's elements); others are never asked about such problems.
    """

    name: str
    has_epilogue: bool = False
    writes_packed: bool = False
    reads_images: bool = False
    supports_large: bool = False
    efficiency: float = 0.1
    """The share of the device's memory bandwidth that it reaches, of which `cost` makes an estimate."""

    def targets(self, device: Capabilities) -> str | None:
        """None, or why the kernel does not run on a device."""
        return None

    def formats(self, problem: P) -> Formats:
        """The formats in which it wants the tensors of a problem; by default all planar."""
        return planar_formats(problem)

    def configs(self, problem: P) -> tuple[C, ...]:
        """Its configurations for a problem, as it is when the program is built: frozen data, whose text is a name.

        What was open at build time, and decides how the code is laid out, belongs in it as well: `lower` is given the
        same configuration when all is known.
        """
        return (None,)  # type: ignore[return-value]

    def supports(self, problem: P, config: C) -> str | None:
        """None, or why it cannot compute a problem that comes in its formats, whatever its open sizes are."""
        return None

    def accepts(self, problem: P, config: C) -> str | None:
        """None, or why it cannot compute these very shapes and values. Of a problem that is not decided: None only
        where it takes all that can come."""
        return None

    def has_prologue(self, config: C) -> bool:
        """Whether it makes an input itself of others that the problem has, see `Problem.lacks_inputs`."""
        return False

    def accepted_like(self, sample: P, config: C) -> P | None:
        """Asked where it accepts none of the likely sizes: a static problem as like to this one as can be that it
        accepts, whether its sizes may come or not. None: it knows of none."""
        return None

    def cost(self, problem: P, config: C) -> float:
        """The estimated time of a static problem in nanoseconds: here, that of moving its tensors once."""
        return time_of(problem.capabilities.ceilings, nbytes=problem.moved_bytes, bandwidth=self.efficiency)

    @abstractmethod
    def lower(self, problem: P, config: C) -> Lowered:
        """What computes a problem. Constants and the number of stages must not depend on open sizes."""


@dataclass(frozen=True)
class Candidate:
    """A kernel in one of its configurations: what is chosen, built and launched."""

    kernel: Kernel[Any, Any]
    config: Any = None

    @cached_property
    def name(self) -> str:
        """The kernel's name, with that of the configuration if it has one."""
        return f"{self.kernel.name}_{self.config_text}" if self.config_text else self.kernel.name

    @property
    def config_text(self) -> str:
        """The name of the configuration; empty where there is but one."""
        return "" if self.config is None else str(self.config)

    def supports(self, problem: Problem) -> str | None:
        """None, or why it cannot compute a problem in its formats."""
        return self.kernel.supports(problem, self.config)

    def accepts(self, problem: Problem) -> str | None:
        """None, or why it cannot compute these very shapes and values."""
        if problem.lacks_inputs and not self.kernel.has_prologue(self.config):
            return "an input is left to a prologue"
        return self.kernel.accepts(problem, self.config)

    def cost(self, problem: Problem) -> float:
        """Its estimated time in nanoseconds, corrected by what was measured of it near by."""
        return tuned.corrected(self.kernel.cost(problem, self.config), self, problem)

    def estimate(self, problem: Problem) -> float:
        """Its estimated time in nanoseconds, whatever was measured."""
        return self.kernel.cost(problem, self.config)

    def lower(self, problem: Problem) -> Lowered:
        """What computes the problem."""
        return self.kernel.lower(problem, self.config)

    def in_own_formats(self, problem: P) -> P:
        """The problem with all tensors in the formats that the kernel wants."""
        return problem.in_formats(self.kernel.formats(problem))


@dataclass(frozen=True)
class KernelTable:
    """The kernels that compute the primitives of one class, and the class of their problems."""

    kernels: tuple[Kernel[Any, Any], ...] = ()
    problem: type[Problem] = Problem

    def __bool__(self) -> bool:
        return bool(self.kernels)

    def candidates(self, problem: Problem) -> tuple[Candidate, ...]:
        """Every kernel in every configuration that it has for a problem."""
        return tuple(Candidate(kernel, config) for kernel in self.kernels for config in kernel.configs(problem))


# -- what most kernels say --------------------------------------------------------------------------


def input_operand(problem: Problem, index: int, view: TensorView | None = None) -> Operand:
    """INPUT<index>: input `index` under the given view, or under its layout's own."""
    return Operand(f"INPUT{index}", BufferRef("input", index), view or TensorView.of(problem.inputs[index]))


def output_operand(problem: Problem, index: int = 0, view: TensorView | None = None) -> Operand:
    """OUTPUT<index>: output `index` under the given view, or under its layout's own."""
    return Operand(f"OUTPUT{index}", BufferRef("output", index), view or TensorView.of(problem.outputs[index]))


def scratch_operand(index: int, view: TensorView) -> Operand:
    """SCRATCH<index>: a scratch buffer of the kernel."""
    return Operand(f"SCRATCH{index}", BufferRef("scratch", index), view)


def counters_operand() -> Operand:
    """COUNTERS: zeros by which the work-groups of a stage tell one another how far they are."""
    return Operand("COUNTERS", BufferRef("counters", 0), TensorView.dense(ElementType.of("u32"), (COUNTERS,)))


def all_operands(problem: Problem) -> tuple[Operand, ...]:
    """Every input that is not a value input, then every output, under their layouts' own views."""
    hidden = problem.primitive.value_inputs
    inputs = tuple(input_operand(problem, i) for i in range(len(problem.inputs)) if i not in hidden)
    return inputs + tuple(output_operand(problem, i) for i in range(len(problem.outputs)))


def stretched_epilogue(problem: Problem,
                    view: Callable[[Layout], TensorView] = TensorView.of) -> tuple[TensorView, ...]:
    """The `epilogue_views` of a stage that sees the output through `view`, in which axes are moved and put in only."""
    sizes = view(problem.outputs[0]).sizes
    return tuple(view(layout).broadcast(sizes) for layout in problem.fused_inputs)


def planar_formats(problem: Problem) -> Formats:
    """Every tensor in the planar format of its rank."""
    return Formats(tuple(Format.planar(x.rank) for x in problem.inputs),
                   tuple(Format.planar(x.rank) for x in problem.outputs))


def present_formats(problem: Problem) -> Formats:
    """Every tensor in the format that it has: for kernels that index through GET_INDEX alone.

    Outputs take the format of the first input of the same rank.
    """
    def like(layout: Layout) -> Format:
        same = [x.format for i, x in enumerate(problem.inputs)
                if x.rank == layout.rank and i not in problem.primitive.value_inputs]
        return same[0] if same else Format.planar(layout.rank)
    return Formats(tuple(x.format for x in problem.inputs), tuple(like(x) for x in problem.outputs))
