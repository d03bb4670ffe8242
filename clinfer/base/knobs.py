"""Every environment knob of clinfer, in one place; `clinfer knobs --markdown` writes `docs/knobs.md` from it."""
from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import platformdirs

from clinfer.base.errors import ClinferError


@dataclass(frozen=True)
class Knob:
    """One environment variable: its default and what it does."""

    variable: str
    default: str
    meaning: str


KNOBS = (
    Knob("CLINFER_DEBUG", "0", "how much is printed: 1 device, allocations and what new shapes took, 2 time per "
         "kernel, 3 chosen and rejected kernels and what new shapes took by primitives, 4 OpenCL source, 5 the graph "
         "after each pass, 6 the memory plan"),
    Knob("CLINFER_DUMP", "", "folder that receives the generated OpenCL sources and graphs"),
    Knob("CLINFER_FORCE_KERNEL", "", "comma-separated `primitive=kernel`, `primitive=format:kernel` or "
         "`primitive=format:kernel:type` choices that replace the selector's"),
    Knob("CLINFER_VALIDATE", "0", "1 reads the results of every kernel and reports the first that holds NaN"),
    Knob("CLINFER_TUNING", "1", "0 chooses kernels by estimated times alone, without the tables of measured ones"),
    Knob("CLINFER_TRACES", "1", "0 plans every new shape primitive by primitive, instead of by what was traced when "
         "the model was compiled"),
    Knob("CLINFER_MEGAKERNELS", "1", "0 launches every kernel by itself, also where the device can run many in one "
         "launch"),
    Knob("CLINFER_CACHE", "1", "0 neither reads nor writes the caches on disk"),
    Knob("CLINFER_CACHE_DIR", "", "folder of the caches (kernels, choices of kernels, traces, capabilities, drivers, "
         "measured times, the digest of the code); empty: the user's cache folder. The first three hold 2 GiB "
         "together: what was not used for the longest time goes"),
)

_DEFAULTS = {knob.variable: knob.default for knob in KNOBS}


def value(variable: str) -> str:
    """The present text of a knob."""
    return os.environ.get(variable, _DEFAULTS[variable])


def unknown_variables() -> tuple[str, ...]:
    """Variables of the environment that look like knobs and are none."""
    known = {knob.variable for knob in KNOBS}
    return tuple(sorted(name for name in os.environ if name.startswith(_PREFIX) and name not in known
                        and not name.startswith(_TEST_PREFIX)))


def page() -> str:
    """The text of `docs/knobs.md`."""
    rows = [f"| `{knob.variable}` | {f'`{knob.default}`' if knob.default else 'empty'} | {knob.meaning} |"
            for knob in KNOBS]
    return "\n".join([_INTRODUCTION, "| variable | default | what it does |", "| --- | --- | --- |", *rows, ""])


_PREFIX, _TEST_PREFIX = "CLINFER_", "CLINFER_TEST_"

_INTRODUCTION = """# Knobs

Every environment variable that clinfer reads. They are declared in `clinfer/base/knobs.py`, and this page is
written from there by `clinfer knobs --markdown`; `clinfer knobs` shows the values at present.
"""


def debug_level() -> int:
    """The level of the CLINFER_DEBUG ladder."""
    text = value("CLINFER_DEBUG")
    if not (text.isascii() and text.isdigit()):
        raise ClinferError("CLINFER_DEBUG must be a whole number", values={"CLINFER_DEBUG": text},
                           hint="use 0 to 6")
    return int(text)


def dump_dir() -> Path | None:
    """Where sources and graphs are dumped, or None."""
    text = value("CLINFER_DUMP")
    return Path(text) if text else None


def validate() -> bool:
    """Whether the results of kernels are checked."""
    return _switch("CLINFER_VALIDATE")


def traces_enabled() -> bool:
    """Whether new shapes are planned by traces."""
    return _switch("CLINFER_TRACES")


def megakernels_enabled() -> bool:
    """Whether launches are joined in megakernels."""
    return _switch("CLINFER_MEGAKERNELS")


def cache_enabled() -> bool:
    """Whether caches on disk are used."""
    return _switch("CLINFER_CACHE")


def tuning_enabled() -> bool:
    """Whether tables of measured times count."""
    return _switch("CLINFER_TUNING")


def cache_dir() -> Path:
    """The folder of all caches on disk; it may not exist yet."""
    return Path(value("CLINFER_CACHE_DIR") or _user_cache_dir())


@cache
def _user_cache_dir() -> str:
    return platformdirs.user_cache_dir("clinfer")


def _switch(variable: str) -> bool:
    text = value(variable)
    if text not in ("0", "1"):
        raise ClinferError(f"{variable} must be 0 or 1", values={variable: text})
    return text == "1"
