"""A queue of infer requests that run in the background."""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

from clinfer.api.arguments import check_callback
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.infer_request import InferRequest
from clinfer.base.errors import WrongTypeError
from clinfer.base.one_of_a_kind import OneOfAKind
from clinfer.base.turns import Token

Callback: TypeAlias = Callable[[InferRequest, Any], None]
_LOOK_S = 0.1
"""How often who waits looks by itself: an interrupt may keep others from telling."""


class AsyncInferQueue(OneOfAKind):
    """`jobs` requests of one model (0: as many as the model runs at a time), each started when it is idle."""

    def __init__(self, model: CompiledModel, jobs: int = 0) -> None:
        if not isinstance(model, CompiledModel):
            raise WrongTypeError("a queue runs a compiled model", where="AsyncInferQueue",
                                 values={"given": type(model).__name__})
        if not isinstance(jobs, int) or jobs < 0:
            raise WrongTypeError("a queue needs a number of jobs", where="AsyncInferQueue", values={"jobs": jobs},
                                 hint="0 stands for as many as the model runs at a time")
        count = jobs or model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
        self._jobs = _Jobs(count)
        self._requests = [model.new_request(partial(self._jobs.finish, id)) for id in range(count)]
        self._jobs.devices = [request.get_compiled_model().engine.device.name for request in self._requests]

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[InferRequest]:
        return iter(self._requests)

    def __getitem__(self, i: int) -> InferRequest:
        return self._requests[i]

    def __repr__(self) -> str:
        return f"<AsyncInferQueue: {len(self)} jobs>"

    @property
    def userdata(self) -> list[Any]:
        """What was handed to the last `start_async` of each request."""
        return list(self._jobs.userdata)

    def set_callback(self, callback: Callback) -> None:
        """Call `callback(request, userdata)` after every inference that succeeds, in the thread that ran it."""
        check_callback(callback, "AsyncInferQueue")
        self._jobs.callback = callback

    def is_ready(self) -> bool:
        """Whether `start_async` would start at once."""
        return self._jobs.any_idle()

    def get_idle_request_id(self) -> int:
        """The index of the request that `start_async` takes next; waits until one is idle."""
        return self._jobs.next_idle()

    def start_async(self, inputs: Any = None, userdata: Any = None, share_inputs: bool = False) -> None:
        """Run in the next idle request, for which it waits; see InferRequest.start_async.

        Raises what went wrong in earlier inferences or callbacks.
        """
        job = Token()
        try:
            self._requests[self._jobs.take(job, userdata)].start_async(inputs, userdata, share_inputs)
        except BaseException:
            id = self._jobs.id_of(job)
            if id is None or not self._requests[id].is_running:
                job.is_over = True
                self._jobs.tell()
            raise

    def wait_all(self) -> None:
        """Wait until every inference and callback is over; raises the first error among them."""
        self._jobs.wait_all()


class _Jobs:
    """Which requests are idle, and what went wrong, which who asks or waits is told once.

    It refers to no request: a cycle would keep device memory until the garbage collector runs.
    """

    def __init__(self, count: int) -> None:
        self.userdata: list[Any] = [None] * count
        self.callback: Callback | None = None
        self.devices = [""] * count
        """On which each runs."""
        self._users: list[Token | None] = [None] * count
        self._finished = list(range(-count, 0))
        """When each was in use last, as numbers that grow: the one that is idle longest comes first."""
        self._errors: list[BaseException] = []
        # Reentrant, because its `with` is divided by no interrupt, which that of a condition is.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)

    def any_idle(self) -> bool:
        with self._lock:
            self._raise_errors()
            return bool(self._idle())

    def next_idle(self) -> int:
        with self._lock:
            while not self._errors:
                idle = self._idle()
                if idle:
                    return min(idle, key=lambda id: (self._load(id), self._finished[id]))
                self._changed.wait(_LOOK_S)
            self._raise_errors()
        raise AssertionError("there were errors")

    def take(self, job: Token, userdata: Any) -> int:
        """The index of a request that is this job's until it is over or finished."""
        with self._lock:
            id = self.next_idle()
            self._users[id] = job
            self.userdata[id] = userdata
            return id

    def id_of(self, job: Token) -> int | None:
        """The index of the request that a job has."""
        return next((id for id, user in enumerate(self._users) if user is job), None)

    def tell(self) -> None:
        """Wake up who waits, after a job is over."""
        with self._lock:
            self._changed.notify_all()

    def wait_all(self) -> None:
        with self._lock:
            while len(self._idle()) < len(self._users):
                self._changed.wait(_LOOK_S)
            self._raise_errors()

    def finish(self, id: int, request: InferRequest, error: BaseException | None) -> None:
        """Call the callback after a run that succeeded; the request is idle again."""
        try:
            if error is None and self.callback is not None:
                self.callback(request, self.userdata[id])
        except BaseException as caught:
            error = caught
        with self._lock:
            if error is not None:
                self._errors.append(error)
            self._finished[id] = max(self._finished) + 1
            self._users[id] = None
            self._changed.notify_all()

    def _load(self, id: int) -> float:
        """The part of the requests of a request's device that is in use."""
        users = [user for user, device in zip(self._users, self.devices, strict=True) if device == self.devices[id]]
        return sum(user is not None and not user.is_over for user in users) / len(users)

    def _idle(self) -> list[int]:
        return [id for id, user in enumerate(self._users) if user is None or user.is_over]

    def _raise_errors(self) -> None:
        if self._errors:
            first = self._errors[0]
            self._errors.clear()
            raise first
