"""The entry: devices, reading models, compiling them."""
from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from clinfer.api.absent import NO_PLUGINS
from clinfer.api.arguments import only
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.compiling import compile_parts, compile_read_model, keeps_blobs
from clinfer.api.config import SETTABLE, CompileConfig, PerformanceMode
from clinfer.api.custom_operations import converters_of, registered_kernels
from clinfer.api.device_choice import (
    DeviceNames,
    choose_device,
    devices_of,
    is_meant,
    listed_devices,
    settings_for,
)
from clinfer.api.device_properties import properties_of
from clinfer.api.model_cache import ModelCache, identify_files
from clinfer.api.open_ranks import OpenRankModel
from clinfer.api.property_values import read_switch
from clinfer.api.query import supported_layers
from clinfer.api.saved_model import blob_contents, check_imported, load_model_parts
from clinfer.api.several_devices import SeveralDevices
from clinfer.base.collector import collects_later
from clinfer.base.errors import ClinferError, OpenRankError, WrongTypeError
from clinfer.base.one_of_a_kind import OneOfAKind
from clinfer.frontend.conversions import reason_of
from clinfer.frontend.host_operations import HostOperations
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reading import Reader, read_model
from clinfer.remote.context import ClContext, RemoteContext
from clinfer.remote.described_contexts import make_context
from clinfer.runtime.cores import bound_on_threads
from clinfer.runtime.device import DeviceInfo, available_devices
from clinfer.runtime.engine import Engine


@dataclass(frozen=True)
class Version:
    """The version of what drives a device."""

    build_number: str
    description: str

    @property
    def major(self) -> int:
        """The first number in `build_number`; 0 if there is none."""
        return self._number(0)

    @property
    def minor(self) -> int:
        """The second."""
        return self._number(1)

    @property
    def patch(self) -> int:
        """The third."""
        return self._number(2)

    def _number(self, place: int) -> int:
        numbers = re.findall(r"\d+", self.build_number)
        return int(numbers[place]) if place < len(numbers) else 0


