"""The instructions of the host's processor that others lack. A process that comes to one that is not there is ended."""
from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_LINUX = Path("/proc/cpuinfo")
_WIDE = ("fma", "avx2", "avx512", "amx")

ASSEMBLY: Mapping[str, frozenset[str]] = {
    "float_products": frozenset({"avx2", "fma"}),
    "short_products": frozenset({"avx2"}),
    "byte_products": frozenset({"avx512f", "avx512_vnni"}),
    "bf16_products": frozenset({"avx512f", "avx512_bf16"}),
    "tile_registers": frozenset({"amx_tile", "amx_bf16", "amx_int8"})}
"""The abilities of CPUs that are used in inline assembly, and the instructions that these take, in Linux's words."""


@cache
def wide_instructions() -> frozenset[str] | None:
    """The instructions for vectors from AVX2 on and for tiles that the system lets processes use, in Linux's words;
    None where nothing tells."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return frozenset()
    if sys.platform != "linux":
        return None
    try:
        with _LINUX.open(encoding="utf-8", errors="replace") as lines:
            flags = next((line for line in lines if line.startswith("flags")), None)
    except OSError:
        return None
    return None if flags is None else frozenset(name for name in flags.split() if name.startswith(_WIDE))


def has_instructions(ability: str) -> bool | None:
    """Whether the processor has what an ability takes; None where nothing tells."""
    needed, found = ASSEMBLY.get(ability), wide_instructions()
    return True if needed is None else None if found is None else found >= needed


def processor_key() -> tuple[str, ...]:
    """What tells processors apart to which a driver gives one name, as to those of virtual machines. Empty for one
    without wide instructions."""
    found = wide_instructions()
    return (platform.processor(),) if found is None else tuple(sorted(found))
