"""A server without Ray: both protocols over models in this process, on ports of its own."""
from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from clinfer.serve.computing import Computing, Ticket
from clinfer.serve.errors import BadRequestError, OverloadedError, TimedOutError, UnknownModelError
from clinfer.serve.listening import Address, Listeners
from clinfer.serve.messages import Description, InferenceRequest, Limits, Outcome, Statistics
from clinfer.serve.options import ModelSource
from clinfer.serve.service import Service


@dataclass
class LocalModel:
    """A version of a model in this process. `is_full`: it takes no request."""

    description: Description
    computing: Computing
    is_ready: bool = True
    is_full: bool = False
    problem: str = ""

    @property
    def name(self) -> str:
        return self.description.model

    @property
    def version(self) -> str:
        return self.description.version


@dataclass
class LocalModels:
    """What clinfer.serve.models is on Ray. `offered_ones` can be loaded: their names, and the models."""

    known: list[LocalModel]
    offered_ones: Mapping[str, LocalModel] = field(default_factory=dict)
    loading: str = ""

    async def all(self, max_age_s: float = 0.0) -> list[LocalModel]:
        return self.known

    async def find(self, name: str, version: str = "", max_age_s: float = 1.0) -> LocalModel:
        found = [each for each in self.known if each.name == name and version in ("", each.version)]
        if not found:
            raise UnknownModelError("there is no such model")
        return max(found, key=lambda each: int(each.version))

    async def infer(self, name: str, version: str, request: InferenceRequest, timeout_s: float) -> Outcome:
        model = await self.find(name, version)
        if model.is_full:
            raise OverloadedError("too many requests wait for the model")
        try:
            return (await asyncio.wait_for(model.computing.answer([Ticket(request)]), timeout_s))[0]
        except asyncio.TimeoutError:
            raise TimedOutError("the inference took too long, and was cancelled") from None

    async def describe(self, model: LocalModel) -> Description:
        return model.description

    async def statistics(self, model: LocalModel) -> Statistics:
        return model.computing.statistics

    async def offered(self) -> dict[str, tuple[ModelSource, ...]]:
        return {}

    async def load(self, name: str) -> None:
        if name not in self.offered_ones:
            raise BadRequestError("there is no such model to load")
        self.known.append(self.offered_ones[name])

    async def unload(self, name: str) -> None:
        self.known.remove(await self.find(name))


@dataclass(frozen=True)
class Addresses:
    """Where a server listens."""

    rest: str
    grpc: str
    service: Service


@contextmanager
def local_server(models: LocalModels, limits: Limits) -> Iterator[Addresses]:
    """A server while the context lasts, its event loop in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    service = Service(models, limits)

    async def start() -> Listeners:
        listeners = Listeners(service, Address(port=0, grpc_port=0))
        await listeners.start()
        return listeners

    listeners = asyncio.run_coroutine_threadsafe(start(), loop).result(30)
    try:
        assert listeners.are_open
        rest, grpc = (f"127.0.0.1:{port}" for port in listeners.ports)
        yield Addresses(rest, grpc, service)
    finally:
        asyncio.run_coroutine_threadsafe(listeners.close(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
