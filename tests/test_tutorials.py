"""The tutorials of docs/tutorials/, run as they are printed."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.test_readme import ROOT, snippets

TUTORIALS = ROOT / "docs" / "tutorials"
PATIENCE_S = 180


def start(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
                          capture_output=True, text=True, timeout=PATIENCE_S)


@pytest.mark.parametrize(("name", "words"), [("pipeline", "pixels of edges"), ("decoder", "past")])
def test_a_tutorial_runs_as_printed(name: str, words: str, tmp_path: Path) -> None:
    done = start("\n".join(snippets(TUTORIALS / f"{name}.md")), tmp_path)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout


@pytest.mark.slow
def test_the_service_answers_as_the_model_does(tmp_path: Path) -> None:
    """Its snippets, on a port of the test's own; the server is started before the last."""
    for needed in ("ray.serve", "geventhttpclient", "tritonclient"):
        pytest.importorskip(needed)
    page = TUTORIALS / "service.md"
    assert "clinfer serve steps.xml --port 8000" in page.read_text(encoding="utf-8")
    model, first, last = snippets(page)
    assert (done := start("\n".join([model, first]), tmp_path)).returncode == 0, done.stderr
    assert "300 (1, 300, 10) 1 plans made" in done.stdout
    log = tmp_path / "log.txt"
    with log.open("w") as out:
        server = subprocess.Popen([sys.executable, "-m", "clinfer", "serve", "steps.xml", "--port", "18500",
                                   "--grpc-port", "18501", "--device", "CPU", "--precision", "f32"], cwd=tmp_path,
                                  env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=out, stderr=out)
    try:
        end = time.monotonic() + PATIENCE_S
        while "serving steps:1" not in log.read_text() and server.poll() is None and time.monotonic() < end:
            time.sleep(0.2)
        done = start("\n".join([model, first, last.replace("localhost:8000", "localhost:18500")]), tmp_path)
        assert done.returncode == 0, done.stderr + log.read_text()
        assert "120 (1, 120, 10)" in done.stdout
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(PATIENCE_S)
