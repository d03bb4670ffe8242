"""What the server answers, whatever the protocol: answers are dictionaries as REST has them, or inferences."""
from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from clinfer.base.version import VERSION
from clinfer.serve.errors import OverloadedError, ServeError, UnsupportedRequestError
from clinfer.serve.messages import (
    Description,
    InferenceRequest,
    InferenceResponse,
    Limits,
    Outcome,
    Statistics,
)
from clinfer.serve.options import ModelSource

EXTENSIONS = ("binary_tensor_data", "model_configuration", "model_repository", "statistics")


class Model(Protocol):
    """A version of a model, ready or not."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def is_ready(self) -> bool: ...

    @property
    def problem(self) -> str: ...


class KnownModels(Protocol):
    """Where models are looked up, and who computes; see clinfer.serve.models."""

    @property
    def loading(self) -> str: ...

    async def all(self, max_age_s: float = 0.0) -> Sequence[Any]: ...

    async def find(self, name: str, version: str = "", max_age_s: float = 1.0) -> Any: ...

    async def infer(self, name: str, version: str, request: InferenceRequest, timeout_s: float) -> Outcome: ...

    async def describe(self, model: Any) -> Description: ...

    async def statistics(self, model: Any) -> Statistics: ...

    async def offered(self) -> dict[str, tuple[ModelSource, ...]]: ...

    async def load(self, name: str) -> None: ...

    async def unload(self, name: str) -> None: ...


class Service:
    """Answers by the Open Inference Protocol v2. Errors of all methods: ServeError."""

    def __init__(self, models: KnownModels, limits: Limits) -> None:
        self._models = models
        self.limits = limits
        self.is_draining = False
        self.ongoing = 0

    async def is_ready(self) -> bool:
        """Whether every model is, but for one that is being loaded, and the server does not end."""
        known = await self._models.all(1.0)
        return not self.is_draining and all(each.is_ready for each in known if each.name != self._models.loading)

    async def is_model_ready(self, name: str, version: str) -> bool:
        """Whether inferences of that model, of any version if none is named, are computed now."""
        try:
            await self._models.find(name, version, max_age_s=0.1)
        except ServeError:
            return False
        return True

    def server_metadata(self) -> dict[str, Any]:
        return {"name": "clinfer", "version": VERSION, "extensions": list(EXTENSIONS)}

    async def model_metadata(self, name: str, version: str) -> dict[str, Any]:
        model = await self._models.find(name, version)
        versions = sorted({each.version for each in await self._models.all(1.0)
                           if each.name == name and each.is_ready}, key=int)
        return (await self._models.describe(model)).metadata(tuple(versions))

    async def model_config(self, name: str, version: str) -> dict[str, Any]:
        return (await self._models.describe(await self._models.find(name, version))).config()

    async def statistics(self, name: str, version: str) -> dict[str, Any]:
        """Of one version, of all of a model, or of all models; over all replicas."""
        return {"model_stats": [found.as_json(model.name, model.version)
                                for model, found in await self.all_statistics(name, version)]}

    async def all_statistics(self, name: str = "", version: str = "") -> list[tuple[Model, Statistics]]:
        if name:
            await self._models.find(name, version)
        models = [each for each in await self._models.all(1.0)
                  if name in ("", each.name) and version in ("", each.version) and each.is_ready]
        found = await asyncio.gather(*(self._models.statistics(each) for each in models))
        return sorted(zip(models, found, strict=True), key=lambda pair: (pair[0].name, int(pair[0].version)))

    async def index(self, only_ready: bool) -> list[dict[str, str]]:
        """The models that are here or may be loaded."""
        known = await self._models.all()
        entries = {(each.name, each.version): {
            "name": each.name, "version": each.version, "state": "READY" if each.is_ready else "UNAVAILABLE",
            "reason": each.problem} for each in known}
        for name, sources in (await self._models.offered()).items():
            for source in sources:
                entries.setdefault((name, source.version), {"name": name, "version": source.version,
                                                            "state": "UNAVAILABLE", "reason": "unloaded"})
        return [entry for _, entry in sorted(entries.items()) if not only_ready or entry["state"] == "READY"]

    async def load(self, name: str, parameters: Sequence[str]) -> None:
        """Load a model. `parameters`: the names of those that the request has, none of which is taken."""
        if parameters:
            raise UnsupportedRequestError("models are loaded as they are: without files or configurations of yours",
                                          values={"parameters": ", ".join(parameters)})
        await self._models.load(name)

    async def unload(self, name: str) -> None:
        """Unload a model."""
        await self._models.unload(name)

    async def infer(self, name: str, version: str, request: InferenceRequest) -> InferenceResponse:
        """One inference. Cancelling the caller cancels it."""
        if self.is_draining:
            raise OverloadedError("the server ends")
        timeout_s = min(self.limits.timeout_s, request.timeout_s or self.limits.timeout_s)
        self.ongoing += 1
        try:
            outcome = await self._models.infer(name, version, request, timeout_s)
        finally:
            self.ongoing -= 1
        if isinstance(outcome, ServeError):
            raise outcome
        return outcome
