"""Where Intel's CPU runtime finds its settings.

For each kernel that it makes or loads it looks for `cl.cfg` in the working folder, then beside its own library. To find
out where that is it reads the list of the process's mappings, each part from the start: a program of four kernels took
8 ms to load where there were 520 of them, and 32 where there were 2,100. Called from its own folder it finds the same
file at once.
"""
from __future__ import annotations

import os
from functools import cache

import pyopencl as cl

from clinfer.runtime.icds import INTEL_LIBRARY

_SETTINGS = "cl.cfg"
_MAPPINGS = "/proc/self/maps"


def settings_folder(device: cl.Device) -> str:
    """The folder in which a driver loads binaries best; empty: it does not matter, or the user has settings in the
    working folder."""
    if not device.platform.name.startswith("Intel") or os.path.exists(_SETTINGS):
        return ""
    return _intel_folder()


@cache
def _intel_folder() -> str:
    """The folder of Intel's runtime in this process, if its settings are there; only Linux tells."""
    try:
        with open(_MAPPINGS, encoding="utf-8", errors="surrogateescape") as mappings:
            files = {"/" + line.rstrip("\n").partition("/")[2] for line in mappings}
    except OSError:
        return ""
    folders = (os.path.dirname(file) for file in files if file.endswith(f"/{INTEL_LIBRARY}"))
    return next((folder for folder in folders if os.path.isfile(os.path.join(folder, _SETTINGS))), "")
