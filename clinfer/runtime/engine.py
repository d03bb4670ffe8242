"""One device opened for work: its context, memory, programs and streams."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cached_property, partial

import pyopencl as cl

from clinfer.base import knobs
from clinfer.base.layout import Layout
from clinfer.base.tracing import log
from clinfer.runtime import program as programs
from clinfer.runtime.capabilities import Capabilities, probe_capabilities
from clinfer.runtime.cores import bound_on_threads, open_bounded
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.driver import StatusError
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.ledger import MemoryLedger
from clinfer.runtime.megakernels import Megakernels
from clinfer.runtime.memory import Allocation, Memory, NativeBuffer, NativePointer
from clinfer.runtime.memory_types import (
    AllocationType,
    MemoryLimits,
    NativeType,
    check_allocation_type,
    choose_allocation_type,
)
from clinfer.runtime.pointers import PointerCalls, Pointers, svm_calls, usm_calls
from clinfer.runtime.program import BuildFailure, BuildJob, Program
from clinfer.runtime.retired_queues import retire
from clinfer.runtime.status import driver_error
from clinfer.runtime.stream import Stream


class Engine:
    """One OpenCL context. Allocating and building are safe from several threads.

    `build_workers`: how many helper processes may build at a time; 0 means one per core. `memory_limit`: bytes of
    memory of all types that may be held; None: what the device and the host have. `cl_context`: somebody else's
    context with the device among its own; None: a new one, on a CPU for computing in at most `threads` threads if the
    driver can be told so (0: one per core).
    """

    def __init__(self, device: DeviceInfo, capabilities: Capabilities | None = None, build_workers: int = 0,
                 memory_limit: int | None = None, cl_context: cl.Context | None = None, threads: int = 0) -> None:
        self.device = device
        self.build_workers = build_workers
        self.is_own = cl_context is None
        """Whether the context is nobody else's."""
        self.queue_device = device.cl_device
        """Where its streams compute: the device, or a part of it."""
        self.capabilities = capabilities or probe_capabilities(device)
        try:
            if cl_context is None:
                cl_context, self.queue_device = open_bounded(device, bound_on_threads(device, threads))
        except cl.Error as error:
            raise driver_error(error, "open the device", where=f"device {device}") from None
        self.cl_context = cl_context
        able = self.capabilities
        self.ledger = MemoryLedger(str(device), MemoryLimits(
            able.global_mem_size, able.host_mem_size, able.max_alloc_size, able.unified_memory, memory_limit))
        self.native_types = able.native_types
        self.pointers = self._open_pointers()
        log(1, f"Open {device}: {self.capabilities}")

    def create_stream(self, in_order: bool = True, profiling: bool = False) -> Stream:
        """A new queue. Out of order, the stream still keeps its commands in order, by barriers."""
        modes = cl.command_queue_properties
        properties = (0 if in_order else modes.OUT_OF_ORDER_EXEC_MODE_ENABLE) | (
            modes.PROFILING_ENABLE if profiling else 0)
        try:
            queue = cl.CommandQueue(self.cl_context, self.queue_device, properties)
        except cl.Error as error:
            raise driver_error(error, "create a queue", where=f"device {self.device}",
                               values={"in order": in_order, "profiling": profiling}) from None
        stream = Stream(self, queue, is_own=True)
        if not in_order and self.device.type == "CPU":
            weakref.finalize(stream, retire, queue).atexit = False
        return stream

    def allocate_memory(self, layout: Layout, zero: bool = False, what: str = "tensor",
                        allocation_type: AllocationType | None = None) -> Memory:
        """Memory for a static layout; its contents are undefined unless `zero`. Types: see `allocate_bytes`."""
        allocation = self._allocate(layout.byte_size, f"{what} {layout}", allocation_type)
        return self._zeroed(Memory(self, allocation, layout), zero)

    def allocate_bytes(self, nbytes: int, what: str = "buffer", zero: bool = False,
                       allocation_type: AllocationType | None = None) -> Memory:
        """Memory without a layout; `what` names it in errors.

        Without a type it goes to the device, or to the host where the device is full (`choose_allocation_type`).
        What stands behind a type on this device: `native_types`.
        """
        return self._zeroed(Memory(self, self._allocate(nbytes, what, allocation_type)), zero)

    def choose_allocation_type(self, nbytes: int) -> AllocationType:
        """Where memory of that size would go now; see `memory_types.choose_allocation_type`."""
        return choose_allocation_type(nbytes, self.ledger.on_device, self.ledger.limits)

    def host_address(self, memory: Memory) -> int:
        """Where the host sees a memory, as long as that lives; for pointers, and buffers where `buffers_in_place`."""
        if isinstance(memory.native, NativePointer):
            return memory.address
        # A queue of its own, because the memory may be waited for in others; not kept, because streams keep engines.
        with self.create_stream().mapped(memory) as contents:
            return int(contents.ctypes.data)

    def memory_statistics(self) -> dict[str, int]:
        """Bytes held now, of each type that is or was in use."""
        most = self.ledger.most()
        return {kind: size for kind, size in self.ledger.held().items() if most[kind]}

    def _open_pointers(self) -> Pointers | None:
        natives = set(self.native_types.values())
        calls = None
        if natives & {"usm_host", "usm_shared", "usm_device"}:
            calls = usm_calls(self.cl_context, self.device.cl_device)
        elif "svm" in natives:
            calls = svm_calls(self.cl_context)
        return Pointers(calls) if calls else None

    def _allocate(self, nbytes: int, what: str, wanted: AllocationType | None) -> Allocation:
        # OpenCL knows no empty buffers; an empty tensor still needs something to set as an argument.
        size = max(nbytes, 1)
        if wanted is not None:
            check_allocation_type(wanted)
        with self.ledger.lock:
            kind = wanted or self.choose_allocation_type(size)
            share = self.ledger.reserve(size, what, kind)
        native_type = self.native_types[kind]
        try:
            if native_type in ("cl_mem", "host_cl_mem"):
                return Allocation(self._buffer(native_type, size), nbytes, kind, share.give_back)
            pointers = self.pointers
            assert pointers is not None
            address = pointers.allocate(native_type, size)
        except (cl.Error, StatusError) as error:
            share.give_back()
            raise driver_error(error, f"allocate {what}", where=f"device {self.device}", values={
                "bytes": nbytes, "allocation type": kind, "native type": native_type,
                "in use by this engine": self.ledger.current}) from None
        return Allocation(NativePointer(address, native_type, pointers.calls), nbytes, kind,
                          partial(_free, pointers, address, share.give_back))

    def _buffer(self, kind: NativeType, size: int) -> NativeBuffer:
        flags = cl.mem_flags.READ_WRITE | (cl.mem_flags.ALLOC_HOST_PTR if kind == "host_cl_mem" else 0)
        return NativeBuffer(cl.Buffer(self.cl_context, flags, size), kind)

    def _zeroed(self, memory: Memory, zero: bool) -> Memory:
        if zero:
            stream = self.create_stream()
            stream.fill(memory)
            stream.finish()
        return memory

    @cached_property
    def svm_calls(self) -> PointerCalls | None:
        """What deals with the user's shared virtual memory; None where the OpenCL library has none."""
        return svm_calls(self.cl_context)

    @cached_property
    def megakernels(self) -> Megakernels | None:
        """What joins launches that come again and again; None where they cannot be joined."""
        able = self.capabilities
        return Megakernels(able.compute_units) if able.megakernels and knobs.megakernels_enabled() else None

    def build_program(self, source: str, options: str = "", what: str = "") -> Program:
        """Build OpenCL C; `what` names the kernels in errors (default: those the source spells out)."""
        return self.build(BuildJob(source, options), what)

    def build(self, job: BuildJob, what: str = "") -> Program:
        """Do a build job; `what` as for `build_program`."""
        try:
            built = programs.compile_job(self.cl_context, self.device.cl_device, job)
        except BuildFailure as failure:
            names = what or ", ".join(programs.entry_names(job.source)) or "a program"
            raise programs.build_error(self.device, str(failure), names, job.options) from None
        return Program(built, self.device)

    def load_binary(self, binary: bytes, options: str = "", what: str = "a program's binary") -> Program:
        """The program of a `Program.binary`; an error if it is damaged or made by another driver."""
        try:
            built = programs.compile_binary(self.cl_context, self.device, binary, options)
        except BuildFailure as failure:
            raise programs.build_error(self.device, str(failure), what, options) from None
        return Program(built, self.device)

    def create_kernel(self, program: Program, entry: str, only_read: frozenset[int] = frozenset()) -> Kernel:
        """A new kernel object with no argument set. `only_read`: see `Kernel`."""
        return Kernel(program, entry, only_read)


def _free(pointers: Pointers, address: int, give_back: Callable[[], None]) -> None:
    pointers.free(address)
    give_back()
