"""A sign of life while something takes long."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show what is being done on standard error, while that is a terminal."""
    console = Console(stderr=True)
    if not (console.is_terminal and sys.stderr and sys.stderr.isatty()):
        yield
        return
    with console.status(what):
        yield
