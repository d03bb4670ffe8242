"""The rows of a room's kernel table: what a kernel needs, when it applies, how it is launched.

All callables of a row take `KernelParams` and must be pure. They are called twice: when the program
is built, with layouts that may be dynamic, and for each new shape, with static layouts.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.runtime.capabilities import Capabilities
from clinfer.topology.primitive import Primitive

Constant = int | float | str | bool
OCL, CPU = "ocl", "cpu"
"""Implementation types: kernels of the rooms, and NumPy on the host."""


@dataclass(frozen=True)
class KernelParams:
    """One primitive with the layouts of its tensors.

    `values` holds what is known of the primitive's `value_inputs`: all of them once layouts are
    static, only the constants while the program is built; for `moves` also of its `useful_values`. `inputs` are the
    primitive's own; `tail_inputs` those of its tails, which have output 0's rank and sizes that are output 0's or 1.
    """

    primitive: Any
    inputs: tuple[Layout, ...]
    outputs: tuple[Layout, ...]
    capabilities: Capabilities
    values: Mapping[int, np.ndarray] = field(default_factory=dict)
    tail_inputs: tuple[Layout, ...] = ()

    @staticmethod
    def of(primitive: Primitive, inputs: tuple[Layout, ...], outputs: tuple[Layout, ...], capabilities: Capabilities,
           values: Mapping[int, np.ndarray]) -> KernelParams:
        """The parameters of a primitive with all its inputs, those of its tails included."""
        own = primitive.own_input_count
        return KernelParams(primitive, inputs[:own], outputs, capabilities, values, inputs[own:])

    @property
    def all_inputs(self) -> tuple[Layout, ...]:
        """The layouts of all the primitive's inputs, in its order."""
        return self.inputs + self.tail_inputs

    @property
    def is_static(self) -> bool:
        """Whether every layout is static."""
        return all(layout.is_static for layout in self.inputs + self.outputs + self.tail_inputs)


@dataclass(frozen=True)
class BufferRef:
    """A buffer of the primitive: its n-th input, output or scratch buffer; of an input that is images, the one of
    this picture of the batch."""

    kind: Literal["input", "output", "scratch"]
    index: int
    picture: int | None = None


@dataclass(frozen=True)
class Operand:
    """One buffer argument of a kernel: `macro` prefixes its macros, `view` is how it is indexed."""

    macro: str
    buffer: BufferRef
    view: TensorView


@dataclass(frozen=True)
class Dispatch:
    """Work sizes; `local_size` None lets the driver choose on GPUs and is 1 on CPUs."""

    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Formats:
    """The formats that a kernel wants for the primitive's inputs and outputs, in their order."""

    inputs: tuple[Format, ...]
    outputs: tuple[Format, ...]


def input_operand(params: KernelParams, index: int, view: TensorView | None = None) -> Operand:
    """INPUT<index>: input `index` under the given view, or under its layout's own."""
    return Operand(f"INPUT{index}", BufferRef("input", index), view or TensorView.of(params.inputs[index]))


def output_operand(params: KernelParams, index: int = 0, view: TensorView | None = None) -> Operand:
    """OUTPUT<index>: output `index` under the given view, or under its layout's own."""
    return Operand(f"OUTPUT{index}", BufferRef("output", index), view or TensorView.of(params.outputs[index]))


def scratch_operand(index: int, view: TensorView) -> Operand:
    """SCRATCH<index>: a scratch buffer of the kernel."""
    return Operand(f"SCRATCH{index}", BufferRef("scratch", index), view)


def all_operands(params: KernelParams) -> tuple[Operand, ...]:
    """Every input that is not a value input, then every output, under their layouts' own views."""
    hidden = params.primitive.value_inputs
    inputs = tuple(input_operand(params, i) for i in range(len(params.inputs)) if i not in hidden)
    return inputs + tuple(output_operand(params, i) for i in range(len(params.outputs)))


def planar_formats(params: KernelParams) -> Formats:
    """Every tensor in the planar format of its rank."""
    return Formats(tuple(Format.planar(x.rank) for x in params.inputs),
                   tuple(Format.planar(x.rank) for x in params.outputs))


