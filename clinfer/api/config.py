"""The properties that users set, read into one plain configuration."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from clinfer.api.custom_layers import CustomLayers, read_custom_layers
from clinfer.api.encryption import Encryption
from clinfer.api.property_values import (
    Reader,
    read_cache_type,
    read_choice,
    read_count,
    read_encryption,
    read_folder,
    read_forced,
    read_order,
    read_precision,
    read_progress,
    read_ratio,
    read_streams,
    read_switch,
)
from clinfer.api.without_effect import WITHOUT_EFFECT
from clinfer.base.errors import ClinferError, WrongTypeError
from clinfer.base.tracing import log
from clinfer.frontend.caches import CACHE_TYPES
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.kernels.build_progress import Progress
from clinfer.network.memory.preallocation import AHEAD, LIKELY_BYTES, Preallocation
from clinfer.program.memory_dependencies import ExecutionOrder
from clinfer.topology import CustomKernel

PerformanceMode: TypeAlias = ov.properties.hint.PerformanceMode
ExecutionMode: TypeAlias = ov.properties.hint.ExecutionMode


@dataclass(frozen=True)
class CompileConfig:
    """How a model is compiled and run.

    `precision`: the type that floats are computed in; empty, as nobody set it, and `dynamic` let `execution_mode` and
    the device decide.
    `cache_precision`: the name of the type in which keys and values of decoders are stored; empty, and for what is no
    float of 16 bits, that which the model gives them.
    `streams`: inferences that run at a time; 0 lets the performance hint decide, with at most `requests`
    (0: no such limit). `threads`: of a CPU's device they all compute in at most so many (0: one per core).
    `build_threads`: kernels are built in that many processes (0: one per core). `map_files`: weights are mapped from
    their file instead of read.
    `profiling`: whether every inference measures what each primitive costs.
    `specialise_after`: a shape that comes again that often is specialised in the background (0: never).
    `cache_dir`: the folder of compiled blobs; empty: none are kept. `encryption`: what encrypts them.
    `preallocation_iterations`, `preallocation_ratio`: see `network.memory.preallocation`; `preallocation_bytes`: its
    `room` and `kept` at most. `execution_order`: see `BuildOptions`. `host_fallback`: whether OpenVINO computes on the
    host what has no kernels. `build_progress`: what is told of kernels that are built.
    `mend_onnx`: whether operators of ONNX are read as ONNX defines them where OpenVINO reads them otherwise.
    `without_effect`: what was set of the properties that change nothing here. `custom_layers`: the kernels of a file of
    custom layers, `registered`: those that `register_op` knew when the model was compiled.
    """

    precision: str = ""
    cache_precision: str = ""
    execution_mode: ExecutionMode = ExecutionMode.PERFORMANCE
    performance_hint: PerformanceMode = PerformanceMode.LATENCY
    streams: int = 0
    requests: int = 0
    threads: int = 0
    build_threads: int = 0
    map_files: bool = True
    profiling: bool = False
    specialise_after: int = 0
    cache_dir: str = ""
    encryption: Encryption | None = None
    force_implementations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    preallocation_iterations: int = AHEAD.iterations
    preallocation_ratio: float = AHEAD.ratio
    preallocation_bytes: int = LIKELY_BYTES
    execution_order: ExecutionOrder = "in_order"
    host_fallback: bool = True
    build_progress: Progress | None = None
    mend_onnx: bool = True
    without_effect: Mapping[str, Any] = field(default_factory=dict)
    custom_layers: CustomLayers = field(default_factory=CustomLayers)
    registered: tuple[CustomKernel, ...] = ()

    @property
    def num_streams(self) -> int:
        """How many inferences run at a time: two fill the gaps of one another where throughput counts."""
        if self.streams:
            return self.streams
        natural = 1 if self.performance_hint == PerformanceMode.LATENCY else 2
        return min(natural, self.requests or natural)

    @property
    def wanted_precision(self) -> str:
        """The type that floats are computed in; empty: the device decides."""
        left_open = "f32" if self.execution_mode == ExecutionMode.ACCURACY else ""
        return left_open if self.precision in ("", "dynamic") else self.precision

    @property
    def cache_type(self) -> str:
        """The name of the type in which keys and values are stored; empty: that which the model gives them."""
        return self.cache_precision if self.cache_precision in CACHE_TYPES else ""

    @property
    def preallocation(self) -> Preallocation:
        """How much memory is taken ahead of need."""
        return Preallocation(self.preallocation_iterations, self.preallocation_ratio, room=self.preallocation_bytes)

    @property
    def encryption_callbacks(self) -> list[Any]:
        """The functions that encrypt and decrypt blobs; empty if there are none."""
        return [] if self.encryption is None else [self.encryption.encrypt, self.encryption.decrypt]

    def properties(self) -> dict[str, Any]:
        """The values under OpenVINO's names and in its types."""
        return {
            "INFERENCE_PRECISION_HINT": getattr(ov.Type, self.wanted_precision or "dynamic"),
            "KV_CACHE_PRECISION": getattr(ov.Type, self.cache_precision or "dynamic"),
            "EXECUTION_MODE_HINT": self.execution_mode,
            "PERFORMANCE_HINT": self.performance_hint,
            "PERFORMANCE_HINT_NUM_REQUESTS": self.requests,
            "NUM_STREAMS": self.num_streams,
            "INFERENCE_NUM_THREADS": self.threads,
            "COMPILATION_NUM_THREADS": self.build_threads,
            "ENABLE_MMAP": self.map_files,
            "PERF_COUNT": self.profiling,
            "SPECIALIZE_AFTER": self.specialise_after,
            "CACHE_DIR": self.cache_dir,
            "CACHE_ENCRYPTION_CALLBACKS": self.encryption_callbacks,
            "force_implementations": dict(self.force_implementations),
            "preallocation_iterations": self.preallocation_iterations,
            "preallocation_ratio": self.preallocation_ratio,
            "preallocation_bytes": self.preallocation_bytes,
            "execution_order": self.execution_order,
            "host_fallback": self.host_fallback,
            "build_progress": self.build_progress,
            "mend_onnx": self.mend_onnx,
            "CONFIG_FILE": self.custom_layers.file,
            **{name: self.without_effect.get(name, default) for name, (default, _) in WITHOUT_EFFECT.items()},
        }

    def updated(self, settings: object) -> CompileConfig:
        """This configuration with the user's settings (a mapping, or pairs as OpenVINO's properties make)."""
        changes: dict[str, Any] = {}
        without_effect = dict(self.without_effect)
        for name, value in pairs_of(settings):
            if name in WITHOUT_EFFECT:
                without_effect[name] = WITHOUT_EFFECT[name][1](name, value)
                log(1, f"property {name} has no effect")
            elif name in _READERS:
                target, read = _READERS[name]
                changes[target] = read(name, value)
            else:
                raise ClinferError(f"there is no property {name}", where="configuration",
                                   values={"given": f"{name} = {value!r}", "properties": ", ".join(SETTABLE)})
        return replace(self, **changes, without_effect=without_effect)


