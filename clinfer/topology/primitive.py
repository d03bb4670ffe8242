"""The primitive: one operation of a topology, immutable, with the traits that other stages ask."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.layout import NO_PADDING, Padding
from clinfer.base.part import Part
from clinfer.base.shape import Shape, StaticShape
from clinfer.base.shape_inference import OpSignature, Values


@dataclass(frozen=True)
class Port:
    """One output of a primitive."""

    primitive: str
    index: int = 0

    @staticmethod
    def of(reference: str | Port) -> Port:
        """A port from itself or from a primitive's id (its output 0)."""
        return reference if isinstance(reference, Port) else Port(reference)

    def __str__(self) -> str:
        return self.primitive if self.index == 0 else f"{self.primitive}:{self.index}"


@dataclass(frozen=True)
class Before:
    """The host's result as it was before its n-th fused operation."""

    fused: int


@dataclass(frozen=True)
class FusedOp:
    """A primitive whose work another one, its host, does on each element of its result before it stores it.

    `operands`: what it reads, in its order; None is the host's result so far, `Before` an earlier one, a number an
    input of the host.
    """

    primitive: Primitive
    operands: tuple[int | Before | None, ...]

    @property
    def inputs_read(self) -> tuple[int, ...]:
        """The inputs of the host among the operands."""
        return tuple(operand for operand in self.operands if isinstance(operand, int))

    def output_type(self, results: Sequence[ElementType], types: Sequence[ElementType]) -> ElementType:
        """Of the results before each fused operation so far, and of the host's inputs."""
        kind, = self.primitive.output_types(self.types(results, types))
        return kind

    def types(self, results: Sequence[ElementType], types: Sequence[ElementType]) -> tuple[ElementType, ...]:
        """The types of the operands, given those of the results before each fused operation so far, and of the host's
        inputs."""
        return tuple(results[-1] if x is None else results[x.fused] if isinstance(x, Before) else types[x]
                     for x in self.operands)


