"""Keeps one case from ending the run: a worker that dies or hangs is the result of its case."""
from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from tests.conformance.outcome import ERROR, CaseName, Outcome

Serve = Callable[[Connection, str], None]
_CONTEXT = multiprocessing.get_context("spawn")
_STARTING_S = 120.0


def serve_cases(connection: Connection, device: str) -> None:
    """`worker.serve`, imported in the worker only."""
    from tests.conformance.worker import serve
    serve(connection, device)


@dataclass
class Guard:
    """A worker process that runs cases on a device, replaced whenever a case brings it down.

    `timeout_s` is how long one case may take; `serve` is what the worker runs, see `worker.serve`.
    """

    device: str
    timeout_s: float
    serve: Serve = serve_cases
    names: list[CaseName] = field(default_factory=list)
    _process: SpawnProcess | None = None
    _connection: Connection | None = None

    def start(self) -> None:
        """Start a worker, which says what cases there are."""
        ours, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=self.serve, args=(theirs, self.device), daemon=False)
        self._process.start()
        theirs.close()
        self._connection = ours
        if not ours.poll(_STARTING_S):
            self.stop()
            raise RuntimeError(f"the worker did not start within {_STARTING_S:.0f} s")
        try:
            self.names = ours.recv()
        except EOFError:
            raise RuntimeError("the worker ended before the first case, see above") from None

    def judge(self, case: CaseName) -> Outcome:
        """The outcome of a case."""
        answer = self._ask("judge", case)
        if isinstance(answer, str):
            return Outcome(case.name, case.op, ERROR, answer)
        status, detail, seconds = answer
        return Outcome(case.name, case.op, status, detail, seconds)

    def beside_openvino(self, case: CaseName) -> tuple[bool, str]:
        """Whether OpenVINO's CPU plugin gives the same wrong results, and if not, what it gives."""
        answer = self._ask("beside_openvino", case)
        return (False, answer) if isinstance(answer, str) else answer

    def _ask(self, question: str, case: CaseName) -> Any:
        """The worker's answer, or as text what became of the worker."""
        if self._connection is None:
            self.start()
        assert self._connection is not None and self._process is not None
        try:
            self._connection.send((question, case.name))
            if not self._connection.poll(self.timeout_s):
                self.stop()
                return f"no answer after {self.timeout_s:.0f} s"
            return self._connection.recv()
        except (EOFError, OSError):
            self._process.join(5.0)
            code = self._process.exitcode
            self.stop()
            return f"the worker ended with exit code {code}"

    def __enter__(self) -> Guard:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the worker, if there is one."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.join(0.5)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        self._process = self._connection = None
