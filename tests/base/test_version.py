"""The digest of the code: that it follows every edit, and is read from the cache while nothing was edited."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from clinfer.base import version


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two sources, and an empty cache folder."""
    folder = tmp_path / "package"
    (folder / "kernels").mkdir(parents=True)
    (folder / "one.py").write_text("x = 1\n")
    (folder / "kernels" / "two.cl").write_text("// two\n")
    monkeypatch.setattr(version, "_PACKAGE", folder)
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def digest() -> str:
    version.code_digest.cache_clear()
    try:
        return version.code_digest()
    finally:
        version.code_digest.cache_clear()


def test_sources_are_read_once(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = digest()
    monkeypatch.setattr(version, "_digest_of_sources", lambda: pytest.fail("the sources are read again"))
    assert digest() == first


def test_an_edit_that_hides_is_found(package: Path) -> None:
    first, source = digest(), package / "kernels" / "two.cl"
    known = source.stat()
    source.write_text("// 2wo\n")
    os.utime(source, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert source.stat().st_size == known.st_size and source.stat().st_mtime_ns == known.st_mtime_ns
    second = digest()
    assert second != first and digest() == second


def test_new_and_moved_sources_count(package: Path) -> None:
    seen = {digest()}
    (package / "three.h").write_text("")
    seen.add(digest())
    (package / "three.h").rename(package / "four.h")
    seen.add(digest())
    (package / "four.h").unlink()
    assert len(seen) == 3 and digest() in seen


def test_without_caches_nothing_is_kept(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = digest()
    monkeypatch.setenv("CLINFER_CACHE", "0")
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path / "other"))
    assert digest() == kept and not (tmp_path / "other").exists()


def test_what_a_damaged_file_says_is_not_believed(package: Path, tmp_path: Path) -> None:
    first = digest()
    [file] = (tmp_path / "cache" / "code").iterdir()
    file.write_bytes(b"\xff" * 40)
    assert digest() == first
