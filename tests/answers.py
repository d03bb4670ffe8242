"""What oracles answered before, kept on disk between runs and shared by the processes of one.

The key of an answer holds everything that it depends on, so an entry is never out of date; those that no run used
for longest are dropped where the file would outgrow `MOST_BYTES`.
"""
from __future__ import annotations

import hashlib
import io
import os
import re
import sqlite3
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import platformdirs

from clinfer.frontend.openvino_import import openvino as ov

MOST_BYTES = 512 << 20
LARGEST_ANSWER = 16 << 20
FOLDER = Path(os.environ.setdefault("CLINFER_TEST_CACHE_DIR", platformdirs.user_cache_dir("clinfer-tests")))
_NAMED = re.compile(rb"<(?:net|layer|port) [^>]*>")
_NAMES = re.compile(rb' (?:name|names|output_names)="[^"]*"')
_DAY = 24 * 3600


class Answers:
    """Arrays by key, in one file that any number of processes and threads may use."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        try:
            self._database = _open(path)
        except sqlite3.DatabaseError:
            path.unlink(missing_ok=True)
            self._database = _open(path)

    def find(self, key: bytes) -> list[np.ndarray] | None:
        """What was kept by that key."""
        with self._lock:
            found = self._database.execute("SELECT arrays, day FROM answers WHERE key = ?", [key]).fetchone()
            if found is not None and found[1] != _today():
                self._database.execute("UPDATE answers SET day = ? WHERE key = ?", [_today(), key])
        return None if found is None else _unpack(found[0])

    def keep(self, key: bytes, arrays: Sequence[np.ndarray]) -> None:
        """Keep arrays of numbers, unless they are very large."""
        if sum(array.nbytes for array in arrays) > LARGEST_ANSWER or any(array.dtype.hasobject for array in arrays):
            return
        with self._lock:
            self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", [key, _pack(arrays), _today()])

    def trim(self, most_bytes: int = MOST_BYTES) -> None:
        """Drop what was used longest ago, until the rest is no more than that."""
        with self._lock:
            self._database.execute(
                "DELETE FROM answers WHERE key IN (SELECT key FROM (SELECT key, SUM(LENGTH(arrays)) OVER "
                "(ORDER BY day DESC, key) AS held FROM answers) WHERE held > ?)", [most_bytes])


@cache
def answers_of(process: int) -> Answers:
    """The answers as a process sees them; a connection must not outlive a fork."""
    return Answers(FOLDER / "answers.sqlite")


def kept_answers() -> Answers:
    """The answers that the processes of all runs share."""
    return answers_of(os.getpid())


def digest_of_model(model: ov.Model) -> bytes | None:
    """A digest of all that a model computes, without the names that OpenVINO numbers anew in each process.

    None for a model that cannot be written, or whose answers depend on earlier ones.
    """
    if model.get_variables():
        return None
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        text, weights = Path(folder, "model.xml"), Path(folder, "model.bin")
        try:
            ov.serialize(model, text, weights)
        except RuntimeError:
            return None
        digest = hashlib.blake2b(_NAMED.sub(lambda tag: _NAMES.sub(b"", tag[0]), text.read_bytes()), digest_size=16)
        digest.update(weights.read_bytes())
    return digest.digest()


def key_of(*parts: object, arrays: Sequence[np.ndarray]) -> bytes:
    """The key of an answer that depends on these."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _open(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = OFF")
    database.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, arrays BLOB, day INTEGER)")
    return database


def _pack(arrays: Sequence[np.ndarray]) -> bytes:
    file = io.BytesIO()
    for array in arrays:
        np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _unpack(packed: bytes) -> list[np.ndarray]:
    file, arrays = io.BytesIO(packed), []
    while file.tell() < len(packed):
        arrays.append(np.load(file, allow_pickle=False))
    return arrays


def _today() -> int:
    return int(time.time()) // _DAY
