"""A replica: one model on one device, in a process of its own, as Ray Serve runs it."""
from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from ray import serve

from clinfer.base.errors import DeviceUnavailableError
from clinfer.serve.compiled import ServedModel
from clinfer.serve.computing import Computing, Ticket
from clinfer.serve.devices import served_devices
from clinfer.serve.errors import LostDeviceError
from clinfer.serve.messages import Description, InferenceRequest, Outcome, Statistics
from clinfer.serve.options import ModelOptions, ModelSource
from clinfer.serve.rows import why_unbatched

DEPLOYMENT = "model"
"""The name of the one deployment of a model's application."""
_DAY_S = 86400.0


class Replica:
    """Answers requests to a model. An error in the constructor is Ray Serve's to tell and to repeat."""

    def __init__(self, source: ModelSource, options: ModelOptions) -> None:
        devices = served_devices(options.device)
        device = devices[serve.get_replica_context().rank.local_rank % len(devices)]
        self._model = ServedModel(source.path, device, options.properties)
        reason = "--max-batch is 1" if options.max_batch == 1 else why_unbatched(self._model)
        self._description = Description(source.name, source.version, self._model.device, self._model.inputs,
                                        self._model.outputs, 0 if reason else options.max_batch, reason)
        self._ongoing = 0
        self._computing = Computing(self._model, self._description)
        self._batched = serve.batch(max_batch_size=options.max_batch, batch_wait_timeout_s=options.batch_wait_s,
                                    max_concurrent_batches=self._model.streams, batch_size_fn=_rows,
                                    )(self._answer_all)

    async def infer(self, request: InferenceRequest) -> Outcome:
        """The outcome of one request. Where nothing else is computed it waits for no others. When the caller gives
        up or the request's time is up, so does the inference, unless others share it."""
        ticket = Ticket(request)
        # The caller has a clock of its own; Ray's word that it gave up may get lost.
        patience_s = _DAY_S if request.timeout_s is None else request.timeout_s
        timer = asyncio.get_running_loop().call_later(patience_s, ticket.give_up)
        self._ongoing += 1
        try:
            if self._ongoing == 1 or not self._description.max_batch:
                return (await self._answer_all([ticket]))[0]
            return await self._batched(ticket)
        except asyncio.CancelledError:
            ticket.give_up()
            raise
        finally:
            timer.cancel()
            self._ongoing -= 1

    async def describe(self) -> Description:
        """What the model tells of itself."""
        return self._description

    async def statistics(self) -> Statistics:
        """Of this replica, since it was started."""
        return self._computing.statistics

    async def check_health(self) -> None:
        """Raise where the device does not answer: Ray Serve ends the replica and starts another."""
        try:
            await asyncio.to_thread(self._model.check_device)
        except DeviceUnavailableError as error:
            _end(error)
        await asyncio.to_thread(give_back_memory)

    async def _answer_all(self, tickets: Sequence[Ticket]) -> list[Outcome]:
        outcomes = await self._computing.answer(tickets)
        for each in outcomes:
            if isinstance(each, LostDeviceError):
                _end(each)
        return outcomes


def give_back_memory() -> None:
    """Give the system back what was let go. glibc keeps it, in a heap for each thread: after many requests at a time
    hundreds of megabytes."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _end(reason: Exception) -> NoReturn:
    """End this process, whose device is lost: at once, because it fails faster than others compute, so that it would
    get most requests. The front end sends those under way to another replica, and Ray Serve starts a new one."""
    logging.getLogger("ray.serve").error("the replica ends: %s", reason)
    logging.shutdown()
    os._exit(1)


def _rows(tickets: list[Ticket]) -> int:
    return sum(ticket.request.rows for ticket in tickets)
