"""Reference kernels under Oclgrind: no race, no access out of bounds, no read of uninitialised memory."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("oclgrind") is None, reason="oclgrind is not installed")
def test_reference_kernels_are_clean(tmp_path: Path) -> None:
    log = tmp_path / "oclgrind.log"
    command = ["oclgrind", "--data-races", "--uninitialized", "--max-errors", "1000", "--log", str(log),
               sys.executable, "-m", "tests.oclgrind_rows"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500, cwd=Path(__file__).parents[1],
                          env={**os.environ, "CLINFER_CACHE_DIR": str(tmp_path / "cache")})
    found = log.read_text(encoding="utf-8") if log.exists() else ""
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    ran = re.search(r"rows run: (\d+)", done.stdout)
    assert ran is not None and int(ran[1]) > 10
    assert not found.strip(), found[:5000]
