"""Folders whose files are believed: what is read, written and removed there, and when they are refused."""
from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from clinfer.base import tracing, trusted_folder
from clinfer.base.trusted_folder import TrustedFolder

NAME = "0123456789abcdef" * 2
LIMIT = 1 << 20


@pytest.fixture(autouse=True)
def no_warnings_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tracing, "_warned", set())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def modes(path: Path) -> list[int]:
    return sorted({stat.S_IMODE(entry.stat().st_mode) for entry in path.rglob("*")})


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a path another user's."""
    if os.geteuid() == 0:
        os.chown(path, 54321, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54321)


def test_files_are_kept_for_this_user_alone(tmp_path: Path) -> None:
    kept = os.umask(0)
    try:
        folder = TrustedFolder(tmp_path / "new" / "base", "kernels", "device")
        assert folder.read(NAME, LIMIT) is None and folder.map(NAME) is None
        assert not (tmp_path / "new").exists()
        folder.write(NAME, [b"one", memoryview(b"two")])
        folder.write(f"{NAME}.blob", [])
    finally:
        os.umask(kept)
    assert folder.read(NAME, LIMIT) == b"onetwo" and bytes(folder.map(NAME) or b"") == b"onetwo"
    assert folder.read(f"{NAME}.blob", LIMIT) == b"" and folder.map(f"{NAME}.blob") == b""
    assert modes(tmp_path / "new" / "base") == [0o600, 0o700]
    assert stat.S_IMODE((tmp_path / "new" / "base").stat().st_mode) == 0o700
    folder.write(NAME, [b"three"])
    assert folder.read(NAME, LIMIT) == b"three" and folder.read(NAME, 4) is None
    folder.remove(NAME)
    folder.remove(NAME)
    assert folder.read(NAME, LIMIT) is None
    assert sorted(os.listdir(folder.path)) == [f"{NAME}.blob"]


@pytest.mark.parametrize("name", ["", ".", "..", "file", "../file", NAME[:-1], f"{NAME}0", NAME.upper(), f"../{NAME}",
                                  f"{NAME}\n", f"{NAME}.", f"{NAME}/x", f"{NAME}.blob\0", f"{NAME}.blob/..", "x" * 999])
def test_names_are_digests(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "file"
    outside.write_bytes(b"mine")
    folder = TrustedFolder(tmp_path / "base")
    folder.write(NAME, [b"other"])
    for attempt in (name, str(outside)):
        assert folder.read(attempt, LIMIT) is None and folder.map(attempt) is None
        folder.remove(attempt)
        folder.write(attempt, [b"written"])
    assert outside.read_bytes() == b"mine" and os.listdir(folder.path) == [NAME]


@pytest.mark.parametrize("kind", ["link", "dangling link", "fifo", "folder", "socket", "huge"])
def test_only_ordinary_files_are_opened(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = TrustedFolder(tmp_path / "base")
    assert folder.make()
    path, victim = folder.path / NAME, tmp_path / "victim"
    victim.write_bytes(b"secret")
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "dangling link":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        monkeypatch.chdir(folder.path)
        os.mknod(NAME, stat.S_IFSOCK | 0o600)
    else:
        path.touch(0o600)
        os.truncate(path, 1 << 40)
    assert folder.read(NAME, LIMIT) is None
    if kind != "huge":
        assert folder.map(NAME) is None
    folder.write(NAME, [b"made anew"])
    assert folder.read(NAME, LIMIT) == (None if kind == "folder" else b"made anew")
    folder.remove(NAME)
    assert victim.read_bytes() == b"secret" and not (tmp_path / "nowhere").exists()
    assert os.listdir(folder.path) == ([NAME] if kind == "folder" else [])


@pytest.mark.parametrize("kind", ["link", "fifo", "file"])
def test_folders_below_are_not_reached_through_links(tmp_path: Path, kind: str) -> None:
    elsewhere, base = tmp_path / "elsewhere", tmp_path / "base"
    TrustedFolder(elsewhere, "batches").write(NAME, [b"planted"])
    base.mkdir(0o700)
    {"link": lambda: (base / "kernels").symlink_to(elsewhere), "fifo": lambda: os.mkfifo(base / "kernels"),
     "file": (base / "kernels").touch}[kind]()
    folder = TrustedFolder(base, "kernels", "batches")
    assert folder.read(NAME, LIMIT) is None
    folder.write(NAME, [b"mine"])
    folder.remove(NAME)
    assert TrustedFolder(elsewhere, "batches").read(NAME, LIMIT) == b"planted"
    with pytest.raises(OSError):
        folder.make()


def test_the_folder_that_the_user_names_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "large_disk").mkdir(0o700)
    (tmp_path / "base").symlink_to(tmp_path / "large_disk")
    folder = TrustedFolder(tmp_path / "base", "kernels")
    folder.write(NAME, [b"one"])
    assert folder.read(NAME, LIMIT) == b"one" and (tmp_path / "large_disk" / "kernels" / NAME).exists()


@pytest.mark.parametrize("place", ["base", "base/kernels"])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777, 0o702, None], ids=lambda mode: f"{mode or 0:o}")
def test_what_others_may_write_is_refused_with_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str,
                                                           mode: int | None) -> None:
    folder = TrustedFolder(tmp_path / "base", "kernels")
    folder.write(NAME, [b"one"])
    refused = tmp_path / place
    if mode is None:
        give_away(refused, monkeypatch)
        reason = "another user"
    else:
        refused.chmod(mode)
        reason = "other users may write"
    with pytest.warns(RuntimeWarning, match=reason) as caught:
        assert folder.read(NAME, LIMIT) is None
        assert TrustedFolder(tmp_path / "base", "kernels").map(NAME) is None
        folder.write(NAME, [b"two"])
        folder.remove(NAME)
        assert folder.make() is False
    assert len(caught) == 1
    if mode is not None:
        refused.chmod(0o755)
        assert folder.read(NAME, LIMIT) == b"one"


def test_a_file_that_others_may_write_is_not_there(tmp_path: Path) -> None:
    folder = TrustedFolder(tmp_path / "base")
    folder.write(NAME, [b"one"])
    (folder.path / NAME).chmod(0o666)
    assert folder.read(NAME, LIMIT) is None and folder.map(NAME) is None
    folder.write(NAME, [b"two"])
    assert folder.read(NAME, LIMIT) == b"two"


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    folder = TrustedFolder(tmp_path / "base")
    folder.write(NAME, [b"one"])

    def chunks() -> Iterator[bytes]:
        yield b"two"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folder.write(NAME, chunks())
    assert folder.read(NAME, LIMIT) == b"one" and os.listdir(folder.path) == [NAME]


def test_no_file_stays_open(tmp_path: Path) -> None:
    folder = TrustedFolder(tmp_path / "base", "kernels")
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    for _ in range(20):
        folder.write(NAME, [b"one"])
        folder.read(NAME, 1)
        folder.read("../x", LIMIT)
        folder.map(NAME)
        TrustedFolder(tmp_path / "missing").read(NAME, LIMIT)
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


def test_without_handles_of_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on systems where folders cannot be opened."""
    monkeypatch.setattr(trusted_folder, "_HAS_PLACES", False)
    folder = TrustedFolder(tmp_path / "base", "kernels")
    folder.write(NAME, [b"one"])
    assert folder.read(NAME, LIMIT) == b"one"
    (tmp_path / "base" / "link").symlink_to(tmp_path / "base" / "kernels")
    assert TrustedFolder(tmp_path / "base", "link").read(NAME, LIMIT) is None
    folder.remove(NAME)
    assert os.listdir(folder.path) == []
