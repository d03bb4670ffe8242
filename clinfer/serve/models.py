"""The models that the front end knows: looked up for each request, loaded and unloaded on demand."""
from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ray.exceptions import ActorDiedError, ActorUnavailableError, RayTaskError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError, RequestCancelledError
from ray.serve.handle import DeploymentHandle

from clinfer.base.errors import ClinferError
from clinfer.serve import applications
from clinfer.serve.applications import Deployed
from clinfer.serve.errors import (
    BadRequestError,
    NotReadyError,
    OverloadedError,
    ServeError,
    TimedOutError,
    UnknownModelError,
    UnsupportedRequestError,
)
from clinfer.serve.looks import Looks
from clinfer.serve.messages import Description, InferenceRequest, Outcome, Statistics
from clinfer.serve.options import ModelOptions, ModelSource
from clinfer.serve.sources import scan

T = TypeVar("T")
_FRESH_S = 1.0
"""How old what is known of the models may be where they are only looked up."""
_TRIES = 3
"""How often a request is sent to a replica, if the replica is lost meanwhile: inferences leave no trace."""


class Models:
    """The models in Serve. `repository`: the folder of which models may be loaded, besides the `sources`; None: no
    model comes or goes."""

    def __init__(self, sources: tuple[ModelSource, ...], options: ModelOptions, repository: Path | None) -> None:
        self._sources = sources
        self._options = options
        self._repository = repository
        self._deployed = Looks(applications.deployed)
        self._going: set[str] = set()
        self._handles: dict[str, DeploymentHandle] = {}
        self._descriptions: dict[str, Description] = {}
        self._changing = asyncio.Lock()
        self._changes: set[asyncio.Task[None]] = set()
        self.loading = ""
        """The model that is being loaded: that it is not ready yet does not make the server so."""

    async def all(self, max_age_s: float = 0.0) -> tuple[Deployed, ...]:
        """Every version of every model, as it was at most so many seconds ago."""
        return _newest([each for each in await self._deployed.get(max_age_s) if each.application not in self._going])

    async def find(self, name: str, version: str = "", max_age_s: float = _FRESH_S) -> Deployed:
        """The model of that name and version, or of the highest version that is ready.

        Errors: UnknownModelError, NotReadyError.
        """
        known = _of(await self.all(max_age_s), name, version)
        if not any(each.is_ready for each in known):
            known = _of(await self.all(min(max_age_s, 0.1)), name, version)
        if not known:
            raise UnknownModelError("there is no such model", values={"model": name, "version": version or "any"})
        ready = [each for each in known if each.is_ready]
        if not ready:
            raise NotReadyError("the model is not ready", values={"model": name, "reason": known[0].problem})
        return max(ready, key=lambda each: int(each.version))

    async def infer(self, name: str, version: str, request: InferenceRequest, timeout_s: float) -> Outcome:
        """The outcome of one inference. Where time is up or the caller is cancelled, so is the inference.

        Errors: UnknownModelError, NotReadyError, OverloadedError, TimedOutError, ServeError.
        """
        deadline = time.monotonic() + timeout_s
        for left in reversed(range(_TRIES)):
            found = await _in_time(deadline, timeout_s, self.find(name, version))
            sent = replace(request, timeout_s=max(0.0, deadline - time.monotonic()))
            try:
                with _told(name):
                    return await _within(deadline, timeout_s, self._handle(found).infer.remote(sent))
            except _LostError:
                self._deployed.forget()
                if not left:
                    raise
        raise AssertionError

    async def describe(self, model: Deployed) -> Description:
        """What a model tells of itself."""
        if model.application not in self._descriptions:
            with _told(model.name):
                self._descriptions[model.application] = await self._handle(model).describe.remote()
        return self._descriptions[model.application]

    async def statistics(self, model: Deployed) -> Statistics:
        """Of all its replicas that run now."""
        with _told(model.name):
            each = await self._handle(model).broadcast("statistics").results_async()
        return sum(each, Statistics())

    async def offered(self) -> dict[str, tuple[ModelSource, ...]]:
        """What may be loaded: the models that the server was started with, and those of the repository."""
        if self._repository is None:
            return {}
        found = await asyncio.to_thread(scan, self._repository)
        given = {each.name: tuple(one for one in self._sources if one.name == each.name) for each in self._sources}
        return {**found, **given}

    async def load(self, name: str) -> None:
        """Load all versions of a model, or load them anew; those that were there answer until the new ones are ready.

        Goes on where the caller is cancelled. Errors: UnsupportedRequestError, BadRequestError.
        """
        await self._to_its_end(self._load(name))

    async def unload(self, name: str) -> None:
        """Unload all versions of a model; inferences that run are computed to their end.

        Goes on where the caller is cancelled. Errors: UnsupportedRequestError, UnknownModelError.
        """
        await self._to_its_end(self._unload(name))

    async def _to_its_end(self, change: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(change)
        self._changes.add(task)
        task.add_done_callback(self._changes.discard)
        await asyncio.shield(task)

    async def _load(self, name: str) -> None:
        async with self._changing:
            offered = await self._check_changeable()
            if name not in offered:
                raise BadRequestError("there is no such model to load", values={"model": name})
            former = await self._generations(name)
            self.loading = name
            try:
                await asyncio.to_thread(applications.deploy, offered[name], self._options)
            except ClinferError as error:
                raise BadRequestError(error.what, values=error.values) from None
            finally:
                self.loading = ""
            await self._remove(former)

    async def _unload(self, name: str) -> None:
        async with self._changing:
            await self._check_changeable()
            former = await self._generations(name)
            if not former:
                raise UnknownModelError("there is no such model", values={"model": name})
            await self._remove(former)

    async def _check_changeable(self) -> dict[str, tuple[ModelSource, ...]]:
        if self._repository is None:
            raise UnsupportedRequestError("the models of this server do not change",
                                          hint="start it with --repository FOLDER")
        return await self.offered()

    async def _remove(self, former: tuple[Deployed, ...]) -> None:
        gone = {each.application for each in former}
        self._going |= gone
        for application in gone:
            self._handles.pop(application, None)
            self._descriptions.pop(application, None)
        try:
            await asyncio.to_thread(applications.delete, former)
        finally:
            self._deployed.forget()
            self._going -= gone

    async def _generations(self, name: str) -> tuple[Deployed, ...]:
        """Every version of a model, with earlier generations: a front end that was lost may have left some."""
        return tuple(each for each in await self._deployed.get(0.0) if each.name == name)

    def _handle(self, model: Deployed) -> DeploymentHandle:
        if model.application not in self._handles:
            self._handles[model.application] = model.handle
        return self._handles[model.application]


class _LostError(NotReadyError):
    """A replica was lost while it was asked; another may answer."""


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Ray's errors about a model as those of the server."""
    try:
        yield
    except (ActorDiedError, ActorUnavailableError, DeploymentUnavailableError):
        raise _LostError("the replicas of the model were lost", values={"model": name}) from None
    except BackPressureError:
        raise OverloadedError("too many requests wait for the model", values={"model": name}) from None
    except RequestCancelledError:
        raise ServeError("the inference was cancelled", values={"model": name}) from None
    except RayTaskError as error:
        raise ServeError("the replica of the model failed", values={"model": name, "reason": error.cause}) from None


async def _within(deadline: float, timeout_s: float, response: Any) -> Outcome:
    """What a replica answers, unless time is up or this task is cancelled: then the replica is told so."""
    try:
        return await _in_time(deadline, timeout_s, _awaited(response))
    except (TimedOutError, asyncio.CancelledError):
        response.cancel()
        raise


async def _in_time(deadline: float, timeout_s: float, waiting: Coroutine[Any, Any, T]) -> T:
    """What is waited for, unless time is up: then it is cancelled."""
    try:
        return await asyncio.wait_for(waiting, max(0.0, deadline - time.monotonic()))
    except asyncio.TimeoutError:
        raise TimedOutError("the inference took too long, and was cancelled",
                            values={"seconds": timeout_s}) from None


async def _awaited(response: Awaitable[Outcome]) -> Outcome:
    return await response


def _of(known: tuple[Deployed, ...], name: str, version: str) -> tuple[Deployed, ...]:
    return tuple(each for each in known if each.name == name and version in ("", each.version))


def _newest(known: Iterable[Deployed]) -> tuple[Deployed, ...]:
    """Of each version of each model the latest generation that is ready, else the latest."""
    best: dict[tuple[str, str], Deployed] = {}
    for each in sorted(known, key=lambda one: (one.is_ready, one.generation)):
        best[each.name, each.version] = each
    return tuple(best.values())
