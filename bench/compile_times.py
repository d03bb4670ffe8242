"""Seconds until a model in a file is ready to run: compiled, compiled with built kernels at hand, or imported.

Every way has a process of its own, in which the device is open already; reading the file is part of the time.
`cold`: the kernel cache is empty. `warm`: with the kernels that the cold run left. `import`: of the blob that it
exported. `cache`: compile_model with CACHE_DIR that holds the model. All answer the same inputs, and must agree.
Usage: python -m bench.compile_times [ppocr_rec resnet50] [--device CPU] [--precision f32] [--rounds 3]
"""
from __future__ import annotations

import argparse
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import openvino

WAYS = ("cold", "warm", "import", "cache")


@dataclass(frozen=True)
class Job:
    """One way of getting the model in `folder` ready; `shape` is one that it is run with."""

    way: str
    model: str
    folder: Path
    device: str
    precision: str
    shape: tuple[int, ...]

    @property
    def blob(self) -> Path:
        return self.folder / "exported"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["ppocr_rec", "resnet50"])
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--rounds", type=int, default=3, help="of every way but cold; the fastest counts")
    options = parser.parse_args()
    print("| model | " + " | ".join(f"{way}, s" for way in WAYS) + " | cold / import | blob, MB |")
    print("| --- " * (len(WAYS) + 3) + "|")
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            print(_row(name, Path(folder), options), flush=True)


def _row(name: str, folder: Path, options: argparse.Namespace) -> str:
    from bench.models import MODELS

    openvino.save_model(MODELS[name].build(), folder / "model.xml", compress_to_fp16=False)
    times: dict[str, float] = {}
    expected: list[np.ndarray] = []
    for way in WAYS:
        job = Job(way, name, folder, options.device, options.precision, MODELS[name].shapes[0])
        for _ in range(1 if way == "cold" else options.rounds):
            seconds, outputs = _in_own_process(job)
            times[way] = min(seconds, times.get(way, seconds))
            expected = expected or outputs
            if not all(np.array_equal(a, b) for a, b in zip(expected, outputs, strict=True)):
                raise SystemExit(f"{name}: {way} gives other results than {WAYS[0]}")
    shown = " | ".join(f"{times[way]:.2f}" for way in WAYS)
    megabytes = (folder / "exported").stat().st_size / 1e6
    return f"| {name} | {shown} | {times['cold'] / times['import']:.0f} | {megabytes:.0f} |"


def _in_own_process(job: Job) -> tuple[float, list[np.ndarray]]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_run, job).result()


def _run(job: Job) -> tuple[float, list[np.ndarray]]:
    os.environ["CLINFER_CACHE_DIR"] = str(job.folder / "kernels")
    import clinfer
    from bench.models import MODELS

    core = clinfer.Core()
    core.engine(job.device)
    config = {"INFERENCE_PRECISION_HINT": job.precision}
    kept = {**config, "CACHE_DIR": str(job.folder / "blobs")}
    start = time.perf_counter()
    compiled: Any
    if job.way == "import":
        compiled = core.import_model(job.blob, job.device)
    else:
        compiled = core.compile_model(job.folder / "model.xml", job.device, kept if job.way == "cache" else config)
    seconds = time.perf_counter() - start
    if job.way == "cold":
        job.blob.write_bytes(compiled.export_model().getvalue())
        core.compile_model(job.folder / "model.xml", job.device, kept)
    elif job.way == "cache" and not compiled.get_property("LOADED_FROM_CACHE"):
        raise SystemExit(f"{job.model}: CACHE_DIR did not hold the model")
    inputs = MODELS[job.model].inputs(job.shape, np.random.default_rng(0))
    return seconds, list(compiled.create_infer_request().infer(inputs).values())


if __name__ == "__main__":
    main()
