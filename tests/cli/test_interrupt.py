"""Ctrl-C: one line on standard error and exit status 130, whatever the command is doing."""
from __future__ import annotations

import builtins
import os
import pty
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clinfer import __main__ as entry
from clinfer.frontend.openvino_import import openvino as ov
from tests.api.models import softmax_model


def run_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the entry point, which is to be interrupted; the handler of Ctrl-C is put back afterwards."""
    monkeypatch.setattr(sys, "argv", ["clinfer", "knobs"])
    handler = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as caught:
            entry.main()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert caught.value.code == 130


@pytest.mark.parametrize("name", ["clinfer.cli.main", "clinfer.cli.knobs"])
def test_while_modules_are_imported(name: str, monkeypatch: pytest.MonkeyPatch,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    real = builtins.__import__

    def interrupted(wanted: str, *arguments: Any, **named: Any) -> Any:
        if wanted == name:
            raise KeyboardInterrupt
        return real(wanted, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    run_interrupted(monkeypatch)
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "clinfer: interrupted\n")


def test_while_something_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(as_markdown: bool, as_json: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("clinfer.cli.knobs.print_knobs", interrupted)
    run_interrupted(monkeypatch)
    assert capsys.readouterr().err == "clinfer: interrupted\n"


def test_on_a_terminal_in_the_middle_of_a_benchmark(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    ov.save_model(softmax_model({"a": [2, 3]}), path)
    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-m", "clinfer", "benchmark", str(path), "--seconds", "600"])
    shown, deadline = b"", time.monotonic() + 120
    while b"inferences" not in shown and time.monotonic() < deadline:
        shown += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    rest = b""
    while piece := _read(terminal):
        rest += piece
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert status == 130, (shown + rest).decode()
    assert rest.rstrip().endswith(b"\r\nclinfer: interrupted") and b"Traceback" not in rest


def _read(terminal: int) -> bytes:
    """What a terminal shows next; nothing when the process is gone."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""
