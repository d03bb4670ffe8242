"""A sign of life while something takes long."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done on standard error, while that is a terminal. What is yielded tells how far it is."""
    console = Console(stderr=True)
    if not (console.is_terminal and sys.stderr and sys.stderr.isatty()):
        yield lambda progress: None
        return
    with console.status(what) as status:
        yield lambda progress: status.update(f"{what}: {progress}")
