"""A model read and compiled for a command, with the time that this took."""
from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.api.ports import Ports
from clinfer.cli.foreign_output import quiet_unless_done
from clinfer.cli.waiting import waiting

if TYPE_CHECKING:
    from clinfer.frontend.openvino_import import openvino as ov


@dataclass(frozen=True)
class ModelOrder:
    """Which model on which device; `precision` empty: the device decides."""

    model: Path
    device: str = "AUTO"
    precision: str = ""


@dataclass(frozen=True)
class Subject:
    """What a report is about: the model, the device and its full name, the type that floats are computed in."""

    model: str
    device: str
    device_name: str
    precision: str

    def __str__(self) -> str:
        return f"{self.model} on {self.device} ({self.device_name}), computing in {self.precision}"


class Session:
    """A model that was read; `compile` makes it ready."""

    def __init__(self, order: ModelOrder) -> None:
        self._order = order
        self._core = Core()
        start = time.perf_counter()
        with quiet_unless_done():
            self.model: ov.Model = self._core.read_model(order.model)
        self.read_s = time.perf_counter() - start
        self.ports = Ports.of(self.model)

    def compile(self, **properties: Any) -> tuple[CompiledModel, float]:
        """The compiled model and the seconds that compiling took; `properties` besides those of the order."""
        if self._order.precision:
            properties["INFERENCE_PRECISION_HINT"] = self._order.precision
        # The device is opened first: its start is not the model's.
        self._core.engine(self._order.device)
        start = time.perf_counter()
        with waiting(f"compiling {self._order.model.name}, which takes longer the first time") as tell:
            properties["build_progress"] = lambda built, wanted: tell(f"{built} of {wanted} kernels built")
            compiled = self._core.compile_model(self.model, self._order.device, properties)
        return compiled, time.perf_counter() - start

    def subject(self, compiled: CompiledModel) -> Subject:
        """What a report says about itself."""
        device = compiled.get_property("EXECUTION_DEVICES")[0]
        return Subject(str(self._order.model), device, self._core.get_property(device, "FULL_DEVICE_NAME"),
                       compiled.get_property("INFERENCE_PRECISION_HINT").type_name)


def milliseconds(action: Callable[[], object]) -> float:
    """How long an action takes."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1e3
