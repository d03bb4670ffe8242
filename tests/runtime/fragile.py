"""Helper processes that misbehave where a build is told to."""
from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest

from clinfer.runtime.helper import Helper


def use_fragile_workers(monkeypatch: pytest.MonkeyPatch, folder: Path, action: str) -> None:
    """Let a module take the worker's place that does `action` on jobs whose options say MISBEHAVE."""
    (folder / "fragile_worker.py").write_text(textwrap.dedent(f"""
        import ctypes, os, sys, time
        from clinfer.runtime import build_worker
        real = build_worker._serve
        def serve(device, bench, message):
            if message[0] == "build" and "MISBEHAVE" in message[1].options:
                {action}
            return real(device, bench, message)
        build_worker._serve = serve
        build_worker.main()
        """))
    monkeypatch.syspath_prepend(str(folder))
    start = subprocess.Popen

    def popen(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        return start([*command[:-1], "fragile_worker"], **options)

    monkeypatch.setattr("clinfer.runtime.helper.subprocess.Popen", popen)
    monkeypatch.setattr("clinfer.runtime.builder.KeptHelper", Helper)
