"""Kernels that are built for Oclgrind, kept on disk between runs: to build them takes longer than to run them."""
from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from tests.answers import FOLDER

# Unoptimised, because the optimiser emits `freeze`, which Oclgrind 21.10 does not know; nor does it know the scopes of
# functions whose pointers are restricted.
BUILD_OPTIONS = "-cl-opt-disable -Drestrict="
# The device does not tell kernels that were built with these options from others: they have a folder of their own.
KERNELS = FOLDER / f"oclgrind-{hashlib.sha256(BUILD_OPTIONS.encode()).hexdigest()[:8]}"
MOST_BYTES = 256 << 20


def trim_kernels(folder: Path = KERNELS, most_bytes: int = MOST_BYTES) -> None:
    """Begin anew where the folder has outgrown its limit: most of it was made from sources that have changed since."""
    if sum(path.stat().st_size for path in folder.rglob("*")) > most_bytes:
        shutil.rmtree(folder)
