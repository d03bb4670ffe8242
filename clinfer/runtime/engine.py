"""One device opened for work: its context, memory, programs and streams."""
from __future__ import annotations

import threading
from functools import cached_property, partial

import pyopencl as cl

from clinfer.base.layout import Layout
from clinfer.base.tracing import log
from clinfer.runtime import program as programs
from clinfer.runtime.capabilities import Capabilities, probe_capabilities
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.ledger import MemoryLedger
from clinfer.runtime.memory import Allocation, Memory
from clinfer.runtime.program import BuildFailure, Program
from clinfer.runtime.status import driver_error
from clinfer.runtime.stream import Stream

_ALLOCATION_TYPE = "cl_mem"


class Engine:
    """Owns one OpenCL context. Allocating and building are safe from several threads.

    `build_workers`: how many helper processes may build at a time; 0 means one per core.
    """

    def __init__(self, device: DeviceInfo, capabilities: Capabilities | None = None, build_workers: int = 0) -> None:
        self.device = device
        self.build_workers = build_workers
        self.capabilities = capabilities or probe_capabilities(device)
        try:
            self.cl_context = cl.Context([device.cl_device])
        except cl.Error as error:
            raise driver_error(error, "open the device", where=f"device {device}") from None
        self.ledger = MemoryLedger(str(device), self.capabilities.global_mem_size,
                                   self.capabilities.max_alloc_size)
        self._service_lock = threading.Lock()
        log(1, f"Open {device}: {self.capabilities}")

    def create_stream(self, in_order: bool = True, profiling: bool = False) -> Stream:
        """A new queue. Out of order, the stream still keeps its commands in order, by barriers."""
        modes = cl.command_queue_properties
        properties = (0 if in_order else modes.OUT_OF_ORDER_EXEC_MODE_ENABLE) | (
            modes.PROFILING_ENABLE if profiling else 0)
        try:
            queue = cl.CommandQueue(self.cl_context, self.device.cl_device, properties)
        except cl.Error as error:
            raise driver_error(error, "create a queue", where=f"device {self.device}",
                               values={"in order": in_order, "profiling": profiling}) from None
        return Stream(self, queue)

    def allocate_memory(self, layout: Layout, zero: bool = False, what: str = "tensor") -> Memory:
        """Memory for a static layout; its contents are undefined unless `zero`."""
        allocation = self._allocate(layout.byte_size, f"{what} {layout}")
        return self._zeroed(Memory(self, allocation, layout), zero)

    def allocate_bytes(self, nbytes: int, what: str = "buffer", zero: bool = False) -> Memory:
        """Memory without a layout; `what` names it in errors."""
        return self._zeroed(Memory(self, self._allocate(nbytes, what)), zero)

    def _allocate(self, nbytes: int, what: str) -> Allocation:
        # OpenCL knows no empty buffers; an empty tensor still needs something to set as an argument.
        size = max(nbytes, 1)
        self.ledger.reserve(size, what, _ALLOCATION_TYPE)
        try:
            buffer = cl.Buffer(self.cl_context, cl.mem_flags.READ_WRITE, size)
        except cl.Error as error:
            self.ledger.give_back(size, _ALLOCATION_TYPE)
            raise driver_error(error, f"allocate {what}", where=f"device {self.device}", values={
                "bytes": nbytes, "in use by this engine": self.ledger.current}) from None
        return Allocation(buffer, nbytes, partial(self.ledger.give_back, size, _ALLOCATION_TYPE))

    def _zeroed(self, memory: Memory, zero: bool) -> Memory:
        if zero:
            with self._service_lock:
                self._service_stream.fill(memory)
                self._service_stream.finish()
        return memory

    @cached_property
    def _service_stream(self) -> Stream:
        return self.create_stream()

    def build_program(self, source: str, options: str = "", what: str = "") -> Program:
        """Build OpenCL C; `what` names the kernels in errors (default: those the source spells out)."""
        try:
            built = programs.compile_source(self.cl_context, self.device.cl_device, source, options)
        except BuildFailure as failure:
            names = what or ", ".join(programs.entry_names(source)) or "a program"
            raise programs.build_error(self.device, str(failure), names, options) from None
        return Program(built, self.device)

    def load_binary(self, binary: bytes, options: str = "", what: str = "a program's binary") -> Program:
        """The program of a `Program.binary`; an error if it is damaged or made by another driver."""
        try:
            built = programs.compile_binary(self.cl_context, self.device, binary, options)
        except BuildFailure as failure:
            raise programs.build_error(self.device, str(failure), what, options) from None
        return Program(built, self.device)

    def create_kernel(self, program: Program, entry: str) -> Kernel:
        """A new kernel object with no argument set."""
        return Kernel(program, entry)
