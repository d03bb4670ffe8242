"""Reference kernels under Oclgrind: no race and no access out of bounds."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kept_kernels import BUILD_OPTIONS, KERNELS, trim_kernels

PARTS = 4


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("oclgrind") is None, reason="oclgrind is not installed")
@pytest.mark.parametrize("part", range(PARTS))
def test_reference_kernels_are_clean(part: int) -> None:
    # Findings are read from standard error: with --log, helper processes would write to the same file.
    command = ["oclgrind", "--build-options", BUILD_OPTIONS, "--data-races", "--max-errors", "1000",
               sys.executable, "-m", "tests.oclgrind_rows", str(part), str(PARTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parents[1],
                          env={**os.environ, "CLINFER_CACHE_DIR": str(KERNELS)})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    ran = re.search(r"rows run: (\d+)", done.stdout)
    assert ran is not None and int(ran[1]) > 80 / PARTS, done.stdout[-3000:]
    findings = [line for line in done.stderr.splitlines() if re.search(r"Invalid|race|Uninitialized|FATAL|ERROR", line)]
    assert not findings, done.stderr[:5000]


def test_kept_kernels_have_a_limit(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    trim_kernels(folder)
    (folder / "batches").mkdir(parents=True)
    (folder / "batches" / "one").write_bytes(bytes(100))
    trim_kernels(folder, 1 << 20)
    assert (folder / "batches" / "one").exists()
    trim_kernels(folder, 99)
    assert not folder.exists()
