"""Log lines of the CLINFER_DEBUG ladder."""
from __future__ import annotations

import sys

from clinfer.base import knobs


def log(level: int, text: str) -> None:
    """Print one line to standard error when the ladder stands at `level` or above."""
    if knobs.debug_level() >= level:
        print(f"clinfer: {text}", file=sys.stderr, flush=True)
