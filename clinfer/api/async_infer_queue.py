"""A queue of infer requests that run in the background."""
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.infer_request import InferRequest
from clinfer.base.errors import ClinferError


class AsyncInferQueue:
    """`jobs` requests of one model (0: as many as the model runs at a time), each started when it is idle."""

    def __init__(self, model: CompiledModel, jobs: int = 0) -> None:
        if jobs < 0:
            raise ClinferError("a queue needs a number of jobs", where="AsyncInferQueue", values={"jobs": jobs},
                               hint="0 stands for as many as the model runs at a time")
        count = jobs or model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
        self._requests = [model.create_infer_request() for _ in range(count)]
        self._userdata: list[Any] = [None] * count
        self._idle = deque(range(count))
        self._changed = threading.Condition()
        self._callback: Callable[[InferRequest, Any], None] | None = None
        self._errors: list[BaseException] = []
        for id, request in enumerate(self._requests):
            request._on_finish = partial(self._finish, id)

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[InferRequest]:
        return iter(self._requests)

    def __getitem__(self, i: int) -> InferRequest:
        return self._requests[i]

    @property
    def userdata(self) -> list[Any]:
        """What was handed to the last `start_async` of each request."""
        return list(self._userdata)

    def set_callback(self, callback: Callable[[InferRequest, Any], None]) -> None:
        """Call `callback(request, userdata)` after every inference that succeeds, in the thread that ran it."""
        self._callback = callback

    def is_ready(self) -> bool:
        """Whether `start_async` would start at once."""
        with self._changed:
            self._raise_errors()
            return bool(self._idle)

    def get_idle_request_id(self) -> int:
        """The index of the request that `start_async` takes next; waits until one is idle."""
        with self._changed:
            self._changed.wait_for(lambda: self._idle or self._errors)
            self._raise_errors()
            return self._idle[0]

    def start_async(self, inputs: Any = None, userdata: Any = None, share_inputs: bool = False) -> None:
        """Run in the next idle request, for which it waits; see InferRequest.start_async.

        Raises what went wrong in earlier inferences or callbacks.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._idle or self._errors)
            self._raise_errors()
            id = self._idle.popleft()
        self._userdata[id] = userdata
        try:
            self._requests[id].start_async(inputs, userdata, share_inputs)
        except BaseException:
            with self._changed:
                self._idle.appendleft(id)
                self._changed.notify_all()
            raise

    def wait_all(self) -> None:
        """Wait until every inference and callback is over; raises the first error among them."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._idle) == len(self._requests))
            self._raise_errors()

    def _finish(self, id: int, error: BaseException | None) -> None:
        try:
            if error is None and self._callback is not None:
                self._callback(self._requests[id], self._userdata[id])
        except BaseException as caught:
            error = caught
        with self._changed:
            if error is not None:
                self._errors.append(error)
            if id not in self._idle:
                self._idle.append(id)
            self._changed.notify_all()

    def _raise_errors(self) -> None:
        if self._errors:
            first = self._errors[0]
            self._errors.clear()
            raise first
