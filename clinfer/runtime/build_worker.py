"""The main program of a helper process: `python -m clinfer.runtime.build_worker`.

Reads the device's identity and whether it works in the background, answers None (ready) or the reason why not, then
serves messages: ("build", BuildJob) -> (binary or None, compiler's log or None); ("probe", name) -> its answer;
("trial", Trial) -> its TrialResult, or None where the device had no room for it.
"""
from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

import pyopencl as cl

from clinfer.runtime.device import DeviceInfo, available_devices
from clinfer.runtime.helper import receive, send
from clinfer.runtime.probe_bench import Bench
from clinfer.runtime.probes import run_probe
from clinfer.runtime.program import BuildFailure, binary_of, compile_job
from clinfer.runtime.tile_registers import may_use_tile_registers
from clinfer.runtime.trial import Trial, TrialBench, TrialResult

_NICENESS = 10


def main() -> None:
    """Serve standard input until it ends; leave at once then, even in the middle of a build."""
    answers = _take_standard_output()
    messages = _read_in_background(sys.stdin.buffer)
    identity, is_in_background = next(messages)
    # Before the driver starts threads, because these inherit it.
    if is_in_background:
        _step_back()
    # Trials run kernels of the process that sends them.
    may_use_tile_registers()
    try:
        device = _find(identity)
        bench = Bench(device.open(), device.cl_device)
    except (LookupError, cl.Error) as error:
        send(answers, f"the helper process cannot open the device: {error}")
        return
    send(answers, None)
    trials = TrialBench(bench.context, bench.device)
    for message in messages:
        send(answers, _try(trials, message[1]) if message[0] == "trial" else _serve(device, bench, message))


def _step_back() -> None:
    """Leave the processors to all that wants them, on Linux at once: beside a process that is merely nicer, threads
    that wake wait for its turn to end, up to milliseconds."""
    if hasattr(os, "SCHED_IDLE"):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    if hasattr(os, "nice"):
        os.nice(_NICENESS)


def _take_standard_output() -> IO[bytes]:
    """A private copy of standard output, which from now on is standard error: drivers like to print."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _read_in_background(pipe: IO[bytes]) -> Iterator[Any]:
    messages: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def read() -> None:
        while True:
            try:
                messages.put(receive(pipe))
            except (EOFError, OSError):
                os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield messages.get()


def _find(identity: tuple[str, ...]) -> DeviceInfo:
    for device in available_devices():
        if device.identity == identity:
            return device
    raise LookupError(f"it does not see {identity}")


def _serve(device: DeviceInfo, bench: Bench, message: tuple[Any, ...]) -> Any:
    if message[0] == "probe":
        return run_probe(bench, message[1])
    try:
        program = compile_job(bench.context, bench.device, message[1])
        return binary_of(program, device), None
    except (BuildFailure, cl.Error) as failure:
        return None, str(failure)


def _try(trials: TrialBench, trial: Trial) -> TrialResult | None:
    try:
        return trials.run(trial)
    except cl.Error:
        return None


if __name__ == "__main__":
    main()
