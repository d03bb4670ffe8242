"""Kernels that a driver cannot build: each is tried once, and what it was to compute is left to others."""
from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping

from clinfer.base import knobs
from clinfer.base.errors import ClinferError
from clinfer.base.tracing import log
from clinfer.base.trusted_folder import TrustedFolder

_FILE = "0" * 32
_LARGEST_FILE = 1 << 20
_LONGEST_REASON = 200


class KernelBuildError(ClinferError):
    """Kernels that cannot be built for a device; `values` has the reasons by kernel id."""


class RefusedKernels:
    """The reasons by kernel id; an id is a digest of all that the driver was given. Safe for use by several threads.

    What `keep` was asked to keep stays on disk in `folder`, unless there is no cache; a damaged file is none.
    """

    def __init__(self, folder: Callable[[], TrustedFolder]) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._found: dict[str, str] = {}
        self._passing: set[str] = set()
        self._kept: dict[str, str] | None = None
        self._told: set[Hashable] = set()

    def reason(self, kernel_id: str) -> str | None:
        """Why a kernel cannot be built; None: nothing is known against it."""
        with self._lock:
            return self._found.get(kernel_id) or self._on_disk().get(kernel_id)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known against any kernel."""
        with self._lock:
            return not self._found and not self._on_disk()

    def is_old(self, kernel_id: str) -> bool:
        """Whether it was another process that found out."""
        with self._lock:
            return kernel_id not in self._found and kernel_id in self._on_disk()

    def tells(self, matter: Hashable) -> bool:
        """Whether nobody asked about a matter before: so that users are told once."""
        with self._lock:
            is_new = matter not in self._told
            self._told.add(matter)
            return is_new

    def add(self, kernel_id: str, text: str, is_lasting: bool = True) -> str:
        """Refuse a kernel for what the compiler or the system tells; the reason in short. `is_lasting`: False where
        other processes may fare better, which are to try it by themselves."""
        log(1, f"{kernel_id} cannot be built: {text}")
        with self._lock:
            if not is_lasting:
                self._passing.add(kernel_id)
            self._found[kernel_id] = reason = f"the driver could not build it: {_short(text)}"
        return reason

    def forget(self, kernel_ids: Iterable[str]) -> None:
        """Let kernels be tried again that were refused by this process and are not kept."""
        with self._lock:
            for kernel_id in kernel_ids:
                self._found.pop(kernel_id, None)

    def keep(self, kernel_ids: Iterable[str]) -> None:
        """Let other processes know of kernels that were refused."""
        if not knobs.cache_enabled():
            return
        with self._lock:
            self._kept = None
            known = self._on_disk()
            found = {each: self._found[each] for each in kernel_ids
                     if each in self._found and each not in self._passing and each not in known}
            if found:
                known.update(found)
                self._folder().write(_FILE, [json.dumps(known).encode()])

    def _on_disk(self) -> dict[str, str]:
        if not knobs.cache_enabled():
            return {}
        if self._kept is None:
            self._kept = _read(self._folder().read(_FILE, _LARGEST_FILE) or b"{}")
        return self._kept


def _read(content: bytes) -> dict[str, str]:
    try:
        kept = json.loads(content)
    except (RecursionError, ValueError):
        return {}
    is_sound = isinstance(kept, Mapping) and all(isinstance(reason, str) for reason in kept.values())
    return dict(kept) if is_sound else {}


def in_files(text: str, source: str) -> str:
    """A compiler's log with lines of the files that `#line` in the source names, where the driver counts all lines, as
    NVIDIA's does: `<kernel>:693:25` is `row_norms.cl:8:25`."""
    lines = source.splitlines()

    def named(found: re.Match[str]) -> str:
        here = int(found[1])
        for above in range(min(here - 1, len(lines)), 0, -1):
            directive = _DIRECTIVE.match(lines[above - 1])
            if directive:
                return f"{directive[2]}:{here - above - 1 + int(directive[1])}"
        return found[0]
    return _ANY_LINE.sub(named, text)


_DIRECTIVE = re.compile(r'#line (\d+) "([^"]+)"')
_ANY_LINE = re.compile(r"<kernel>:(\d+)")


def _short(text: str) -> str:
    """The first line of a log that tells of an error, or else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no reason is told"]
    return next((line for line in lines[1:] if "error" in line.lower()), lines[0])[:_LONGEST_REASON]
