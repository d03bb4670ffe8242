"""The OpenCL loader to which pyopencl is linked; it opens every registered driver when it is first asked anything."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from clinfer.base.scratch import scratch_folder
from clinfer.runtime.icds import Icd

_READ_BY_LOADER = ("OCL_ICD_VENDORS", "PYOPENCL_HOME")


@contextmanager
def loader_sees(drivers: Iterable[Icd]) -> Iterator[None]:
    """Within, a loader that was never asked before finds just these drivers, and so they remain for the process.

    There is no other way to keep it from a registered driver that would end the process. It reads two variables of the
    C environment, which differ from those of Python and of its child processes until this ends.
    """
    if os.name == "nt":
        yield
        return
    with scratch_folder("clinfer-drivers-") as folder:
        for number, icd in enumerate(drivers):
            Path(folder, f"{number}.icd").write_text(f"{icd.library}\n", encoding="utf-8", errors="surrogateescape")
        c = ctypes.CDLL(None)
        for name in _READ_BY_LOADER:
            c.setenv(name.encode(), os.fsencode(folder), 1)
        try:
            yield
        finally:
            for name in _READ_BY_LOADER:
                _restore(c, name)


def _restore(c: ctypes.CDLL, name: str) -> None:
    if name in os.environ:
        c.setenv(name.encode(), os.fsencode(os.environ[name]), 1)
    else:
        c.unsetenv(name.encode())
