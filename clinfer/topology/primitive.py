"""The primitive: one operation of a topology, immutable, with the traits that other stages ask."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.host_function import Evaluate, HostFunction
from clinfer.base.layout import NO_PADDING, Layout, Padding
from clinfer.base.part import Part
from clinfer.base.shape import Shape, StaticShape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology.body_results import BodyResult

P = TypeVar("P", bound="Primitive")


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
    own_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that OpenVINO's operation of that type does not have as attributes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(Port.of(i) for i in self.inputs))

    # -- traits ---------------------------------------------------------------------------------

    @property
    def output_count(self) -> int:
        """How many outputs there are."""
        return 1

    @property
    def value_inputs(self) -> tuple[int, ...]:
        """Inputs whose values shape inference or the host must know before the primitive can run.

        They are read on the host and never passed to a kernel as buffers.
        """
        return ()

    @property
    def partial_values(self) -> tuple[int, ...]:
        """Those of them of which the shape rule also takes what is known of their elements: arrays of dtype object, in
        which an element that is not known is None."""
        return ()

    @property
    def useful_values(self) -> tuple[int, ...]:
        """Inputs that kernels read, but whose values, where they are a few integers that the host knows anyway, may
        spare work (`kernels/contract.py`, `Stage.moves`)."""
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
    def picked_inputs(self) -> tuple[int, ...]:
        """The inputs of whose elements each element of all outputs is one, whatever other inputs hold; (): none such.

        What is stored of them, and how, is what is stored of the outputs."""
        return (0,) if self.only_moves else ()

    @property
    def weights_input(self) -> int | None:
        """The input that holds weights, which a kernel may want in a format of its own."""
        return None

    @property
    def bias_axis(self) -> int | None:
        """The output axis along which one more input may add a value per element; None: takes none."""
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

    @property
    def rounds(self) -> bool:
        """Whether its result is to be rounded to its type even where fused operations read it before it is stored."""
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

    def trial_inputs(self, inputs: Sequence[Layout], any_numbers: Callable[[int], np.ndarray],
                     ) -> Mapping[int, np.ndarray]:
        """What static inputs hold in a trial of kernels, by index, where it cannot be any numbers because kernels rely
        on what it means; `any_numbers` gives those that an input holds else."""
        return {}

    @property
    def aligned_axis(self) -> int | None:
        """An axis, from the end, of input 0 and output 0 along which neighbouring sizes are best served by the
        same kernels; None: there is none."""
        return None

    @property
    def stands_for(self) -> tuple[HostFunction | None, tuple[int, ...]] | None:
        """The operation of another engine of which the primitive is made, and which of the inputs that one has; None:
        of no such."""
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

    def with_results(self, results: Sequence[Mapping[str, BodyResult]]) -> Primitive:
        """The primitive that has `bodies`, with what is known of the results of each of them, by their names."""
        return self

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

    def with_more_inputs(self: P, *ports: Port) -> P:
        """The primitive with further inputs of its own behind those that it has."""
        own = self.own_input_count
        fused_ops = tuple(replace(fused, operands=tuple(
            i + len(ports) if isinstance(i, int) else i for i in fused.operands)) for fused in self.fused_ops)
        return replace(self, inputs=(*self.inputs[:own], *ports, *self.inputs[own:]), fused_ops=fused_ops)

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
        return (input_types[0] if self.picked_inputs else input_types[0].computed,) * self.output_count

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        """The shape rule: output shapes for the shapes of the inputs and those values of `value_inputs` that are known;
        None where it does not tell, and OpenVINO's rule of the operation is to be asked (`topology/shape_rules.py`).

        Sizes are numbers, symbols that stand for numbers (`symbolic/symbols.py`), among them those in arrays of dtype
        object, or open (`Dim`), with a name or without. All three can be calculated with; what is decided of an open
        size must hold whatever it turns out to be. Errors: ClinferError for shapes that the operation does not take.
        """
        return None

    def axes_of_one(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[int, ...]:
        """The axes of input 0 that must have size 1, as far as they are known."""
        return ()

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        """Raise ClinferError for inputs that the shape rule takes although no result can be computed from them.

        `outputs`: what the shape rule gave; nothing for what is `computed_on_host`, which is asked before each
        evaluation. Of kernels and views it is asked for each new shape, and runs on symbols too, see `infer_shapes`.
        """

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        """The outputs computed with NumPy from the input values; input values not read may be empty."""
        raise ClinferError(f"{type(self).__name__} cannot be evaluated on the host", where=self.where)

    def evaluator(self) -> Evaluate:
        """What computes, for one network, a primitive that is `computed_on_host`; its results are valid until it is
        called again."""
        return lambda values: self.evaluate(values, tuple(value.shape for value in values))

    @property
    def where(self) -> str:
        """How errors name this primitive."""
        layer = f" (layer {self.origin!r})" if self.origin and self.origin != self.id else ""
        return f"{type(self).__name__} {self.id!r}{layer}"


_BASE_FIELDS = {f.name for f in fields(Primitive)}


def attributes_of(primitive: Primitive) -> tuple[tuple[str, Any], ...]:
    """The attributes (fields beyond the common ones) as (name, value) pairs."""
    return tuple((f.name, getattr(primitive, f.name)) for f in fields(primitive) if f.name not in _BASE_FIELDS)