class Core(OneOfAKind):
    """OpenVINO's Core over the OpenCL devices of this machine; safe for use by several threads.

    It stands beside openvino.Core, not below it: what is not here does not exist, instead of answering for
    OpenVINO's own devices. Each device is opened once per Core, when it is first needed.
    """

    register_plugin = register_plugins = NO_PLUGINS

    def __init__(self, xml_config_file: Any = "") -> None:
        if xml_config_file:
            raise ClinferError("clinfer has no plugins, and no files that list them", where="Core",
                               values={"xml_config_file": xml_config_file}, hint=NO_PLUGINS.instead)
        self._reader = Reader()
        self._is_extended = False
        self._engines: dict[tuple[str, int, int], Engine] = {}
        self._contexts: dict[str, tuple[CompileConfig, ClContext]] = {}
        self._defaults: dict[str, CompileConfig] = {}
        self._common = CompileConfig()
        self._lock = threading.RLock()

    # -- models ---------------------------------------------------------------------------------

    def read_model(self, model: Any, weights: Any = None, config: dict[str, Any] | None = None) -> ov.Model:
        """The model in a file (`weights`: the file beside it, if it has another name) or in memory
        (bytes, a stream, or the text of an IR; `weights` as bytes, stream or tensor).

        An openvino.Model is handed back.
        """
        if isinstance(model, ov.Model):
            return model
        if isinstance(model, str) and isinstance(weights, bytes | ov.Tensor):
            model = model.encode()
        config = {"ENABLE_MMAP": self._common.map_files, **(config or {})}
        mends = read_switch("mend_onnx", config.pop("mend_onnx", self._common.mend_onnx))
        return read_model(self._reader, model, weights, config, mends)

    def add_extension(self, extension: Any = None, *, extensions: Any = None, library_path: Any = None,
                      custom_op: Any = None) -> None:
        """Let models hold the operations of an extension, of several, of a library (its path), or of an openvino.Op
        class."""
        given = only("add_extension", extension=extension, extensions=extensions, library_path=library_path,
                     custom_op=custom_op)
        try:
            self._reader.add_extension(given)
        except (RuntimeError, TypeError) as error:
            kind = WrongTypeError if isinstance(error, TypeError) else ClinferError
            raise kind("OpenVINO cannot add this extension", where="Core",
                       values={"given": repr(given), "OpenVINO says": reason_of(error)}) from None
        self._is_extended = True

    @collects_later
    def compile_model(self, model: Any, device_name: str | RemoteContext | None = None,
                      config: dict[str, Any] | None = None, *, weights: Any = None) -> CompiledModel:
        """Make a model, or the model in a file or in memory, ready for a device (default: AUTO), or for a remote
        context: then it works on tensors of that context, and in its queue if it was made from one.

        The model stays as it is. `config`: see SUPPORTED_PROPERTIES; it wins over `set_property`. For several devices
        (`AUTO:GPU,CPU`) with PERFORMANCE_HINT CUMULATIVE_THROUGHPUT it is made ready for each, see `SeveralDevices`.
        """
        devices = self._devices_to_fill(device_name, config or {})
        if len(devices) > 1:
            model = self.read_model(model, weights)
            return SeveralDevices([self.compile_model(model, device.name, config) for device in devices])
        context, settings = self._where_to_run(device_name or "AUTO", config or {})
        engine = context.engine
        settings = replace(settings, precision=_precision(settings, engine), registered=registered_kernels())

        @cache
        def read() -> ov.Model:
            if isinstance(model, ov.Model):
                return _validated(model)
            return self.read_model(model, weights, {"ENABLE_MMAP": settings.map_files,
                                                    "mend_onnx": settings.mend_onnx})

        try:
            # What extensions make of a file, the file does not tell.
            source = None if self._is_extended else identify_files(model, weights)
            if source is not None and keeps_blobs(settings):
                parts, is_cached = ModelCache(engine, settings, self._reader).load_or_compile(
                    source, None, lambda: compile_parts(engine, read(), settings, self._reader))
                return CompiledModel(parts, context, is_cached)
            return compile_read_model(context, settings, self._reader, read())
        except OpenRankError:
            return OpenRankModel(read(), context, settings,
                                 partial(compile_read_model, context, settings, self._reader))

    def _devices_to_fill(self, name: str | RemoteContext | None, config: dict[str, Any]) -> tuple[DeviceInfo, ...]:
        """The listed devices that inferences are to be spread over; empty where one is enough."""
        if not isinstance(name, str) or not name.startswith("AUTO:"):
            return ()
        device = choose_device(name)
        settings = self._config_of(device).updated(settings_for(device, config))
        return listed_devices(name) if settings.performance_hint == PerformanceMode.CUMULATIVE_THROUGHPUT else ()

    def _where_to_run(self, where: str | RemoteContext, config: dict[str, Any]) -> tuple[RemoteContext, CompileConfig]:
        """The context of a device's name, or the one that is given, and the settings that hold there."""
        context = where if isinstance(where, RemoteContext) else None
        device = choose_device(str(where)) if context is None else context.engine.device
        settings = self._config_of(device).updated(settings_for(device, config))
        if context is None:
            return self._context(device, settings), settings
        check_queue(context, settings)
        return context, settings

    @collects_later
    def import_model(self, model_stream: Any, device_name: str | RemoteContext,
                     config: dict[str, Any] | None = None) -> CompiledModel:
        """The compiled model of a blob that `CompiledModel.export_model` made: bytes, a binary stream, a tensor,
        or the path of a file.

        It runs with the settings that it was compiled with; `config` changes those that decide how it is run.
        Errors: ClinferError for a blob of another clinfer, OpenVINO, device or driver, a damaged one, and
        settings that it was not compiled for.
        """
        context, settings = self._where_to_run(device_name, config or {})
        own, encryption = settings_for(context.engine.device, config or {}), settings.encryption
        content = blob_contents(model_stream)
        parts = load_model_parts(content if encryption is None else encryption.decrypted(content), context.engine,
                                 self._reader)
        check_imported(parts.config, CompileConfig().updated(own))
        parts = replace(parts, config=replace(
            parts.config, encryption=encryption, threads=settings.threads).updated(own))
        check_queue(context, parts.config)
        return CompiledModel(parts, context)

    def query_model(self, model: ov.Model, device_name: str = "AUTO",
                    config: dict[str, Any] | None = None) -> dict[str, str]:
        """The layers of a model that run, each with the device's name, or with "HOST" where OpenVINO computes it on the
        host; see `query.supported_layers`."""
        device = choose_device(device_name)
        settings = self._config_of(device).updated(settings_for(device, config or {}))
        engine = self._open(device, settings)
        precision = _precision(settings, engine)
        name = device_name if is_meant(device_name, device) else device.name
        host = HostOperations(self._reader) if settings.host_fallback else None
        converters = converters_of(replace(settings, registered=registered_kernels()))
        return {layer: "HOST" if by_host else name
                for layer, by_host in supported_layers(engine, _checked(model), precision, host, converters).items()}

    def engine(self, device_name: str) -> Engine:
        """The opened device of a name; opened at the first call."""
        device = choose_device(device_name)
        return self._open(device, self._config_of(device))

    def _open(self, device: DeviceInfo, config: CompileConfig) -> Engine:
        """A device is opened once for each number of build threads, and of threads that it is bound to."""
        threads = bound_on_threads(device, config.threads)
        key = (device.name, config.build_threads, threads)
        with self._lock:
            if key not in self._engines:
                self._engines[key] = Engine(device, build_workers=config.build_threads, threads=threads)
            return self._engines[key]

    # -- contexts -------------------------------------------------------------------------------

    def get_default_context(self, device_name: str) -> ClContext:
        """The context in which models of a device run: the same one until its settings change."""
        device = choose_device(device_name)
        return self._context(device, self._config_of(device))

    def create_context(self, device_name: str, properties: dict[str, Any]) -> RemoteContext:
        """A remote context from OpenVINO's properties: {"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": handle, ...}."""
        if not properties:
            return self.get_default_context(device_name)
        made = make_context(self, properties)
        device = made.engine.device
        if not is_meant(device_name, device) and choose_device(device_name) != device:
            raise ClinferError("the context is one of another device", where="remote context", values={
                "wanted": device_name, "device of the context": device})
        return made

    def build_threads(self, device: DeviceInfo) -> int:
        """In how many processes kernels are built for a device (0: one per core)."""
        return self._config_of(device).build_threads

    def _context(self, device: DeviceInfo, settings: CompileConfig) -> ClContext:
        engine = self._open(device, settings)
        with self._lock:
            held = self._contexts.get(device.name)
            if held is not None and held[0] == settings:
                return held[1]
            made = ClContext.over(engine)
            if settings == self._config_of(device):
                self._contexts[device.name] = (settings, made)
            return made

    # -- devices and properties -----------------------------------------------------------------

    @property
    def available_devices(self) -> list[str]:
        """The names of all devices; a bare `CPU` or `GPU` is found in the list where there is one."""
        return DeviceNames(device.name for device in available_devices())

    def get_available_devices(self) -> list[str]:
        """The names of all devices."""
        return self.available_devices

    def get_versions(self, device_name: str) -> dict[str, Version]:
        """The driver of a device, under the name that was asked for."""
        device = choose_device(device_name)
        return {device_name: Version(device.driver_version, f"{device.platform_name}, {device.platform_version}")}

    def unload_plugin(self, device_name: str) -> None:
        """Forget a device and its default context; it is opened again when it is needed. Models, requests and contexts
        keep what they use."""
        forgotten = {device.name for device in devices_of(device_name)}
        with self._lock:
            self._engines = {key: engine for key, engine in self._engines.items() if key[0] not in forgotten}
            self._contexts = {name: held for name, held in self._contexts.items() if name not in forgotten}

    def get_property(self, device_name: str | None = None, property: str | None = None,
                     arguments: Mapping[str, Any] | None = None, *, name: str | None = None) -> Any:
        """`get_property(device, name)`, or `get_property(name)` for what holds for all devices. No property takes
        `arguments`; an empty dictionary is none."""
        property = only("get_property", property=property, name=name)
        if arguments:
            raise ClinferError(f"property {property} takes no arguments", where="get_property",
                               values={"arguments": dict(arguments)})
        if device_name is None or property is None:
            return self._common_property(_property_name(only("get_property", property=property, device=device_name)))
        property = _property_name(property)
        device = choose_device(device_name)
        settings = self._config_of(device)
        if property == "INFERENCE_PRECISION_HINT" and not settings.precision:
            return getattr(ov.Type, _precision(settings, self._open(device, settings)))
        config = settings.properties()
        if property in config:
            return config[property]
        own = {**properties_of(device), "GPU_MEMORY_STATISTICS": lambda: self._memory_statistics(device),
               "OPTIMAL_NUMBER_OF_INFER_REQUESTS": lambda: self._config_of(device).num_streams}
        if property == "SUPPORTED_PROPERTIES":
            return dict.fromkeys(["SUPPORTED_PROPERTIES", *own], "RO") | dict.fromkeys(SETTABLE, "RW")
        if property not in own:
            raise _unknown_property(property, f"device {device.name}", [*SETTABLE, "SUPPORTED_PROPERTIES", *own])
        return own[property]()

    def _memory_statistics(self, device: DeviceInfo) -> dict[str, int]:
        """Bytes that this Core holds on a device now, by allocation type; of types that were never in use nothing."""
        with self._lock:
            opened = [engine for (name, *_), engine in self._engines.items() if name == device.name]
        found: Counter[str] = Counter()
        for engine in opened:
            found.update(engine.memory_statistics())
        return dict(found)

    def set_property(self, device_name: Any = None, properties: Any = None, *, property: Any = None) -> None:
        """`set_property(settings)` for all devices, or `set_property(device, settings)` for one.

        Models compiled later use them. `settings`: a dictionary, or what openvino.properties make.
        """
        device = device_name if isinstance(device_name, str) else None
        settings = only("set_property", properties=properties, property=property,
                        device_name=device_name if device is None else None)
        with self._lock:
            if device is not None:
                for each in devices_of(device):
                    self._defaults[each.name] = self._config_of(each).updated(settings_for(each, settings))
            else:
                self._common = self._common.updated(settings)
                self._defaults = {name: config.updated(settings) for name, config in self._defaults.items()}

    def _common_property(self, name: str) -> Any:
        values = {**self._common.properties(), "AVAILABLE_DEVICES": self.available_devices}
        if name not in values:
            raise _unknown_property(name, "all devices", values)
        return values[name]

    def _config_of(self, device: DeviceInfo) -> CompileConfig:
        return self._defaults.get(device.name, self._common)

    def __repr__(self) -> str:
        return f"<Core: {', '.join(self.available_devices) or 'no device'}>"


