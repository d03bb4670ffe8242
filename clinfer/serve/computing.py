"""What a replica does with requests: checks them, computes those that go together at once, and counts."""
from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import numpy as np

from clinfer.base.errors import ClinferError, DeviceUnavailableError
from clinfer.serve.accounts import Accounts
from clinfer.serve.batches import group, split, stack
from clinfer.serve.compiled import ServedModel
from clinfer.serve.errors import LostDeviceError, ServeError
from clinfer.serve.messages import Description, InferenceRequest, InferenceResponse, Outcome, Statistics, Tensor


class Ticket:
    """A request on its way through a batch. Who gives up does not get an answer; when all of an execution's tickets
    are given up, it is cancelled."""

    def __init__(self, request: InferenceRequest) -> None:
        self.request = request
        self.arrived_ns = time.perf_counter_ns()
        self.is_given_up = False
        self.execution: Execution | None = None

    def give_up(self) -> None:
        self.is_given_up = True
        if self.execution is not None:
            self.execution.end_if_unwanted()


class Execution:
    """Tickets that are computed at once."""

    def __init__(self, tickets: Sequence[Ticket]) -> None:
        self.tickets = tickets
        self.task: asyncio.Task[dict[str, np.ndarray]] | None = None
        for ticket in tickets:
            ticket.execution = self

    def end_if_unwanted(self) -> None:
        if self.task is not None and all(ticket.is_given_up for ticket in self.tickets):
            self.task.cancel()


class Computing:
    """Answers requests to one model on one device."""

    def __init__(self, model: ServedModel, description: Description) -> None:
        self._model = model
        self._description = description
        self._ongoing = 0
        self.accounts = Accounts()

    @property
    def statistics(self) -> Statistics:
        """So far, and at present."""
        return self.accounts.so_far + Statistics(ongoing=self._ongoing, device_bytes=self._model.device_bytes)

    async def answer(self, tickets: Sequence[Ticket]) -> list[Outcome]:
        """An outcome for each ticket, in order. Requests of equal sizes are computed at once, up to the model's
        `max_batch` rows, if it is not 0."""
        self._ongoing += len(tickets)
        try:
            return await self._answer(tickets)
        finally:
            self._ongoing -= len(tickets)

    async def _answer(self, tickets: Sequence[Ticket]) -> list[Outcome]:
        outcomes: dict[int, Outcome] = {}
        fit = []
        for index, ticket in enumerate(tickets):
            try:
                self._model.check(ticket.request)
                fit.append(index)
            except ServeError as error:
                outcomes[index] = self._failed(ticket, error)
        groups = group([tickets[index].request for index in fit], max(1, self._description.max_batch))
        together = [[fit[position] for position in positions] for positions in groups]
        answers = await asyncio.gather(*(self._execute([tickets[index] for index in each]) for each in together))
        for indices, found in zip(together, answers, strict=True):
            outcomes.update(zip(indices, found, strict=True))
        return [outcomes[index] for index in range(len(tickets))]

    async def _execute(self, tickets: list[Ticket]) -> list[Outcome]:
        execution = Execution(tickets)
        rows = [self._rows(ticket) for ticket in tickets]
        start = time.perf_counter_ns()
        try:
            inputs = stack([ticket.request for ticket in tickets])
            stacked = time.perf_counter_ns()
            execution.task = asyncio.ensure_future(self._model.run(inputs))
            execution.end_if_unwanted()
            outputs = await execution.task
            computed = time.perf_counter_ns()
            each = split(outputs, rows) if len(tickets) > 1 else [outputs]
        except asyncio.CancelledError:
            return [self._failed(ticket, ServeError("the inference was cancelled")) for ticket in tickets]
        except ClinferError as error:
            if len(tickets) == 1 or isinstance(error, DeviceUnavailableError):
                return [self._failed(ticket, _told(error)) for ticket in tickets]
            # One request's fault is not its neighbours'.
            return [(await self._execute([ticket]))[0] for ticket in tickets]
        self.accounts.add_execution(sum(rows), len(tickets), {
            "compute_input": stacked - start, "compute_infer": computed - stacked,
            "compute_output": time.perf_counter_ns() - computed})
        return [self._succeeded(ticket, found, start) for ticket, found in zip(tickets, each, strict=True)]

    def _rows(self, ticket: Ticket) -> int:
        """How many inferences a request counts as."""
        return ticket.request.rows if self._description.max_batch else 1

    def _succeeded(self, ticket: Ticket, outputs: dict[str, np.ndarray], start_ns: int) -> InferenceResponse:
        arrived = ticket.arrived_ns
        self.accounts.add_request(self._rows(ticket), True, time.perf_counter_ns() - arrived, start_ns - arrived)
        wanted = ticket.request.outputs or tuple(outputs)
        datatypes = {port.name: port.datatype for port in self._description.outputs}
        tensors = tuple(Tensor(name, datatypes[name], outputs[name]) for name in wanted)
        return InferenceResponse(self._description.model, self._description.version, tensors, ticket.request.id)

    def _failed(self, ticket: Ticket, error: ServeError) -> ServeError:
        self.accounts.add_request(self._rows(ticket), False, time.perf_counter_ns() - ticket.arrived_ns, 0)
        return error


def _told(error: ClinferError) -> ServeError:
    """An error of the engine as one of the server."""
    if isinstance(error, ServeError):
        return error
    kind = LostDeviceError if isinstance(error, DeviceUnavailableError) else ServeError
    return kind(error.what, where=error.where, values=error.values, hint=error.hint)
