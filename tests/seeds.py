"""Seeds of random inputs and of random choices among rows.

A test or row draws from the seed that it had in earlier runs, so that what it needs (the oracle's answers, kernels) is
on disk; one in 32 of them, others in every run, draws from a fresh seed, and takes three to five times as long. With
`CLINFER_TEST_FULL=1` all do. A failure shows the seed that it drew from, and `CLINFER_TEST_SEED` has everything draw
from that one.
"""
from __future__ import annotations

import os
import random
import secrets
import tempfile
from functools import cache
from pathlib import Path

from tests.answers import FOLDER

FULL = os.environ.get("CLINFER_TEST_FULL") == "1"
FRESH = 1 / 32
_GIVEN = os.environ.get("CLINFER_TEST_SEED")
# Processes that are started later draw the same numbers.
SEED = int(_GIVEN or os.environ.setdefault("CLINFER_TEST_SEED_OF_RUN", str(secrets.randbits(32))))
"""The fresh seed of this run."""


def seed_of(what: str) -> int:
    """The seed of the test or row with this name."""
    if _GIVEN or FULL or random.Random(f"{SEED}{what}").random() < FRESH:
        return SEED
    return kept_seed(FOLDER / "seed")


@cache
def kept_seed(path: Path) -> int:
    """The seed in a file, which is made if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=path.parent) as file:
            file.write(str(secrets.randbits(32)))
            file.flush()
            try:
                os.link(file.name, path)
            except FileExistsError:
                pass
    return int(path.read_text(encoding="ascii"))