def pairs_of(settings: object) -> list[tuple[str, Any]]:
    """(name, value) of every setting in a mapping, one pair, or a sequence of pairs."""
    if isinstance(settings, Mapping):
        pairs = list(settings.items())
    elif isinstance(settings, tuple) and len(settings) == 2 and isinstance(settings[0], str):
        pairs = [settings]
    elif isinstance(settings, list | tuple) and all(isinstance(s, tuple) and len(s) == 2 for s in settings):
        pairs = list(settings)
    else:
        raise WrongTypeError("properties are given as a dictionary", where="configuration",
                             values={"given": type(settings).__name__})
    return [(str(name), value.value if isinstance(value, ov.OVAny) else value) for name, value in pairs]


_READERS: dict[str, tuple[str, Reader]] = {
    "INFERENCE_PRECISION_HINT": ("precision", read_precision),
    "KV_CACHE_PRECISION": ("cache_precision", read_cache_type),
    "EXECUTION_MODE_HINT": ("execution_mode", read_choice(ExecutionMode)),
    "PERFORMANCE_HINT": ("performance_hint", read_choice(PerformanceMode)),
    "PERFORMANCE_HINT_NUM_REQUESTS": ("requests", read_count),
    "NUM_STREAMS": ("streams", read_streams),
    "INFERENCE_NUM_THREADS": ("threads", read_count),
    "COMPILATION_NUM_THREADS": ("build_threads", read_count),
    "ENABLE_MMAP": ("map_files", read_switch),
    "PERF_COUNT": ("profiling", read_switch),
    "SPECIALIZE_AFTER": ("specialise_after", read_count),
    "CACHE_DIR": ("cache_dir", read_folder),
    "CACHE_ENCRYPTION_CALLBACKS": ("encryption", read_encryption),
    "force_implementations": ("force_implementations", read_forced),
    "preallocation_iterations": ("preallocation_iterations", read_count),
    "preallocation_ratio": ("preallocation_ratio", read_ratio),
    "preallocation_bytes": ("preallocation_bytes", read_count),
    "execution_order": ("execution_order", read_order),
    "host_fallback": ("host_fallback", read_switch),
    "build_progress": ("build_progress", read_progress),
    "mend_onnx": ("mend_onnx", read_switch),
    "CONFIG_FILE": ("custom_layers", read_custom_layers),
}

SETTABLE = (*_READERS, *WITHOUT_EFFECT)
