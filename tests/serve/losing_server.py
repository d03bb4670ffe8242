"""`clinfer serve` whose processes lose their device when they are told to: `python -m tests.serve.losing_server serve
...`. The file that LOSSES names says who: a status of the driver, or NEVER, and the id of a process, or 0 for all."""
from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from clinfer.runtime import driver

ROOT = Path(__file__).parents[2]
"""From where Ray's processes import this."""
LOSSES = "CLINFER_TEST_LOSSES"
NEVER = 1
"""In place of a status, which is negative: the driver does not come back."""
_CALLS = ("finish", "wait_for_all", "read_buffer", "write_buffer")


def lose_when_told() -> None:
    """Let the driver's calls in this process refuse; run in each of Ray's processes when it starts."""
    for name in _CALLS:
        setattr(driver, name, _refusing(getattr(driver, name)))


def _refusing(call: Callable[..., int]) -> Callable[..., int]:
    file = Path(os.environ[LOSSES])

    @wraps(call)
    def refusing(*given: Any) -> int:
        status, process = map(int, (file.read_text() if file.exists() else "0 0").split())
        if not status or process not in (0, os.getpid()):
            return call(*given)
        while status == NEVER:
            time.sleep(60.0)
        return status
    return refusing


def main() -> None:
    import ray

    from clinfer.cli.main import app

    start = ray.init
    vars(ray)["init"] = lambda *where, **how: start(
        *where, **how, runtime_env={"worker_process_setup_hook": lose_when_told})
    app()


if __name__ == "__main__":
    # Ray's processes find what they run under the name of its module.
    from tests.serve.losing_server import main as run

    run()
