"""The entry: devices, reading models, compiling them."""
from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

from clinfer.api import device_properties
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.config import SETTABLE, CompileConfig
from clinfer.api.ports import Ports
from clinfer.base import knobs
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import to_topology
from clinfer.frontend.reading import read_model
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import prepare
from clinfer.network.compile import compile_topology
from clinfer.program.options import BuildOptions
from clinfer.runtime.device import DeviceInfo, available_devices, find_device
from clinfer.runtime.engine import Engine


@dataclass(frozen=True)
class Version:
    """The version of what drives a device."""

    build_number: str
    description: str


class Core:
    """OpenVINO's Core over the OpenCL devices of this machine; safe for use by several threads.

    It stands beside openvino.Core, not below it: what is not here does not exist, instead of answering for
    OpenVINO's own devices. Each device is opened once per Core, when it is first needed.
    """

    def __init__(self) -> None:
        self._reader = ov.Core()
        self._engines: dict[str, Engine] = {}
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
        return read_model(self._reader, model, weights, config)

    def add_extension(self, extension: Any) -> None:
        """Let models hold the operations of an openvino.Op class, of extensions, or of a library."""
        self._reader.add_extension(extension)

    def compile_model(self, model: Any, device_name: str | None = None, config: dict[str, Any] | None = None, *,
                      weights: Any = None) -> CompiledModel:
        """Make a model, or the model in a file or in memory, ready for a device (default: AUTO).

        The model stays as it is. `config`: see SUPPORTED_PROPERTIES; it wins over `set_property`.
        """
        engine = self.engine(device_name or "AUTO")
        settings = self._config_of(engine.device).updated(config or {})
        settings = replace(settings, precision=settings.precision or natural_precision(engine))
        return compile_for(engine, self.read_model(model, weights), settings)

    def engine(self, device_name: str) -> Engine:
        """The opened device of a name; opened at the first call."""
        device = find_device(device_name)
        with self._lock:
            if device.name not in self._engines:
                self._engines[device.name] = Engine(device)
            return self._engines[device.name]

    # -- devices and properties -----------------------------------------------------------------

    @property
    def available_devices(self) -> list[str]:
        """The names of all devices."""
        return [device.name for device in available_devices()]

    def get_available_devices(self) -> list[str]:
        """The names of all devices."""
        return self.available_devices

    def get_versions(self, device_name: str) -> dict[str, Version]:
        """The driver of a device."""
        device = find_device(device_name)
        return {device.name: Version(device.driver_version, f"{device.platform_name}, {device.platform_version}")}

    def get_property(self, device_name: str | None = None, property: str | None = None) -> Any:
        """`get_property(device, name)`, or `get_property(name)` for what holds for all devices."""
        if device_name is None or property is None:
            return self._common_property(str(property or device_name))
        device = find_device(device_name)
        config = self._config_of(device).properties()
        if property in config:
            return config[property]
        if property == "SUPPORTED_PROPERTIES":
            fixed = dict.fromkeys(["SUPPORTED_PROPERTIES", *device_properties.READERS], "RO")
            return fixed | dict.fromkeys(SETTABLE, "RW")
        if property not in device_properties.READERS:
            raise _unknown_property(property, f"device {device.name}",
                                    [*SETTABLE, "SUPPORTED_PROPERTIES", *device_properties.READERS])
        return device_properties.READERS[property](device)

    def set_property(self, device_name: Any = None, properties: Any = None) -> None:
        """`set_property(settings)` for all devices, or `set_property(device, settings)` for one.

        Models compiled later use them. `settings`: a dictionary, or what openvino.properties make.
        """
        with self._lock:
            if isinstance(device_name, str):
                device = find_device(device_name)
                self._defaults[device.name] = self._config_of(device).updated(properties)
            else:
                settings = properties if device_name is None else device_name
                self._common = self._common.updated(settings)
                self._defaults = {name: config.updated(settings) for name, config in self._defaults.items()}

    def _common_property(self, name: str) -> Any:
        values = {**self._common.properties(), "AVAILABLE_DEVICES": self.available_devices,
                  "CACHE_DIR": str(knobs.cache_dir())}
        if name not in values:
            raise _unknown_property(name, "all devices", values)
        return values[name]

    def _config_of(self, device: DeviceInfo) -> CompileConfig:
        return self._defaults.get(device.name, self._common)

    def __repr__(self) -> str:
        return f"<Core: {', '.join(self.available_devices) or 'no device'}>"


def compile_for(engine: Engine, model: ov.Model, config: CompileConfig) -> CompiledModel:
    """Compile a model for an opened device; `config.precision` is decided."""
    shape_inference = OpenVinoShapeInference()
    source = to_topology(prepare(model, config.precision))
    program = compile_topology(engine, source.topology, shape_inference,
                               BuildOptions(force_implementations=config.force_implementations))
    return CompiledModel(model.friendly_name, program, Ports.of(model), tuple(source.inputs), tuple(source.outputs),
                         shape_inference, config)


def natural_precision(engine: Engine) -> str:
    """The type in which a device computes floats unless told otherwise: f16 where that is native."""
    return "f16" if engine.device.type != "CPU" and engine.capabilities.fp16 else "f32"


def compile_model(model: Any, device_name: str | None = "AUTO",
                  config: dict[str, Any] | None = None) -> CompiledModel:
    """Compile a model, or the model in a file, with a Core of its own."""
    return Core().compile_model(model, device_name, config)


def _unknown_property(name: str, where: str, known: Any) -> ClinferError:
    return ClinferError(f"there is no property {name}", where=where, values={"properties": ", ".join(sorted(known))})
