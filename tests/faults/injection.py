"""Raises at the n-th point of what is run: a line, a bytecode, a call of the driver, or some moment.

Lines and bytecodes are those of clinfer and of contextlib, whose frames stand between a `with` and clinfer's code.
Left out is what no interrupt divides, as the interpreter hands one over behind calls, at the begin of functions and
where loops go back: the instructions that leave a `with`, between the last of these and `__exit__`, and those that note
an exception as the one that is handled or end that. What a trace function raises at the latter has no entry in the
table of handlers, so that CPython goes on to hold the exception, with its frames and all that they hold, for as long as
the thread handles others: at the first and last instructions of each `except StopIteration` of contextlib too.
"""
from __future__ import annotations

import contextlib
import dis
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Literal

import pyopencl as cl

import clinfer
from clinfer.runtime import driver, program

Mode = Literal["line", "bytecode", "refused", "interrupted", "signal"]
MODES: tuple[Mode, ...] = ("line", "bytecode", "refused", "interrupted", "signal")
"""`refused`: a call of the driver fails. `interrupted`: an interrupt arrives during a call of the driver. `signal`:
SIGINT at a moment."""

_OURS = str(Path(clinfer.__file__).parent)
_BETWEEN = contextlib.__file__
REFUSAL = int(cl.status_code.OUT_OF_RESOURCES)


class Faults:
    """Counts points, and raises at one of them. Inactive until `at` is entered."""

    def __init__(self) -> None:
        self.count = 0
        self.reached = ""
        self._chosen = -1
        self._mode: Mode | None = None
        self._thread = 0

    @contextlib.contextmanager
    def at(self, mode: Mode, chosen: int) -> Iterator[None]:
        """While it lasts, the point number `chosen` of this thread raises; -1: none, they are only counted."""
        self.count, self.reached, self._chosen, self._thread = 0, "", chosen, threading.get_ident()
        self._mode = mode
        try:
            if mode in ("line", "bytecode"):
                sys.settrace(self._enter)
            yield
        finally:
            sys.settrace(None)
            self._mode = None

    # -- the interpreter ------------------------------------------------------------------------

    def _enter(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        file = frame.f_code.co_filename
        if self._mode is None or not (file.startswith(_OURS) or file == _BETWEEN):
            return None
        frame.f_trace_opcodes = self._mode == "bytecode"
        frame.f_trace_lines = self._mode == "line"
        return self._step

    def _step(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        if event in ("line", "opcode") and frame.f_lasti not in _undivided(frame.f_code):
            self._pass(lambda: f"{Path(frame.f_code.co_filename).stem}:{frame.f_lineno} {frame.f_code.co_name}"
                               f"+{frame.f_lasti}", KeyboardInterrupt)
        return self._step

    # -- the driver -----------------------------------------------------------------------------

    def wrap(self, call: Callable[..., Any], name: str, refuse: Callable[[], Any]) -> Callable[..., Any]:
        """A call of the driver as a point. `refuse` gives the driver's refusal, or raises it."""
        def wrapped(*given: Any, **named: Any) -> Any:
            if self._mode == "refused" and self._is_chosen(lambda: name):
                return refuse()
            result = call(*given, **named)
            if self._mode == "interrupted":
                self._pass(lambda: name, KeyboardInterrupt)
            return result
        return wrapped

    # -- points ---------------------------------------------------------------------------------

    def _is_chosen(self, name: Callable[[], str]) -> bool:
        if threading.get_ident() != self._thread:
            return False
        self.count += 1
        if self.count - 1 != self._chosen:
            return False
        self.reached = name()
        return True

    def _pass(self, name: Callable[[], str], error: type[BaseException]) -> None:
        if self._is_chosen(name):
            sys.settrace(None)
            raise error


FAULTS = Faults()

_STATUS_CALLS = ("enqueue_nd_range_kernel", "set_kernel_arg", "read_buffer", "write_buffer", "read_rectangle",
                 "write_rectangle")
_RAISING_CALLS = ("_enqueue_write_buffer", "_enqueue_read_buffer", "_enqueue_copy_buffer", "_enqueue_copy_buffer_rect",
                  "_enqueue_fill_buffer")


def watch_driver() -> None:
    """Make points of the driver's calls, for all streams and kernels that are made from now on."""
    def patch(owner: Any, name: str, refuse: Callable[[], Any]) -> None:
        setattr(owner, name, FAULTS.wrap(getattr(owner, name), name, refuse))

    for name in _STATUS_CALLS:
        patch(driver, name, lambda: REFUSAL)
    patch(driver, "create_kernel", lambda: (0, REFUSAL))
    patch(driver, "create_buffer", lambda: None)
    for name in _RAISING_CALLS:
        patch(cl._cl, name, _refuse)
    for name in ("enqueue_marker", "enqueue_barrier", "wait_for_events", "enqueue_map_buffer"):
        patch(cl, name, _refuse)
    patch(program, "_build", _refuse_build)
    for name in ("finish", "flush"):
        patch(cl.CommandQueue, name, _refuse)
    patch(cl.Buffer, "get_sub_region", _refuse)
    patch(cl.Buffer, "__init__", lambda: _refuse(cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE))


def _refuse(code: int = REFUSAL) -> Any:
    raise cl.RuntimeError(cl._cl._ErrorRecord(msg="refused by the test", code=int(code), routine="test"))


def _refuse_build() -> Any:
    raise program.BuildFailure("refused by the test")


@contextlib.contextmanager
def signal_after(seconds: float) -> Iterator[None]:
    """Send this process a SIGINT so long after the begin; it has arrived at the end, or is not sent any more."""
    lock, is_over = threading.Lock(), [False]

    def send() -> None:
        time.sleep(seconds)
        with lock:
            if not is_over[0]:
                is_over[0] = True
                os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        with lock:
            is_over[0] = True
        thread.join()


@cache
def _undivided(code: CodeType) -> frozenset[int]:
    """The offsets of the instructions that no interrupt comes to."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "EXTENDED_ARG")]
    return frozenset(step.offset for step in [*_leaving(steps), *_noting(steps)])


def _leaving(steps: Sequence[dis.Instruction]) -> Iterator[dis.Instruction]:
    """The instructions that leave a `with`."""
    for number, step in enumerate(steps):
        if step.opname == "WITH_EXCEPT_START":
            yield from steps[max(number - 1, 0):number + 1]
        call = next((n for n in range(number + 3, min(number + 5, len(steps)))
                     if steps[n].opname in ("CALL", "CALL_FUNCTION")), None)
        if call is not None and _gives_nothing(steps[number:number + 3]):
            begin = number - 1 if number and steps[number - 1].opname in ("SWAP", "ROT_TWO") else number
            yield from steps[begin:call + 1]


def _noting(steps: Sequence[dis.Instruction]) -> Iterator[dis.Instruction]:
    """The instructions that begin and end the handling of an exception."""
    for number, step in enumerate(steps):
        if step.opname == "PUSH_EXC_INFO":
            yield step
        if step.opname == "POP_EXCEPT":
            yield from steps[number - 1:number + 1] if number and steps[number - 1].opname == "COPY" else [step]


def _gives_nothing(steps: Sequence[dis.Instruction]) -> bool:
    """Whether these are the three None that `__exit__` is called with."""
    names = [step.opname for step in steps]
    return steps[0].argval is None and names in (["LOAD_CONST"] * 3, ["LOAD_CONST", "DUP_TOP", "DUP_TOP"]) and (
        all(step.argval is None for step in steps))
