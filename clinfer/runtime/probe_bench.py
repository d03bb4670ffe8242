"""Where probes build and run the kernels of `probes.cl` and `probes_nvidia.cl`."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
import pyopencl as cl

from clinfer.runtime import driver
from clinfer.runtime.program import BuildFailure, BuildJob, Rewrite, compile_job

INPUT = (3, 5, -7, 11, 0x01020304, 0x7FFF0201, 2, 40)
COUNT = 64
POISON = 0x5A5A5A5A


@dataclass(frozen=True)
class Bench:
    """A context of the device under test."""

    context: cl.Context
    device: cl.Device

    def build(self, section: str, options: str = "", rewrites: tuple[Rewrite, ...] = ()) -> cl.Kernel:
        """The kernel of one section; BuildFailure if there is none."""
        return self.kernels(section, options, ("probe",), rewrites)[0]

    def kernels(self, section: str, options: str, entries: Sequence[str],
                rewrites: tuple[Rewrite, ...] = ()) -> tuple[cl.Kernel, ...]:
        """These kernels of one section; BuildFailure if one is missing."""
        program = compile_job(self.context, self.device, self.job(section, options, rewrites))
        return tuple(self._kernel(program, entry) for entry in entries)

    @staticmethod
    def job(section: str, options: str = "", rewrites: tuple[Rewrite, ...] = ()) -> BuildJob:
        """What builds one section."""
        return BuildJob(_source(section), f"-DPROBE_{section.upper()} {options}".strip(), rewrites)

    @staticmethod
    def _kernel(program: cl._cl._Program, entry: str) -> cl.Kernel:
        handle, status = driver.create_kernel(program.int_ptr, entry)
        if not handle:
            raise BuildFailure(f"{entry}: status {status}")
        return driver.wrap_kernel(handle)

    def run(self, section: str, *, options: str = "", local_size: int = 1, argument: bytes = b"",
            queue_properties: int = 0, rewrites: tuple[Rewrite, ...] = ()) -> np.ndarray | None:
        """What one work-group wrote (poison elsewhere), or None if the kernel did not build or run."""
        try:
            kernel = self.build(section, options, rewrites)
            if argument:
                kernel._set_arg_buf(2, argument)
            return self._launch(kernel, local_size, queue_properties)
        except (cl.Error, BuildFailure):
            return None

    def _launch(self, kernel: cl.Kernel, local_size: int, queue_properties: int) -> np.ndarray:
        queue = cl.CommandQueue(self.context, self.device, queue_properties)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        out = np.full(COUNT, POISON, np.int32)
        inputs = cl.Buffer(self.context, flags, hostbuf=np.resize(np.array(INPUT, np.int32), COUNT))
        outputs = cl.Buffer(self.context, flags, hostbuf=out)
        kernel.set_arg(0, inputs)
        kernel.set_arg(1, outputs)
        event = cl.enqueue_nd_range_kernel(queue, kernel, (local_size,), (local_size,))
        cl._cl._enqueue_read_buffer(queue, outputs, out, 0, [event], True)
        return out


@cache
def _source(section: str) -> str:
    """The text of the file that has a section."""
    texts = [resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
             for name in ("probes_nvidia.cl", "probes.cl")]
    return next((text for text in texts if f"(PROBE_{section.upper()})" in text), texts[-1])