def check_queue(context: RemoteContext, config: CompileConfig) -> None:
    """Raise if the user's queue, in which a model is to run, cannot do what its settings ask for."""
    if context.queue is None:
        return
    if config.num_streams > 1:
        raise ClinferError("a model that runs in the user's queue has one stream", where="configuration", values={
            "NUM_STREAMS": config.num_streams, "PERFORMANCE_HINT": config.performance_hint},
            hint="set NUM_STREAMS to 1, or make the remote context from the OpenCL context instead of the queue")
    if config.profiling and not context.queue_profiles:
        raise ClinferError("the user's queue measures no times", where="configuration", values={"PERF_COUNT": True},
                           hint="make the queue with PROFILING_ENABLE, or leave PERF_COUNT off")


_BF16_PAYS = 1.5
"""So many times as fast as f32 products of bf16 must be for it to be the default; processors have half or twice."""


def natural_precision(engine: Engine) -> str:
    """The type in which a device computes floats unless told otherwise: f16 where that is native, on CPUs bf16 where
    it is multiplied clearly faster than f32, by tile registers or in vectors; there it may be no faster."""
    able = engine.capabilities
    if engine.device.type == "CPU":
        gains = able.tile_registers or able.ceilings.bf16 >= _BF16_PAYS * able.ceilings.f32
        return "bf16" if gains else "f32"
    return "f16" if able.fp16 else "f32"


