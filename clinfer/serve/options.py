"""What is served, where, and within which bounds."""
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from clinfer.serve.messages import Limits


@dataclass(frozen=True)
class ModelSource:
    """A version of a model, and the file it is read from: on a cluster the path is the same on every node."""

    name: str
    version: str
    path: Path


@dataclass(frozen=True)
class ModelOptions:
    """How each model is run. `device`: see clinfer.serve.devices; of those on its node a replica takes the one of its
    rank there. `queue`: requests that wait for a replica of the model before others are refused. `max_batch` 1: no
    request waits for others."""

    device: str = "AUTO"
    replicas: int = 1
    replicas_per_node: int = 1
    precision: str = ""
    max_batch: int = 32
    batch_wait_s: float = 0.002
    queue: int = 256

    @property
    def properties(self) -> dict[str, object]:
        """What models are compiled with."""
        return {"INFERENCE_PRECISION_HINT": self.precision} if self.precision else {}


@dataclass(frozen=True)
class ServerOptions:
    """How a server is started. `address` empty: in a Ray of its own on this machine, which ends with it. `replicas` 0:
    one for each device. `repository`: a folder, of which models may be loaded at run time; None: no model comes or
    goes. `drain_s`: how long the end of the server waits for inferences under way."""

    models: tuple[ModelSource, ...]
    repository: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    grpc_port: int = 8001
    address: str = ""
    replicas: int = 0
    model: ModelOptions = field(default_factory=ModelOptions)
    limits: Limits = field(default_factory=Limits)
    drain_s: float = 30.0
