"""The properties that users set, read into one plain configuration."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.transformations import PRECISIONS

PerformanceMode: TypeAlias = ov.properties.hint.PerformanceMode


@dataclass(frozen=True)
class CompileConfig:
    """How a model is compiled and run.

    `precision`: the type that floats are computed in; empty lets the device decide. `streams`: inferences
    that run at a time; 0 lets the performance hint decide.
    """

    precision: str = ""
    performance_hint: PerformanceMode = PerformanceMode.LATENCY
    streams: int = 0
    force_implementations: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def num_streams(self) -> int:
        """How many inferences run at a time: two fill the gaps of one another where throughput counts."""
        return self.streams or (1 if self.performance_hint == PerformanceMode.LATENCY else 2)

    def properties(self) -> dict[str, Any]:
        """The values under OpenVINO's names and in its types."""
        return {
            "INFERENCE_PRECISION_HINT": getattr(ov.Type, self.precision or "dynamic"),
            "PERFORMANCE_HINT": self.performance_hint,
            "NUM_STREAMS": self.num_streams,
            "force_implementations": dict(self.force_implementations),
        }

    def updated(self, settings: object) -> CompileConfig:
        """This configuration with the user's settings (a mapping, or pairs as OpenVINO's properties make)."""
        changes: dict[str, Any] = {}
        for name, value in pairs_of(settings):
            if name not in _READERS:
                raise ClinferError(f"there is no property {name}", where="configuration",
                                   values={"given": f"{name} = {value!r}", "properties": ", ".join(_READERS)})
            target, read = _READERS[name]
            changes[target] = read(name, value)
        return replace(self, **changes)


def pairs_of(settings: object) -> list[tuple[str, Any]]:
    """(name, value) of every setting in a mapping, one pair, or a sequence of pairs."""
    if isinstance(settings, Mapping):
        pairs = list(settings.items())
    elif isinstance(settings, tuple) and len(settings) == 2 and isinstance(settings[0], str):
        pairs = [settings]
    elif isinstance(settings, list | tuple) and all(isinstance(s, tuple) and len(s) == 2 for s in settings):
        pairs = list(settings)
    else:
        raise ClinferError("properties are given as a dictionary", where="configuration",
                           values={"given": type(settings).__name__})
    return [(str(name), value.value if isinstance(value, ov.OVAny) else value) for name, value in pairs]


def _read_precision(name: str, value: object) -> str:
    text = value.type_name if isinstance(value, ov.Type) else str(value)
    if text in ("", "dynamic", "undefined"):
        return ""
    if text not in PRECISIONS:
        raise _wrong(name, value, f"{', '.join(PRECISIONS)}, or `dynamic` for the device's own choice")
    return text


def _read_performance_hint(name: str, value: object) -> PerformanceMode:
    modes = (PerformanceMode.LATENCY, PerformanceMode.THROUGHPUT, PerformanceMode.CUMULATIVE_THROUGHPUT)
    for mode in modes:
        if value in (mode, mode.name):
            return mode
    raise _wrong(name, value, ", ".join(mode.name for mode in modes))


def _read_streams(name: str, value: object) -> int:
    text = str(value.to_integer() if isinstance(value, ov.properties.streams.Num) else value)
    if text in ("AUTO", "-1"):
        return 0
    if isinstance(value, bool) or not text.isdigit() or not 1 <= int(text) <= 64:
        raise _wrong(name, value, "1 to 64, or AUTO")
    return int(text)


def _read_forced(name: str, value: object) -> Mapping[str, tuple[str, str]]:
    expected = 'a dictionary such as {"conv1": ("b_fs_yx_fsv16", "")}: per primitive, a format and a kernel'
    if not isinstance(value, Mapping):
        raise _wrong(name, value, expected)
    for primitive, choice in value.items():
        if not (isinstance(primitive, str) and isinstance(choice, tuple | list) and len(choice) == 2
                and all(isinstance(part, str) for part in choice)):
            raise _wrong(name, {primitive: choice}, expected)
        if choice[0]:
            Format.of(choice[0])
    return {primitive: (choice[0], choice[1]) for primitive, choice in value.items()}


def _wrong(name: str, value: object, expected: str) -> ClinferError:
    return ClinferError(f"property {name} cannot have this value", where="configuration",
                        values={"given": repr(value), "expected": expected})


_READERS: dict[str, tuple[str, Callable[[str, object], Any]]] = {
    "INFERENCE_PRECISION_HINT": ("precision", _read_precision),
    "PERFORMANCE_HINT": ("performance_hint", _read_performance_hint),
    "NUM_STREAMS": ("streams", _read_streams),
    "force_implementations": ("force_implementations", _read_forced),
}
SETTABLE = tuple(_READERS)
