"""A compiled model as a blob: its program, and what its ports and settings need, without OpenVINO's objects."""
from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Container, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from clinfer.api.config import CompileConfig
from clinfer.api.ports import Ports, make_input, make_output, source_of
from clinfer.api.property_values import MAX_STREAMS
from clinfer.base import knobs
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, WrongTypeError
from clinfer.base.shape import Shape
from clinfer.frontend.conversions import element_type_of, ov_type, partial_shape_of, shape_of
from clinfer.frontend.host_operations import OpenVinoFunction, read_function
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.plans.saved_traces import SavedTraces, give_traces, take_traces
from clinfer.program.blobs.container import Blob, making_sense, refusal
from clinfer.program.blobs.programs import load_program, save_program
from clinfer.program.blobs.records import Special
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.runtime.mapped_file import MappedFile

_DEFAULTS = CompileConfig()
_NOT_SAVED = ("cache_dir", "encryption", "without_effect", "build_progress", "threads")


@dataclass(frozen=True)
class ModelParts:
    """What a compiled model is made of; see CompiledModel."""

    name: str
    program: Program
    ports: Ports
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    config: CompileConfig


@dataclass(frozen=True)
class SavedPort:
    """An input or output: its layer's name, its tensor names, what it holds, OpenVINO's layout as text, and the name of
    what an output reads."""

    layer: str
    names: tuple[str, ...]
    element_type: ElementType
    shape: Shape | None
    layout: str
    source: str = ""


@dataclass(frozen=True)
class SavedModel:
    """What a blob holds besides the program; `config` maps fields of CompileConfig to plain values, `traces` plan new
    shapes from the first inference on."""

    name: str
    inputs: tuple[SavedPort, ...]
    outputs: tuple[SavedPort, ...]
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    config: Mapping[str, object]
    traces: SavedTraces


def save_model_parts(parts: ModelParts, also_made_with: Mapping[str, str] | None = None) -> Blob:
    """The blob of a compiled model; `also_made_with` are further conditions for loading it again."""
    inputs = tuple(map(_saved_port, parts.ports.inputs))
    outputs = tuple(_saved_port(port, source_of(port)) for port in parts.ports.outputs)
    saved = SavedModel(parts.name, inputs, outputs, parts.input_names, parts.output_names, _saved_config(parts.config),
                       take_traces(parts.program))
    return save_program(parts.program, saved, {**_front_end(), **(also_made_with or {})}, (_host_functions(None),))


def load_model_parts(content: memoryview, engine: Engine, core: ov.Core,
                     also_made_with: Mapping[str, str] | None = None, mapped: MappedFile | None = None) -> ModelParts:
    """The compiled model of a blob; `core` knows the extensions whose operations run on the host, `mapped`: see
    `load_program`. Errors: ClinferError that says why the blob cannot be used."""
    program, saved = load_program(content, engine, {**_front_end(), **(also_made_with or {})},
                                  (_host_functions(core),), mapped)
    if not isinstance(saved, SavedModel):
        raise refusal("the compiled blob holds a program, but no model", {"it holds": type(saved).__name__})
    with making_sense():
        states = program.states
        read, written = {name for state in states for name in (state.input, state.table)}, {s.output for s in states}
        _check_ports(saved.inputs, saved.input_names, program.inputs.keys() - read)
        _check_ports(saved.outputs, saved.output_names, program.outputs.keys() - written)
        if knobs.traces_enabled():
            give_traces(program, saved.traces)
        ports = Ports(tuple(make_input(*_description(port)) for port in saved.inputs),
                      tuple(make_output(*_description(port), port.source) for port in saved.outputs))
        return ModelParts(saved.name, program, ports, saved.input_names, saved.output_names, _config(saved.config))


def _check_ports(ports: tuple[SavedPort, ...], names: tuple[str, ...], known: Container[str]) -> None:
    """Raise ValueError unless every port stands for an input or output of the program that is no state."""
    if len(ports) != len(names) or any(name not in known for name in names):
        raise ValueError(f"{len(ports)} ports stand for {', '.join(names):.100}")


