"""The platforms of a driver's library, opened as the OpenCL loader does it.

Also the program of the process in which an unknown driver is tried, `python icd_library.py LIBRARY`; so nothing but the
standard library is imported here.
"""
from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ONE_PER_PROCESS = {"LLVM": "_ZN4llvm2cl6Option11addArgumentEv"}
"""Libraries of which a process bears one copy among its common symbols, each with a function that it exports: a second
one that meets the first there ends the process. (LLVM registers its options with whichever came first.)"""

BEGUN = "begun"
_INTEL_THREADING = "libtbb.so.12"
_CL_GET_DEVICE_IDS = 2
_LOADER_MANAGED = 0x4F50454E434C3331
"""In the first place of a function table that has no functions of the driver's own."""
_ALL_DEVICES = 0xFFFFFFFF


@cache
def open_icd(library: str, apart: bool = False) -> tuple[int, ...]:
    """The platforms of a driver, as handles, whether or not it is registered with the system's loader; `apart`: its
    symbols are looked up in its own libraries first.

    Every OpenCL object carries its driver's own function table, so pyopencl can use them as they are. Errors: OSError
    that says why there are none.
    """
    get_ids = _platform_getter(load(library, apart))
    count = ctypes.c_uint()
    status = get_ids(0, None, ctypes.byref(count))
    ids = (ctypes.c_void_p * count.value)()
    if status or not count.value or get_ids(count.value, ids, None):
        raise OSError(f"the driver offers no platform (status {status})")
    return tuple(handle for handle in ids if handle)


def is_loaded(library: str) -> bool:
    """Whether a library is in this process already."""
    try:
        ctypes.CDLL(library, mode=os.RTLD_NOLOAD)
    except (OSError, AttributeError):
        return False
    return True


def exports(library: ctypes.CDLL) -> tuple[str, ...]:
    """Which of ONE_PER_PROCESS a library, or one that it brings, exports."""
    return tuple(name for name, function in ONE_PER_PROCESS.items() if hasattr(library, function))


def common_exports() -> tuple[str, ...]:
    """Which of ONE_PER_PROCESS are among the common symbols of this process."""
    return exports(ctypes.CDLL(None)) if os.name != "nt" else ()


def can_load_apart() -> bool:
    """Whether drivers can be opened `apart`. An allocator that was loaded ahead of all else must be used by all."""
    return hasattr(os, "RTLD_DEEPBIND") and not os.environ.get("LD_PRELOAD")


def load(library: str, apart: bool = False) -> ctypes.CDLL:
    """Load a driver's library. Errors: OSError."""
    mode = os.RTLD_DEEPBIND if apart else ctypes.DEFAULT_MODE
    try:
        return ctypes.CDLL(library, mode=mode)
    except OSError:
        # OpenVINO brings an older TBB of the same name. If that was loaded first, the driver finds its own
        # TBB only among the process's global symbols.
        threading_library = Path(library).with_name(_INTEL_THREADING)
        if not threading_library.is_file():
            raise
        ctypes.CDLL(str(threading_library), ctypes.RTLD_GLOBAL)
        return ctypes.CDLL(library, mode=mode)


def _platform_getter(driver: ctypes.CDLL) -> Callable[..., int]:
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.POINTER(ctypes.c_void_p),
                                 ctypes.POINTER(ctypes.c_uint))
    address: Any = None
    if hasattr(driver, "clGetExtensionFunctionAddress"):
        find = driver.clGetExtensionFunctionAddress
        find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
        address = find(b"clIcdGetPlatformIDsKHR")
    if not address and hasattr(driver, "clIcdGetPlatformIDsKHR"):
        address = ctypes.cast(driver.clIcdGetPlatformIDsKHR, ctypes.c_void_p).value
    if not address:
        raise OSError("not an installable OpenCL driver")
    return prototype(address)


def _count_devices(platform: int) -> int:
    """Have the driver look for devices, which is where most of it is loaded."""
    functions = ctypes.cast(ctypes.c_void_p.from_address(platform).value or 0, ctypes.POINTER(ctypes.c_void_p))
    if functions[0] == _LOADER_MANAGED:
        return 0
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint, ctypes.c_void_p,
                                 ctypes.POINTER(ctypes.c_uint))
    count = ctypes.c_uint()
    prototype(functions[_CL_GET_DEVICE_IDS] or 0)(platform, _ALL_DEVICES, 0, None, ctypes.byref(count))
    return count.value


def _try(library: str) -> dict[str, object]:
    try:
        platforms = open_icd(library)
    except OSError as error:
        return {"error": str(error)}
    return {"devices": sum(map(_count_devices, platforms)), "exports": exports(load(library))}


def main() -> None:
    """Try the driver of the command line: prints BEGUN, then what was found, as JSON. Drivers print elsewhere."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(BEGUN, file=answers, flush=True)
    print(json.dumps(_try(sys.argv[1])), file=answers, flush=True)
    # What drivers do when a process ends is of no interest, and at times a crash.
    os._exit(0)


if __name__ == "__main__":
    main()