def _checked(model: ov.Model) -> ov.Model:
    """What query_model looks at: see `_validated`. Errors: WrongTypeError for what is no model, and those."""
    if not isinstance(model, ov.Model):
        raise WrongTypeError("query_model needs an openvino.Model", where="core",
                             values={"given": type(model).__name__}, hint="read the file with read_model first")
    return _validated(model)


def _validated(model: ov.Model) -> ov.Model:
    """A clone whose types and shapes follow from every edit; those of `model` are as old as its last validation.
    Errors: ClinferError where an edit fits nothing."""
    clone = model.clone()
    try:
        clone.validate_nodes_and_infer_types()
    except RuntimeError as error:
        raise ClinferError("OpenVINO cannot tell the model's types and shapes", where=f"model {model.friendly_name!r}",
                           values={"OpenVINO says": reason_of(error)}) from None
    return clone


def _precision(settings: CompileConfig, engine: Engine) -> str:
    return settings.wanted_precision or natural_precision(engine)


def compile_model(model: Any, device_name: str | None = "AUTO",
                  config: dict[str, Any] | None = None) -> CompiledModel:
    """Compile a model, or the model in a file, with a Core of its own."""
    return Core().compile_model(model, device_name, config)


def _property_name(given: object) -> str:
    if not isinstance(given, str):
        raise WrongTypeError("properties are named by texts", where="get_property",
                             values={"given": repr(given), "of type": type(given).__name__})
    return str(given)


def _unknown_property(name: str, where: str, known: Any) -> ClinferError:
    return ClinferError(f"there is no property {name}", where=where, values={"properties": ", ".join(sorted(known))})
