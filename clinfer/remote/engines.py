"""The engines of users' contexts: one for each, however often the user makes a remote context of it."""
from __future__ import annotations

import threading
from weakref import WeakValueDictionary

import pyopencl as cl

from clinfer.remote.objects import retained
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine

_engines: WeakValueDictionary[tuple[int, int, int], Engine] = WeakValueDictionary()
_lock = threading.Lock()


def engine_over(context: cl.Context, device: DeviceInfo, build_workers: int) -> Engine:
    """The engine of a device in the user's context, which it retains; see `Engine` for `build_workers`.

    While one is in use the same one is handed out again, so that its kernels and memory are shared.
    """
    # A handle cannot become another context's while the engine holds the context.
    key = (context.int_ptr, device.cl_device.int_ptr, build_workers)
    with _lock:
        engine = _engines.get(key)
        if engine is None:
            engine = _engines[key] = Engine(device, build_workers=build_workers, cl_context=retained(context))
        return engine
