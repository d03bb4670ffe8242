"""Models whose ranks are known only when inputs are given: compiled for ranks when they are first seen."""
from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from clinfer.api.arrays import GivenInput
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.config import CompileConfig
from clinfer.api.ports import Ports, describe_all
from clinfer.api.saved_model import ModelParts
from clinfer.api.stream_pool import StreamPool
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, OpenRankError, UnsupportedError
from clinfer.base.shape import ANY, Dim, Shape, Size, StaticShape, show
from clinfer.frontend.conversions import OPENVINO_ERRORS, element_type_of, partial_shape_of, reason_of, shape_of
from clinfer.frontend.host_operations import HostOperations
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.states import has_states, read_source
from clinfer.network.compile import refusals
from clinfer.network.reports.profiling import NodeProfile
from clinfer.network.reports.timeline import Timeline
from clinfer.ops.operation import Converter
from clinfer.remote.context import RemoteContext
from clinfer.runtime.engine import Engine
from clinfer.topology import State

MODELS_KEPT = 16
"""How many compiled forms of a model are kept, least recently used out first."""
_MOST_AXES = 8
"""More integers than that, in a vector or along a last axis, name no axes, sizes or coordinates."""

_Key = tuple[Shape, ...]
_Fix = Callable[[Shape | None, ElementType, StaticShape], Shape]


def fix_rank(declared: Shape | None, kind: ElementType, shape: StaticShape) -> Shape:
    """What is declared, with the rank of a shape."""
    return (ANY,) * len(shape) if declared is None else declared


def fix_length(declared: Shape | None, kind: ElementType, shape: StaticShape) -> Shape:
    """The same, and the length of an integer vector: it may list the sizes or axes of a tensor."""
    names_axes = len(shape) == 1 and not kind.is_float and shape[0] <= _MOST_AXES
    return shape if names_axes else fix_rank(declared, kind, shape)


def fix_width(declared: Shape | None, kind: ElementType, shape: StaticShape) -> Shape:
    """The same, and the last size of integers: they may be coordinates, one for each axis of a tensor."""
    fixed = fix_length(declared, kind, shape)
    return (*fixed[:-1], shape[-1]) if shape and not kind.is_float and shape[-1] <= _MOST_AXES else fixed


def fix_ones(declared: Shape | None, kind: ElementType, shape: StaticShape) -> Shape:
    """The same, and which sizes are 1 (or 0): they may be squeezed out."""
    fixed = fix_width(declared, kind, shape)
    return tuple(_at_least_two(size, given) for size, given in zip(fixed, shape, strict=True))


def fix_sizes(declared: Shape | None, kind: ElementType, shape: StaticShape) -> Shape:
    """All sizes."""
    return shape


FIXES: tuple[_Fix, ...] = (fix_rank, fix_length, fix_width, fix_ones, fix_sizes)
"""How much of the inputs' shapes a program is compiled for: as little as lets every rank follow."""


def _at_least_two(size: Size, given: int) -> Size:
    if isinstance(size, int) or given < 2:
        return given
    return given if size.high <= 2 else Dim(max(size.low, 2), size.high)


class _Interrupted(Exception):
    """Who was making a form was interrupted."""


