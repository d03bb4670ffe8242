"""Signals for Python reach it, though drivers put handlers of their own before its."""
from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.signal_handlers import pythons_handlers_kept

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="handlers are kept on Linux only")


def handler(number: int) -> int:
    """The address of what C knows as the handler of a signal."""
    action = ctypes.create_string_buffer(1024)
    assert not ctypes.CDLL(None).sigaction(int(number), None, action)
    return ctypes.c_size_t.from_buffer(action).value


def set_handler(number: int, address: int) -> None:
    action = ctypes.create_string_buffer(1024)
    ctypes.c_size_t.from_buffer(action).value = address
    assert not ctypes.CDLL(None).sigaction(int(number), action, None)


def test_opening_and_building_leave_the_handlers_of_python(device: DeviceInfo) -> None:
    script = textwrap.dedent(f"""
        import signal
        from tests.runtime.test_signal_handlers import handler
        signals = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2]
        for number in signals:
            signal.signal(number, lambda number, frame: None)
        before = [handler(number) for number in signals]
        from clinfer.runtime.device import find_device
        from clinfer.runtime.engine import Engine
        device = find_device({device.name!r})
        assert [handler(number) for number in signals] == before, "listing"
        engine = Engine(device, build_workers=1)
        assert [handler(number) for number in signals] == before, "opening"
        engine.build_program("kernel void nothing(global int *x) {{ x[0] = 1; }}")
        assert [handler(number) for number in signals] == before, "building"
    """)
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": os.getcwd()})


def test_what_was_set_meanwhile_by_python_or_before_by_others_stays() -> None:
    others = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value or 0
    before = signal.getsignal(signal.SIGUSR1), signal.getsignal(signal.SIGUSR2)
    try:
        signal.signal(signal.SIGUSR1, lambda number, frame: None)
        set_handler(signal.SIGUSR2, others)
        pythons = handler(signal.SIGUSR1)
        with pythons_handlers_kept():
            set_handler(signal.SIGUSR1, others)
        assert handler(signal.SIGUSR1) == pythons and handler(signal.SIGUSR2) == others
        with pythons_handlers_kept():
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        assert handler(signal.SIGUSR1) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGUSR1, before[0])
        signal.signal(signal.SIGUSR2, before[1])
