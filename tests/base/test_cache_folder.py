"""The caches on disk are bounded together: what was not used for the longest time goes."""
from __future__ import annotations

import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from clinfer.base import cache_folder
from clinfer.base.cache_folder import CacheFolder, bound
from clinfer.base.trusted_folder import DAY_S, TrustedFolder

LIMIT = 1 << 20
SIZE = 10_000


@pytest.fixture(autouse=True)
def small_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Room for eight files, of which six stay."""
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache_folder, "MOST_BYTES", 8 * SIZE)
    return tmp_path


def name_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def written(folder: TrustedFolder, text: str, days: float, size: int = SIZE) -> Path:
    """A file that was last used so many days ago."""
    folder.write(name_of(text), [bytes(size)])
    path = folder.path / name_of(text)
    os.utime(path, (time.time() - days * DAY_S,) * 2)
    return path


def test_what_was_not_used_for_the_longest_time_goes(small_cache: Path) -> None:
    folders = [CacheFolder("kernels", name_of("device"), "batches"), CacheFolder("choices"), CacheFolder("traces")]
    files = [written(folders[days % 3], f"of day {days}", days) for days in range(1, 9)]
    note = written(folders[0], "a note", 20, size=32)
    others = [written(TrustedFolder(small_cache, "tuning"), "times", 99),
              written(TrustedFolder(small_cache, "models"), "blob", 99, size=SIZE * 9)]
    stray = folders[1].path / "of somebody else"
    stray.write_bytes(bytes(SIZE))
    outside = small_cache / "outside"
    outside.write_bytes(bytes(SIZE))
    (folders[1].path / name_of("link")).symlink_to(outside)
    (small_cache / "traces" / "away").symlink_to(small_cache / "tuning")
    bound(small_cache)
    assert [path.exists() for path in files] == [True] * 6 + [False] * 2
    assert not note.exists()
    assert all(path.exists() for path in (*others, stray, outside)) and (folders[1].path / name_of("link")).is_symlink()
    bound(small_cache)
    assert sum(path.exists() for path in files) == 6


def test_reading_is_using(small_cache: Path) -> None:
    folder = CacheFolder("choices")
    files = {days: written(folder, f"of day {days}", days) for days in (0.5, 2, 3, 4, 5, 6, 7, 8, 9)}
    before = files[0.5].stat().st_mtime
    assert folder.read(name_of("of day 9"), LIMIT) == folder.read(name_of("of day 0.5"), LIMIT) == bytes(SIZE)
    assert files[0.5].stat().st_mtime == before
    bound(small_cache)
    assert [days for days, path in files.items() if path.exists()] == [0.5, 2, 3, 4, 5, 9]


def test_a_process_looks_once_a_day(small_cache: Path) -> None:
    folder = CacheFolder("traces")
    folder.write(name_of("first"), [b""])
    files = [written(folder, f"of day {days}", days) for days in range(1, 10)]
    assert all(path.exists() for path in files)
    looked, = small_cache.glob("*.bounded")
    os.utime(looked, (time.time() - 2 * DAY_S,) * 2)
    folder.write(name_of("another"), [b""])
    assert sum(path.exists() for path in files) < 6
    files = [written(folder, f"again of day {days}", days) for days in range(1, 10)]
    assert all(path.exists() for path in files)


def test_several_may_look_while_others_read_and_write(small_cache: Path) -> None:
    folder = CacheFolder("kernels", name_of("device"), "index")

    def work(number: int) -> bool:
        for turn in range(20):
            text = f"{number} {turn}"
            with suppress(FileNotFoundError):  # of one that another thread took away before it became old
                written(folder, text, days=turn)
            bound(small_cache)
            if folder.read(name_of(text), LIMIT) not in (None, bytes(SIZE)):
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    bound(small_cache)
    assert len(os.listdir(folder.path)) <= 8


def test_a_folder_of_another_user_is_left_alone(small_cache: Path) -> None:
    folder = CacheFolder("traces")
    files = [written(folder, f"of day {days}", days) for days in range(1, 10)]
    folder.path.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="other users may write"):
        bound(small_cache)
    assert all(path.exists() for path in files)