@dataclass(frozen=True)
class Primitive:
    """One operation: an id, the ports it reads, the padding of its outputs, and its attributes.

    Subclasses add one field per attribute, under OpenVINO's attribute names, and override the
    traits below where they differ. `origin` is the name of the model's layer. `fused_ops` are applied to
    output 0, in order; what they read stands behind the primitive's own inputs.
    """

    id: str
    inputs: tuple[Port, ...] = ()
    output_padding: Padding = NO_PADDING
    origin: str = ""
    fused_ops: tuple[FusedOp, ...] = ()

    op_type: ClassVar[str] = ""
    opset: ClassVar[str] = "opset1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(Port.of(i) for i in self.inputs))

    # -- traits ---------------------------------------------------------------------------------

    @property
    def output_count(self) -> int:
        """How many outputs there are."""
        return 1

    @property
    def stored_format(self) -> Format | None:
        """The format in which its outputs come to be; None: one that its kernels choose."""
        return None

    @property
    def value_inputs(self) -> tuple[int, ...]:
        """Inputs whose values shape inference or the host must know before the primitive can run.

        They are read on the host and never passed to a kernel as buffers.
        """
        return ()

    @property
    def useful_values(self) -> tuple[int, ...]:
        """Inputs that kernels read, but whose values, where they are a few integers that the host knows anyway, may
        spare work (`kernels/contract.py`, `Stage.move`)."""
        return ()

    @property
    def data_dependent_output(self) -> bool:
        """Whether the output shapes are known only after the primitive has run."""
        return self.computed_on_host

    @property
    def computed_on_host(self) -> bool:
        """Whether `evaluate` computes the primitive whenever it runs, from data that is read from the device.

        It is for long lists of decisions about little data, whose results have shapes that data decides.
        """
        return False

    @property
    def reinterprets_input(self) -> bool:
        """Whether the output is input 0's memory under another shape (dense planar layouts only)."""
        return False

    @property
    def only_moves(self) -> bool:
        """Whether each element of the only output is one of input 0, and only its place depends on the other inputs."""
        return self.reinterprets_input

    @property
    def weights_input(self) -> int | None:
        """The input that holds weights, which a kernel may want in a format of its own."""
        return None

    @property
    def channel_axis(self) -> int | None:
        """The output axis whose elements share all weights among them; None: the time that the weights take need not
        be known, since no kernels compete on other formats."""
        return None

    @property
    def bias_axis(self) -> int | None:
        """The output axis along which one more input may add a value per element; None: takes none."""
        return None

    def with_factor(self, data: Port, factor: Port) -> Primitive | None:
        """The primitive on other data, each channel of which (axis 1) it multiplies with a factor, [B or 1, C, 1...];
        None: it does not do that. Outside of the data it sees zeros all the same."""
        return None

    def on_reordered(self, order: tuple[int, ...], shape: Shape, values: Values) -> Mapping[int, np.ndarray] | None:
        """How it gives the same result, axis `order[i]` of it at i, on data (input 0, of that shape) whose axes stand
        in that order: the inputs that are other constants then. None: it cannot, or is none the better for it."""
        return None

    def with_output_type(self, kind: ElementType) -> Primitive | None:
        """The primitive with its results converted to another type before they are stored; None: it stores its own."""
        return None

    @property
    def takes_fused_ops(self) -> bool:
        """Whether its kernels can apply fused operations before they store output 0, the only one."""
        return False

    @property
    def fused_ops_stretch(self) -> bool:
        """Whether its kernels stretch its own inputs to the output's shape, so that what fused operations read may
        enlarge it.

        Its shape rule is then given the shapes of what fused operations read as well.
        """
        return False

    def fused_text(self, types: tuple[ElementType, ...]) -> str | None:
        """The primitive as an OpenCL C expression of its inputs, which have these types; None: it is no fused
        operation.

        The inputs are called a, b, c, d, e. They and the result are all of type T, a float or a vector of floats.
        """
        return None

    def as_part(self, output: int, shape: Shape, values: Values) -> Part | None:
        """An output as a part of input 0, which has this shape; None: it is none, or not for certain.

        `values`: those inputs of which the values are known."""
        return None

    @property
    def is_heavy(self) -> bool:
        """Whether it takes so much of a model's time that kernels made for the shapes at hand are worth a trial."""
        return False

    @property
    def aligned_axis(self) -> int | None:
        """An axis, from the end, of input 0 and output 0 along which neighbouring sizes are best served by the
        same kernels; None: there is none."""
        return None

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The topologies that the primitive may run inside (`SourceBody`), for If and loops."""
        return ()

    @property
    def can_evaluate(self) -> bool:
        """Whether `evaluate` computes the primitive on the host (small shape arithmetic)."""
        return False

    @property
    def reads_shapes_only(self) -> bool:
        """Whether the result depends on the shapes of the inputs alone (ShapeOf)."""
        return False

    def body_to_run(self, values: Values) -> int:
        """Which of `bodies` runs, given the values of the value inputs."""
        raise ClinferError(f"{type(self).__name__} has no bodies", where=self.where)

    def run_limit(self, values: Values) -> int | None:
        """How often a body that is a loop runs at most, given the values of the value inputs; None: no limit."""
        return None

    # -- behaviour ------------------------------------------------------------------------------

    @cached_property
    def own_input_count(self) -> int:
        """How many inputs the primitive has without its fused operations."""
        return len(self.inputs) - len({i for fused in self.fused_ops for i in fused.inputs_read})

    @property
    def shape_input_count(self) -> int:
        """How many of the first inputs the shape rule is given."""
        return len(self.inputs) if self.fused_ops_stretch else self.own_input_count

    def stored_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        """The element type of each output behind the fused operations."""
        if not self.fused_ops:
            return self.output_types(input_types)
        first, *others = self.output_types(input_types[:self.own_input_count])
        results = [first]
        for fused in self.fused_ops:
            results.append(fused.output_type(results, input_types))
        return (results[-1], *others)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        """The element type of each output."""
        return (input_types[0],) * self.output_count

    def signature(self) -> OpSignature | None:
        """The OpenVINO operation whose shape rule is this primitive's; None: `infer_shapes` is."""
        return OpSignature(self.op_type, self.opset, attributes_of(self))

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        """The primitive's own shape rule, used where `signature` is None."""
        raise ClinferError(f"{type(self).__name__} has neither a shape rule nor an OpenVINO signature",
                           where=self.where)

    def named_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        """What the shape rule of `signature` gives, where it can tell more of the names of dimensions; else None."""
        return None

    def static_shapes(self, shapes: tuple[StaticShape, ...], values: Values) -> tuple[StaticShape, ...] | None:
        """What the shape rule of `signature` gives for static shapes, by arithmetic alone; None: the rule is asked.

        It runs on symbols in place of numbers (`base/symbols.py`), among them those in arrays of dtype object. Where
        the rule might refuse the shapes, it gives None.
        """
        return None

    def axes_of_one(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[int, ...]:
        """The axes of input 0 that must have size 1, as far as they are known."""
        return ()

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        """Raise ClinferError for inputs that the shape rule takes although no result can be computed from them.

        `outputs`: what the shape rule gave; nothing for what is `computed_on_host`, which is asked before each
        evaluation. Of kernels and views it is asked for each new shape, and runs on symbols too, see `static_shapes`.
        """

    def open_shapes(self, shapes: tuple[Shape | None, ...]) -> tuple[Shape | None, ...]:
        """What the shapes of the inputs alone tell of the output shapes, where the shape rule leaves a rank open."""
        return (None,) * self.output_count

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        """The outputs computed with NumPy from the input values; input values not read may be empty."""
        raise ClinferError(f"{type(self).__name__} cannot be evaluated on the host", where=self.where)

    @property
    def where(self) -> str:
        """How errors name this primitive."""
        layer = f" (layer {self.origin!r})" if self.origin and self.origin != self.id else ""
        return f"{type(self).__name__} {self.id!r}{layer}"


_BASE_FIELDS = {f.name for f in fields(Primitive)}


def attributes_of(primitive: Primitive) -> tuple[tuple[str, Any], ...]:
    """The attributes (fields beyond the common ones) as (name, value) pairs."""
    return tuple((f.name, getattr(primitive, f.name)) for f in fields(primitive) if f.name not in _BASE_FIELDS)
