"""Devices that compute in fewer threads than they have cores, and drivers that cannot be told so."""
from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock, PropertyMock

import numpy as np
import pyopencl as cl
import pytest

from clinfer.runtime import cores
from clinfer.runtime.cores import bound_on_threads
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine

SOURCE = "kernel void twice(global int* x) { x[get_global_id(0)] *= 2; }"
_PARTITION = cl.device_partition_property


@pytest.mark.parametrize(("units", "threads", "bound"), [
    (2, 0, 0), (2, 1, 1), (2, 2, 0), (2, 64, 0), (16, 6, 6), (1, 1, 0),
])
def test_fewer_threads_than_cores_are_a_bound(device: DeviceInfo, units: int, threads: int, bound: int) -> None:
    unit = Mock(max_compute_units=units, partition_properties=[_PARTITION.EQUALLY, _PARTITION.BY_COUNTS])
    assert bound_on_threads(replace(device, type="CPU", cl_device=unit), threads) == bound
    assert bound_on_threads(replace(device, type="GPU", cl_device=unit), threads) == 0


def test_drivers_without_parts_have_no_bound(device: DeviceInfo) -> None:
    unit = Mock(max_compute_units=2, partition_properties=[0])
    assert bound_on_threads(replace(device, type="CPU", cl_device=unit), 1) == 0
    type(unit).partition_properties = PropertyMock(side_effect=_refusal(device))
    assert bound_on_threads(replace(device, type="CPU", cl_device=unit), 1) == 0


def _refusal(device: DeviceInfo) -> cl.Error:
    with pytest.raises(cl.Error) as caught:
        device.cl_device.create_sub_devices([_PARTITION.EQUALLY, 1 << 20])
    return caught.value


def _check_doubling(engine: Engine) -> None:
    stream, x = engine.create_stream(), np.arange(64, dtype=np.int32)
    memory = engine.allocate_bytes(x.nbytes)
    kernel = engine.create_kernel(engine.build_program(SOURCE), "twice")
    kernel.set_buffer(0, memory)
    stream.write(memory, x)
    stream.enqueue(kernel, [64])
    assert stream.cl_queue.device == engine.queue_device
    np.testing.assert_array_equal(stream.read(memory).view(np.int32), x * 2)


def test_a_part_computes(device: DeviceInfo) -> None:
    whole = device.cl_device.max_compute_units
    for threads in {0, 1, whole - 1, whole, whole + 1}:
        engine = Engine(device, threads=threads)
        bound = bound_on_threads(device, threads)
        assert engine.queue_device.max_compute_units == (bound or whole)
        assert (engine.queue_device == device.cl_device) == (not bound)
        _check_doubling(engine)


def test_where_the_driver_refuses_a_part_the_whole_computes(device: DeviceInfo,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "_part_of", Mock(side_effect=_refusal(device)))
    engine = Engine(device, threads=1)
    assert engine.queue_device == device.cl_device
    _check_doubling(engine)
