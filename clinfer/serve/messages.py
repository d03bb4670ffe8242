"""What passes between the protocols and the models: plain data, the same for REST and gRPC."""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clinfer.serve.errors import ServeError


@dataclass(frozen=True)
class Tensor:
    """A named tensor. `datatype` is the protocol's word (FP32, BYTES, ...); `values` has the shape and the NumPy type
    of the datatype: BYTES is an object array of `bytes`, BF16 holds float32 values."""

    name: str
    datatype: str
    values: np.ndarray


@dataclass(frozen=True)
class InferenceRequest:
    """One inference. `outputs` empty: all of the model's. `timeout_s` None: only the server's own limit holds."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[str, ...] = ()
    id: str = ""
    timeout_s: float | None = None

    @property
    def rows(self) -> int:
        """The first size of the first input, of which batches are made; 1 where there is none."""
        return int(self.inputs[0].values.shape[0]) if self.inputs and self.inputs[0].values.ndim else 1


@dataclass(frozen=True)
class InferenceResponse:
    """The outputs of one inference, and who computed them."""

    model: str
    version: str
    outputs: tuple[Tensor, ...]
    id: str = ""


Outcome = InferenceResponse | ServeError
"""What a replica returns: an expected error is a value, so that it arrives as it was."""


@dataclass(frozen=True)
class Port:
    """An input or output of a model. `shape` has -1 where the size is open; an open rank has none at all."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    has_open_rank: bool = False

    def as_json(self) -> dict[str, object]:
        """As the protocol's metadata has it."""
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.shape)}


@dataclass(frozen=True)
class Description:
    """What a model tells of itself. `max_batch` 0: requests are not put together, and `unbatched_because` says why."""

    model: str
    version: str
    device: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    max_batch: int = 0
    unbatched_because: str = ""

    def metadata(self, versions: tuple[str, ...]) -> dict[str, object]:
        """The answer to a request for the model's metadata."""
        return {"name": self.model, "versions": list(versions), "platform": "clinfer",
                "inputs": [port.as_json() for port in self.inputs],
                "outputs": [port.as_json() for port in self.outputs]}

    def config(self) -> dict[str, object]:
        """The answer to a request for the model's configuration, as Triton's clients know it."""
        skipped = 1 if self.max_batch else 0
        parameters = {"device": self.device, "unbatched_because": self.unbatched_because}
        return {"name": self.model, "platform": "clinfer", "backend": "clinfer", "max_batch_size": self.max_batch,
                "input": [_config_port(port, skipped) for port in self.inputs],
                "output": [_config_port(port, skipped) for port in self.outputs],
                "parameters": {key: {"string_value": text} for key, text in parameters.items() if text}}


def _config_port(port: Port, skipped: int) -> dict[str, object]:
    kind = "STRING" if port.datatype == "BYTES" else port.datatype
    return {"name": port.name, "data_type": f"TYPE_{kind}", "dims": list(port.shape[skipped:])}


@dataclass(frozen=True)
class Limits:
    """What one request may ask for, in bytes; how long an inference may take, and a client to send a body of REST, in
    seconds."""

    max_body: int = 64 << 20
    max_tensor: int = 64 << 20
    timeout_s: float = 60.0
    upload_s: float = 30.0


@dataclass(frozen=True)
class Duration:
    """How often something happened, and how long it took together."""

    count: int = 0
    ns: int = 0

    def __add__(self, other: Duration) -> Duration:
        return Duration(self.count + other.count, self.ns + other.ns)


@dataclass(frozen=True)
class Statistics:
    """Of one replica, or of several together. `durations` are those of the protocol's statistics extension; `batches`
    has for each number of rows how often so many were computed at once, `latencies` for each of LATENCIES how many
    requests took at most that many seconds and longer than the bound before. `last_ms`: milliseconds since 1970.
    `ongoing`, `device_bytes`: requests that arrived and are not answered, and device memory, at present."""

    inferences: int = 0
    executions: int = 0
    last_ms: int = 0
    ongoing: int = 0
    device_bytes: int = 0
    durations: Mapping[str, Duration] = field(default_factory=dict)
    batches: Mapping[int, Duration] = field(default_factory=dict)
    latencies: Mapping[float, int] = field(default_factory=dict)

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(self.inferences + other.inferences, self.executions + other.executions,
                          max(self.last_ms, other.last_ms), self.ongoing + other.ongoing,
                          self.device_bytes + other.device_bytes,
                          _sum(self.durations, other.durations, Duration()),
                          _sum(self.batches, other.batches, Duration()), _sum(self.latencies, other.latencies, 0))

    def as_json(self, model: str, version: str) -> dict[str, object]:
        """As the protocol's statistics extension has it."""
        return {"name": model, "version": version, "last_inference": self.last_ms,
                "inference_count": self.inferences, "execution_count": self.executions,
                "inference_stats": {name: vars(self.durations.get(name, Duration())) for name in DURATIONS},
                "batch_stats": [{"batch_size": rows, "compute_infer": vars(spent)}
                                for rows, spent in sorted(self.batches.items())]}


DURATIONS = ("success", "fail", "queue", "compute_input", "compute_infer", "compute_output")
LATENCIES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, math.inf)


def _sum(left: Mapping[Any, Any], right: Mapping[Any, Any], none: Any) -> dict[Any, Any]:
    return {key: left.get(key, none) + right.get(key, none) for key in {**left, **right}}