class OpenRankModel(CompiledModel):
    """A compiled model in several forms, each for certain ranks. The inference that sees ranks for the first time
    compiles; others that have a form of theirs go on meanwhile.

    What it tells of its program is that of the form that ran last.
    """

    def __init__(self, model: ov.Model, context: RemoteContext, config: CompileConfig,
                 compile_model: Callable[[ov.Model], CompiledModel]) -> None:
        self._set_up(model.get_friendly_name(), context, Ports.of(model), config)
        if has_states(model):
            raise UnsupportedError("a model with variable states whose ranks are open is not supported",
                                   where=self._where, values={"inputs": describe_all(self.ports.inputs)},
                                   hint="give the inputs ranks with model.reshape")
        try:
            self._model = model.clone()
        except OPENVINO_ERRORS as error:
            raise ClinferError("OpenVINO cannot copy the model", where=self._where,
                               values={"OpenVINO says": reason_of(error)}) from None
        self._compile_model = compile_model
        self._declared = [(shape_of(port.get_partial_shape()),
                           element_type_of(port.get_element_type(), f"input {number}"))
                          for number, port in enumerate(model.inputs)]
        self._fix = 0
        self._forms: OrderedDict[_Key, Future[CompiledModel]] = OrderedDict()
        self._last: CompiledModel | None = None
        self._lock = threading.Lock()

    @property
    def surfaces(self) -> frozenset[int]:
        """None: images have four axes."""
        return frozenset()

    @property
    def states(self) -> tuple[State, ...]:
        """None: how they are stored is decided when the model is compiled."""
        return ()

    def for_inputs(self, inputs: Sequence[GivenInput]) -> CompiledModel:
        """The form for prepared inputs, compiled now if there is none yet."""
        shapes = tuple(slot.shape for slot in inputs)
        while True:
            fix = self._fix
            try:
                self._last = found = self._form(self._key(fix, shapes))
                return found
            except OpenRankError:
                if fix + 1 == len(FIXES):
                    raise
                self._fix = max(self._fix, fix + 1)

    def _key(self, fix: int, shapes: tuple[StaticShape, ...]) -> _Key:
        return tuple(FIXES[fix](declared, kind, shape)
                     for (declared, kind), shape in zip(self._declared, shapes, strict=True))

    def _form(self, key: _Key) -> CompiledModel:
        own: Future[CompiledModel] = Future()
        try:
            while (form := self._form_or(own, key)) is not own:
                try:
                    return form.result()
                except _Interrupted:
                    continue
            own.set_result(self._compile_model(self._reshaped(key)))
        except BaseException as error:
            with self._lock:
                if self._forms.get(key) is own:
                    del self._forms[key]
            if not own.done():
                own.set_exception(error if isinstance(error, Exception) else _Interrupted())
            raise
        return own.result()

    def _form_or(self, own: Future[CompiledModel], key: _Key) -> Future[CompiledModel]:
        """The form of a key, which this thread is to make if it is its own."""
        with self._lock:
            form = self._forms.setdefault(key, own)
            self._forms.move_to_end(key)
            if len(self._forms) > MODELS_KEPT:
                self._forms.popitem(last=False)
            return form

    def _reshaped(self, key: _Key) -> ov.Model:
        with self._lock:
            model = self._model.clone()
        try:
            model.reshape({number: partial_shape_of(shape) for number, shape in enumerate(key)})
        except OPENVINO_ERRORS as error:
            raise ClinferError("the model does not take inputs of these ranks", where=self._where, values={
                "inputs": describe_all(self.ports.inputs), "given": ", ".join(map(show, key)),
                "OpenVINO says": reason_of(error)}) from None
        return model

    # -- what the form that ran last tells ------------------------------------------------------

    @property
    def _latest(self) -> CompiledModel:
        if self._last is None:
            raise ClinferError("what the model becomes depends on the ranks of its inputs, and none were given yet",
                               where=self._where, values={"inputs": describe_all(self.ports.inputs)},
                               hint="run an inference first, or give the inputs static ranks with model.reshape")
        return self._last

    @property
    def parts(self) -> ModelParts:
        return self._latest.parts

    @property
    def pool(self) -> StreamPool:
        return self._latest.pool

    @property
    def profile(self) -> tuple[NodeProfile, ...]:
        return self._latest.profile

    @property
    def timeline(self) -> Timeline:
        return self._latest.timeline

    @property
    def host_waits(self) -> tuple[str, ...]:
        """See CompiledModel; none are known before the first inference."""
        return () if self._last is None else self._last.host_waits

    def export_model(self, model_stream: Any = None) -> io.BytesIO | None:
        """Always an error: what the model becomes is not settled."""
        raise ClinferError("a model whose ranks are open cannot be exported", where=self._where,
                           values={"inputs": describe_all(self.ports.inputs)},
                           hint="give the inputs static ranks with model.reshape before compiling it")

    def release_memory(self) -> None:
        """See CompiledModel; of every form."""
        with self._lock:
            forms = [form for form in self._forms.values() if form.done() and form.exception() is None]
        for form in forms:
            form.result().release_memory()


def is_open(model: ov.Model) -> bool:
    """Whether an input's rank is known only at run time."""
    return any(port.get_partial_shape().rank.is_dynamic for port in model.inputs)


def check_ranks_follow(engine: Engine, model: ov.Model, precision: str, host: HostOperations | None,
                       converters: Mapping[str, Converter]) -> None:
    """Raise ClinferError where tensors of a model, whose inputs have ranks, would have none for any shapes. `host`,
    `converters`: see `to_topology`.

    It is tried with one set of shapes: open vectors of integers of one element, and all other open sizes 2, or the
    least that they may be.
    """
    sample = model.clone()
    try:
        sample.reshape({number: partial_shape_of(_sample(port)) for number, port in enumerate(model.inputs)})
        topology = read_source(sample, precision, host, converters).topology
    except (ClinferError, RuntimeError):
        return
    refused = refusals(engine, [("", topology)], OpenVinoShapeInference()).get("")
    if isinstance(refused, OpenRankError):
        raise ClinferError("the rank of a tensor depends on data", where=refused.where,
                           hint="export the model with a fixed rank there")


def _sample(port: ov.Output) -> Shape:
    declared, kind = shape_of(port.get_partial_shape()), element_type_of(port.get_element_type(), "input")
    assert declared is not None
    given = tuple(max(2, size.low) if isinstance(size, Dim) else size for size in declared)
    return (1,) if len(given) == 1 and not kind.is_float and given != declared else given