def check_imported(compiled_with: CompileConfig, wanted: CompileConfig) -> None:
    """Raise if settings ask for what only compiling could give."""
    order = "" if wanted.execution_order == "in_order" else wanted.execution_order
    asked = {"INFERENCE_PRECISION_HINT": (wanted.wanted_precision, compiled_with.precision),
             "KV_CACHE_PRECISION": (wanted.cache_type, compiled_with.cache_type),
             "force_implementations": (dict(wanted.force_implementations), dict(compiled_with.force_implementations)),
             "execution_order": (order, compiled_with.execution_order)}
    different = {name: f"{here} is wanted, compiled with {there}" for name, (here, there) in asked.items()
                 if here and here != there}
    if different:
        raise ClinferError("the blob was compiled with other settings", where="import of a model", values=different,
                           hint="leave these settings out, or compile the model with them")


def blob_contents(source: Any) -> memoryview:
    """The bytes of a blob: in memory, in an openvino.Tensor, in an open binary stream (from where it stands; it is set
    back to there if it can be), or in a file, which is mapped into memory. Errors: ClinferError for anything else, or a
    file that is missing."""
    if isinstance(source, str | os.PathLike):
        return _mapped(Path(source))
    if isinstance(source, ov.Tensor):
        source = source.data
    elif hasattr(source, "read"):
        source = _read(source)
    try:
        return memoryview(source).cast("B")
    except TypeError:
        raise WrongTypeError("a compiled blob is given as bytes, a binary stream, a tensor or the path of a file",
                             where="import of a model", values={"given": type(source).__name__}) from None


def _read(stream: Any) -> Any:
    is_seekable = hasattr(stream, "seekable") and stream.seekable()
    begin = stream.tell() if is_seekable else 0
    content = stream.read()
    if is_seekable:
        stream.seek(begin)
    return content


def write_blob(stream: Any, blob: Blob) -> None:
    """Write a blob into a binary stream and set it back to its beginning, if it can be."""
    try:
        for chunk in blob:
            stream.write(chunk)
        stream.flush()
        if stream.seekable():
            stream.seek(0)
    except (AttributeError, TypeError) as error:
        raise WrongTypeError("a model is exported into a binary stream", where="export",
                             values={"given": type(stream).__name__, "because": error},
                             hint="open a file with 'wb', or take the stream that export_model() returns") from None


def _mapped(path: Path) -> memoryview:
    try:
        known = path.stat()
        if not stat.S_ISREG(known.st_mode):
            raise OSError("it is no ordinary file")
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if known.st_size else b"")
    except (OSError, ValueError) as error:
        because = getattr(error, "strerror", None) or error
        raise ClinferError("the file of the compiled blob cannot be read", where="import of a model",
                           values={"file": path, "because": because}, hint="check the path") from None


def _host_functions(core: ov.Core | None) -> Special:
    """How blobs hold operations of the host: as models of one operation. `core` reads them."""
    return Special(OpenVinoFunction, lambda function: function.serialized(), partial(read_function, core))


def _front_end() -> dict[str, str]:
    """OpenVINO decides what a model becomes before clinfer sees it."""
    return {"OpenVINO": ov.get_version()}


def _saved_port(port: ov.Output, source: str = "") -> SavedPort:
    node = port.get_node()
    return SavedPort(node.get_friendly_name(), tuple(sorted(port.get_names())),
                     element_type_of(port.get_element_type(), f"port {node.get_friendly_name()!r}"),
                     shape_of(port.get_partial_shape()), ov.layout_helpers.get_layout(port).to_string(), source)


def _description(port: SavedPort) -> tuple[ov.Type, ov.PartialShape, str, tuple[str, ...], ov.Layout]:
    return ov_type(port.element_type), partial_shape_of(port.shape), port.layer, port.names, ov.Layout(port.layout)


def _saved_config(config: CompileConfig) -> dict[str, object]:
    """The fields as plain values; OpenVINO's enums by the names of their members."""
    values = {field.name: getattr(config, field.name) for field in fields(config) if field.name not in _NOT_SAVED}
    return {name: value.name if hasattr(value, "__members__") else value for name, value in values.items()}


def _config(saved: Mapping[str, object]) -> CompileConfig:
    """The reverse; TypeError, LookupError or ValueError for what no configuration holds."""
    values: dict[str, Any] = {}
    for name, value in saved.items():
        kind = type(getattr(_DEFAULTS, name))
        members = getattr(kind, "__members__", None)
        values[name] = value if members is None else members[value]
        if not isinstance(values[name], kind):
            raise TypeError(f"{name} is {type(value).__name__}, not {kind.__name__}")
        if isinstance(value, int) and value < 0:
            raise ValueError(f"{name} is {value}")
    config = CompileConfig(**values)
    if config.streams > MAX_STREAMS:
        raise ValueError(f"there are {config.streams} streams")
    return config
