"""Whether a megakernel of two kernels gives what they give one behind the other."""
from __future__ import annotations

import struct

import numpy as np
import pyopencl as cl

from clinfer.runtime import driver
from clinfer.runtime.probe_bench import Bench
from clinfer.runtime.program import BuildJob, compile_job
from clinfer.runtime.ptx_kernel import find_kernel
from clinfer.runtime.ptx_megakernel import ENTRY, Body, Megakernel, megakernel, turn_words, work_words

_PAIRS = 40
_GATHERING, _TURNING, _OPEN = (64, 2, 1), 128, 32
_BUFFERS = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR


def megakernels_work(bench: Bench) -> bool:
    """Whether all groups are on the device at a time, wait for one another, and see what the others wrote."""
    units = bench.device.max_compute_units
    count = units * 5 * _TURNING - _OPEN - 7
    bodies = [Body(find_kernel(_text(bench), "gather"), _GATHERING, False),
              Body(find_kernel(_text(bench), "turn"), (_TURNING, 1, 1), True)]
    built = megakernel(bodies, bench.device.local_mem_size)
    program = compile_job(bench.context, bench.device, BuildJob("", binary=built.text.encode("latin-1")))
    handle, _ = driver.create_kernel(program.int_ptr, ENTRY)
    if not handle:
        return False
    given = np.arange(count, dtype=np.int32) % 1000
    queue = cl.CommandQueue(bench.context, bench.device)
    buffers = [cl.Buffer(bench.context, _BUFFERS, hostbuf=array) for array in (given, np.zeros_like(given))]
    stages = _table(built, count, units, [_address(bench, queue, buffer) for buffer in buffers])
    table = cl.Buffer(bench.context, _BUFFERS, hostbuf=np.frombuffer(stages, np.uint8))
    counter = cl.Buffer(bench.context, _BUFFERS, hostbuf=np.zeros(1, np.uint32))
    kernel = driver.wrap_kernel(handle)
    kernel.set_args(table, counter, *map(np.uint32, (0, 2 * _PAIRS, 0)))
    cl.enqueue_nd_range_kernel(queue, kernel, (units * built.items,), (built.items,))
    found = np.empty_like(given)
    cl._cl._enqueue_read_buffer(queue, buffers[0], found, 0, None, True)
    return bool(np.array_equal(found, _expected(given)))


def _text(bench: Bench) -> str:
    program = compile_job(bench.context, bench.device, bench.job("megakernels"))
    return bytes(program.get_info(cl.program_info.BINARIES)[0]).decode("latin-1")


def _address(bench: Bench, queue: cl.CommandQueue, buffer: cl.Buffer) -> int:
    kernel, found = bench.build("address"), np.zeros(1, np.uint64)
    answer = cl.Buffer(bench.context, _BUFFERS, hostbuf=found)
    kernel.set_args(buffer, answer)
    cl.enqueue_nd_range_kernel(queue, kernel, (1,), (1,))
    cl._cl._enqueue_read_buffer(queue, answer, found, 0, None, True)
    return int(found[0])


def _table(built: Megakernel, count: int, units: int, addresses: list[int]) -> bytes:
    """There and back, again and again, each time beginning with another group."""
    groups = -(-count // _TURNING)
    works = work_words(np.arange(2), np.array([(groups, 1, 1)] * 2), np.array([groups * _GATHERING[0], count]))
    turns = np.array([turn_words(number > 0, 0, number % units) for number in range(2 * _PAIRS)], np.uint32)
    arguments = [struct.pack("<QQi", *pair, count) for pair in (addresses, addresses[::-1])]
    return b"".join(built.stage(np.concatenate([works[number % 2], turn]).tobytes(), arguments[number % 2])
                    for number, turn in enumerate(turns))


def _expected(values: np.ndarray) -> np.ndarray:
    count = len(values)
    places = np.arange(count, dtype=np.int32)
    # Within a group work-items are the other way round; the last group has those behind the last number, which are 0.
    ends = places // _TURNING * _TURNING + _TURNING - 1
    turned = ends - places % _TURNING
    for _ in range(_PAIRS):
        gathered = np.where(turned < count, values[(np.minimum(turned, count - 1) * np.int64(37) + 11) % count], 0)
        values = (gathered + places // _TURNING).astype(np.int32)[::-1] * np.int32(3) + places
    return values
