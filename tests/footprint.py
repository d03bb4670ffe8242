"""What keeps a process of tests small: between files it drops what nobody needs any more."""
from __future__ import annotations

import ctypes
import gc
import platform
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

MOST_BYTES = 800 << 20
"""The size of a process above which it drops what its tests have cached."""
MOST_BEFORE_MODELS = 500 << 20
"""The same ahead of a real model, which takes half a gigabyte itself."""
LEAST_GROWTH = 100 << 20
"""A process that grew by less since it dropped what it could has little to drop, and to look for it takes a second."""
NOTED_GROWTH = 32 << 20
"""A test that raises the most memory of its process by as much is told of at the end."""
_CACHED = type(lru_cache(print))


class Dropping:
    """Drops what tests keep for each other."""

    def __init__(self) -> None:
        self._left = 0

    def drop_unless_small(self, most_bytes: int = MOST_BYTES) -> None:
        """Do so where the process is larger than that, and grew since it did so last."""
        if resident_bytes() < max(most_bytes, self._left + LEAST_GROWTH):
            return
        for module in [module for name, module in sys.modules.items() if name.startswith("tests.")]:
            _clear_caches(module)
        gc.unfreeze()
        pass_over_what_lives()
        if platform.libc_ver()[0] == "glibc":
            ctypes.CDLL(None).malloc_trim(0)
        self._left = resident_bytes()


def pass_over_what_lives() -> None:
    """Collect garbage; what is left then is not looked at again, until `Dropping` drops what it can."""
    gc.collect()
    gc.freeze()


def resident_bytes() -> int:
    """How much memory this process holds; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * 4096


def _peak_bytes() -> int:
    """The most that this process ever held; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class PeakReport:
    """Tells at the end of a run how large its processes became, and in which tests."""

    def __init__(self) -> None:
        self._peaks: list[tuple[int, str]] = []
        self._bytes, self._test = 0, "no test"

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """A test is over: it may have needed more than all before."""
        peak = _peak_bytes()
        if peak >= self._bytes + NOTED_GROWTH:
            self._bytes, self._test = peak, nodeid

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        peak = _peak_bytes(), self._test
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["peak"] = peak
        elif not self._peaks:
            self._peaks.append(peak)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A process of several has ended; one that crashed says nothing."""
        self._peaks.append(getattr(node, "workeroutput", {}).get("peak", (0, "unknown")))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        sizes = ", ".join(f"{peak / 2**30:.2f} GiB ({test})" for peak, test in self._peaks)
        terminalreporter.write_line(f"most memory of a process: {sizes}")


def _clear_caches(module: ModuleType) -> None:
    """Empty the caches of a module that have a limit: those without one hold little."""
    cached: list[Any] = [value for value in vars(module).values() if isinstance(value, _CACHED)]
    for function in cached:
        if function.cache_parameters()["maxsize"] is not None:
            function.cache_clear()
