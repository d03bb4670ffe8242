"""Launches that come again and again, as the stages of a megakernel (`ptx_megakernel.py`).

A launch takes NVIDIA's driver 4 to 10 us, and one that waits for another begins some 2 us behind it; a stage of a
megakernel begins 1.2 us behind the one before, and the host launches once. The megakernel of a run of launches is built
beside them when it has come often enough; from then on the run is a table on the device, of which only what changes is
written again.

All groups of a megakernel must be on the device at the same time. So there is one group for each compute unit, and
of several queues only one has a megakernel under way; the others launch kernel by kernel meanwhile.
"""
from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import pyopencl as cl

from clinfer.base.errors import ClinferError
from clinfer.base.tracing import log
from clinfer.runtime.body_key import Launch, key_of
from clinfer.runtime.builder import build_in_processes
from clinfer.runtime.device_addresses import DeviceAddresses
from clinfer.runtime.driver import StatusError
from clinfer.runtime.launches import Launches
from clinfer.runtime.program import BuildJob, Program, unseal
from clinfer.runtime.ptx_kernel import NotJoinable, PtxKernel, find_kernel
from clinfer.runtime.ptx_megakernel import Body, megakernel
from clinfer.runtime.stage_table import exchange_job
from clinfer.runtime.staged_launches import Joined, StagedLaunches

if TYPE_CHECKING:
    from clinfer.runtime.engine import Engine
    from clinfer.runtime.stream import Stream

AGAIN = 64
"""So often the same kernels are launched one by one before a megakernel is built: by then specialised kernels have
taken the places of those that a network began with."""
FEWEST = 4
"""Launches one behind the other that are worth a megakernel."""
_ITEMS_A_UNIT = 1024
"""Work-items of a stage that a compute unit may have, one group after the other."""
_AT_WORK = threading.Lock()
"""Held while the driver is at work for a thread that nobody waits for. Python does not end meanwhile, and none begins
afterwards: drivers crash where their work outlives the process."""
atexit.register(_AT_WORK.acquire)


@dataclass
class Request:
    """The wish for a megakernel of some launches; `joined` once it is built, which may be never."""

    joined: Joined | None = None


def _in_long_runs(joinable: Sequence[bool]) -> frozenset[int]:
    """The positions that are worth joining."""
    runs = (list(run) for is_joinable, run in groupby(range(len(joinable)), joinable.__getitem__) if is_joinable)
    return frozenset(position for run in runs if len(run) >= FEWEST for position in run)


def _ask_addresses(engine: Engine, launches: Sequence[Launch]) -> None:
    """Ask for them here, so that who launches need not wait."""
    addresses = DeviceAddresses(engine)
    for memory in {memory for kernel, _ in launches for memory in kernel.memories()}:
        # It may be given back meanwhile.
        with _AT_WORK, suppress(ClinferError):
            addresses.of([memory])


class Megakernels:
    """The megakernels of an engine on a device with so many compute `units`, and which queue has one under way. Safe
    from several threads. It does not refer to the engine, which would keep the user's context until the garbage
    collector runs."""

    def __init__(self, units: int) -> None:
        self._units = units
        self._lock = threading.Lock()
        self._texts: weakref.WeakKeyDictionary[Program, str] = weakref.WeakKeyDictionary()
        self._owner: weakref.ref[Stream] | None = None

    def launch(self, stream: Stream, launches: Launches) -> bool:
        """Launch all as stages, on the queue on which they always are; False: they are to be launched one by one."""
        staged = launches.staged or self._stage(stream, launches)
        return staged is not None and self._may_have(stream) and staged.enqueue(stream, launches)

    def _stage(self, stream: Stream, launches: Launches) -> StagedLaunches | None:
        launches.again += 1
        if launches.again == AGAIN and len(launches) >= FEWEST:
            launches.request = self._begin(stream.engine, launches)
        request = launches.request
        if request is None or request.joined is None:
            return None
        launches.request = None
        try:
            launches.staged = StagedLaunches(stream, launches, request.joined, self._units)
        except ClinferError as reason:
            log(1, f"{len(launches)} launches stay apart: {reason}")
        return launches.staged

    def _may_have(self, stream: Stream) -> bool:
        """Whether no other queue has a megakernel under way; if so, this one has."""
        with self._lock:
            owner = self._owner() if self._owner is not None else None
            if owner is not None and owner is not stream and not owner.is_idle:
                return False
            self._owner = weakref.ref(stream)
            return True

    def _begin(self, engine: Engine, launches: Sequence[Launch]) -> Request:
        """Build the megakernel of some launches, beside everything else."""
        request = Request()
        threading.Thread(target=self._fulfil, args=[request, engine, tuple(launches)], name="clinfer joins launches",
                         daemon=True).start()
        return request

    def _fulfil(self, request: Request, engine: Engine, launches: Sequence[Launch]) -> None:
        try:
            joined = self._join(engine, launches)
            if joined is not None:
                _ask_addresses(engine, launches)
        except (ClinferError, NotJoinable, StatusError, cl.Error) as reason:
            log(1, f"{len(launches)} launches stay apart: {reason}")
            return
        request.joined = joined

    def _join(self, engine: Engine, launches: Sequence[Launch]) -> Joined | None:
        """The built megakernel of those launches that are worth it; None: there are none."""
        bodies = [self._body(launch) for launch in launches]
        stages = _in_long_runs([body is not None for body in bodies])
        found = {key_of(launch): body for position, (launch, body) in enumerate(zip(launches, bodies, strict=True))
                 if position in stages and body is not None}
        if not found:
            return None
        built = megakernel(tuple(found.values()), engine.capabilities.usable_local_mem)
        jobs = BuildJob("", binary=built.text.encode("latin-1")), exchange_job(engine)
        # In a helper first, because a driver that builds keeps others waiting; then it finds the programs on its disk.
        build_in_processes(engine.device, jobs, workers=1)
        with _AT_WORK:
            program, exchange = (engine.build(job, "a megakernel") for job in jobs)
        log(1, f"{len(stages)} of {len(launches)} launches are stages of a megakernel of {len(found)} kernels")
        return Joined(program, exchange, built, {key: number for number, key in enumerate(found)}, stages)

    def _body(self, launch: Launch) -> Body | None:
        """What a launch is as a stage; None: it is launched by itself."""
        kernel, work = launch
        key = key_of(launch)
        try:
            body = Body(self._kernel(kernel.program, kernel.entry), key.local, work.local_size is None)
        except NotJoinable as reason:
            log(3, f"{kernel.entry} is no stage of a megakernel: {reason}")
            return None
        # By themselves launches of many groups have several on a compute unit at a time.
        x, y, z = key.groups(work)
        return body if x * y * z <= self._units * max(1, _ITEMS_A_UNIT // body.items) else None

    def _kernel(self, program: Program, entry: str) -> PtxKernel:
        text = self._texts.get(program)
        if text is None:
            text = self._texts[program] = unseal(program.binary, program.device).decode("latin-1")
        return find_kernel(text, entry)