def present_formats(params: KernelParams) -> Formats:
    """Every tensor in the format that it has: for kernels that index through GET_INDEX alone.

    Outputs take the format of the first input of the same rank.
    """
    def like(layout: Layout) -> Format:
        same = [x.format for i, x in enumerate(params.inputs)
                if x.rank == layout.rank and i not in params.primitive.value_inputs]
        return same[0] if same else Format.planar(layout.rank)
    return Formats(tuple(x.format for x in params.inputs), tuple(like(x) for x in params.outputs))


def always(params: KernelParams) -> str | None:
    """Supports everything."""
    return None


def nothing(params: KernelParams) -> dict[str, Any]:
    """No constants, no arguments."""
    return {}


@dataclass(frozen=True)
class Stage:
    """One kernel function of an implementation.

    `source` is the .cl file beside the room's table (or in `package`, for kernels that rooms share),
    `entry` the name given to KERNEL() in it.
    `operands` lists the buffer arguments in the order of the function's parameters. `constants`
    become macros; `arguments` become fields of the argument block, read as ARG_<NAME>, or macros of
    the same spelling when every layout is static at build time. With `bake` False the sizes, pitches
    and offsets of all operands are arguments, so that one build serves every shape.

    `tail_view` marks the stage that stores output 0 as one that applies tails (`include/tails.cl`): the view
    of the n-th tail input, stretched to the output's view, axis by axis. Without it, the primitive takes none.
    """

    source: str
    entry: str
    dispatch: Callable[[KernelParams], Dispatch]
    operands: Callable[[KernelParams], tuple[Operand, ...]] = all_operands
    constants: Callable[[KernelParams], Mapping[str, Constant]] = nothing
    arguments: Callable[[KernelParams], Mapping[str, int]] = nothing
    bake: bool = True
    package: str = ""
    tail_view: Callable[[KernelParams, int], TensorView] | None = None


class Move(NamedTuple):
    """What a stage does that does nothing but copy elements of one input to one output.

    `run`, where the elements are one run of bytes on both sides: where it starts in the input and in the output,
    and its length. None where they are not, or while shapes or values are unknown.
    """

    input: int
    output: int
    run: tuple[int, int, int] | None


@dataclass(frozen=True)
class KernelSpec:
    """One way to compute a primitive: stages in order, and when and how well it applies.

    `supports` gives None or the reason why not; it must hold for every shape the dynamic layouts
    admit. `check_shapes`, where present, decides again for static layouts; the next kernel in the
    selector's order that accepts them is launched instead. `score` orders what is supported (higher
    wins; reference kernels are 0). `scratch` gives the byte sizes of scratch buffers (static layouts).
    `moves` tells of each stage whether it is a `Move`, so that it can be left out where its tensors lie in one
    another's memory; all kernels of a table that share formats must tell the same.
    `type`: the implementation type, `ocl` unless a library brings the kernel (`kernels/library.py`).
    `writes_packed`: it is made for outputs of which two elements share a byte; others are never asked. `reads_images`:
    likewise for inputs that are images (`IMAGE_2D`).
    """

    name: str
    stages: tuple[Stage, ...] | Callable[[KernelParams], tuple[Stage, ...]]
    supports: Callable[[KernelParams], str | None] = always
    score: Callable[[KernelParams], float] = lambda params: 0.0
    formats: Callable[[KernelParams], Formats] = planar_formats
    check_shapes: Callable[[KernelParams], str | None] | None = None
    scratch: Callable[[KernelParams], tuple[int, ...]] = lambda params: ()
    moves: Callable[[KernelParams], tuple[Move | None, ...]] = lambda params: ()
    writes_packed: bool = False
    reads_images: bool = False
    type: str = OCL


def kernel_folder(stage: Stage, primitive: Primitive) -> str:
    """The package whose folder holds the stage's .cl file."""
    return stage.package or type(primitive).__module__.rpartition(".")[0]


def stages_of(spec: KernelSpec, params: KernelParams) -> tuple[Stage, ...]:
    """The stages of a kernel for one primitive."""
    return spec.stages(params) if callable(spec.stages) else spec.stages
