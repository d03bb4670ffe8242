"""Seconds until a model in a file is ready to run, in a fresh process each time, beside OpenVINO's CPU plugin.

`import`: importing the library and opening the device, which every process pays once; `cold`: compiling with an empty
kernel cache (what is known of the device is there already); `warm`: with the kernels that the cold run left; `blob`:
with CACHE_DIR, which holds the compiled model. For OpenVINO `cold` is with an empty and `blob` with a filled CACHE_DIR.
Of every way but cold the fastest of `--rounds` counts, the engines taking turns. Next to the wall time stands what
the process and its helpers computed, which work beside it on the same cores lengthens less.
With --profile NAME the functions are told in which the compiling thread spends a warm start of that model.
Usage: python -m bench.start [resnet50 ...] [--device CPU.0] [--rounds 3] [--profile resnet50]
"""
from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

TWELVE = ("resnet50", "mobilenet_v3", "bert_base", "minilm", "vit_b16", "yolo", "unet", "whisper_encoder", "magika",
          "ppocr_det", "ppocr_rec", "ppocr_cls")
WAYS = (("clinfer", "cold"), ("openvino", "cold"), ("clinfer", "warm"), ("clinfer", "blob"), ("openvino", "blob"))


@dataclass(frozen=True)
class Job:
    """One start: an engine gets the model in `folder` ready in one way."""

    engine: str
    way: str
    folder: Path
    device: str
    precision: str

    @property
    def settings(self) -> dict[str, str]:
        """The properties that the model is compiled with."""
        kept = {"CACHE_DIR": str(self.folder / f"{self.engine}_blobs")}
        is_kept = self.way == "blob" or (self.engine, self.way) == ("openvino", "cold")
        return {"INFERENCE_PRECISION_HINT": self.precision, **(kept if is_kept else {})}


@dataclass(frozen=True)
class Start:
    """Seconds: of importing and opening the device, of compiling, and of computing while that was done."""

    opened: float
    compiled: float
    computed: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=TWELVE)
    parser.add_argument("--device", default="CPU.0")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", metavar="NAME")
    options = parser.parse_args()
    if options.profile:
        with tempfile.TemporaryDirectory() as folder:
            _profile(options.profile, Path(folder), options)
        return
    show(options.models, options.device, options.precision, options.rounds)


def show(names: Sequence[str], device: str, precision: str, rounds: int) -> None:
    """The table, row by row."""
    print("| model | import | " + " | ".join(f"{engine} {way}" for engine, way in WAYS) + " |")
    print("| --- " * (len(WAYS) + 2) + "|")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            print(_row(name, Path(folder), device, precision, rounds), flush=True)


def _row(name: str, folder: Path, device: str, precision: str, rounds: int) -> str:
    _in_own_process(_save, name, folder)
    _in_own_process(_probe, folder, device)
    best: dict[tuple[str, str], Start] = {}
    for number in range(rounds):
        for key in WAYS:
            if key[1] == "cold" and number:
                continue
            start = _in_own_process(_start, Job(*key, folder, device, precision))
            best[key] = min(start, best.get(key, start), key=lambda each: each.compiled)
        if not number:
            # It fills CACHE_DIR; the rounds find it there.
            best[WAYS[3]] = _in_own_process(_start, Job(*WAYS[3], folder, device, precision))
    shown = " | ".join(f"{best[key].compiled:.2f} ({best[key].computed:.2f})" for key in WAYS)
    return f"| {name} | {min(each.opened for key, each in best.items() if key[0] == 'clinfer'):.2f} | {shown} |"


def _in_own_process(work: Callable[..., Any], *arguments: object) -> Any:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(work, *arguments).result()


def _save(name: str, folder: Path) -> None:
    openvino = import_module("openvino")
    from bench.models import MODELS

    openvino.save_model(MODELS[name].build(), folder / "model.xml", compress_to_fp16=False)


def _probe(folder: Path, device: str) -> None:
    """Leave in the cache folder what is found out about a device, and nothing else."""
    os.environ["CLINFER_CACHE_DIR"] = str(folder / "cache")
    _opened("clinfer", device)
    shutil.rmtree(folder / "cache" / "kernels", ignore_errors=True)


def _opened(engine: str, device: str) -> Any:
    core = import_module(engine).Core()
    if engine == "clinfer":
        core.engine(device)
    else:
        core.get_property("CPU", "FULL_DEVICE_NAME")
    return core


def _start(job: Job) -> Start:
    os.environ["CLINFER_CACHE_DIR"] = str(job.folder / "cache")
    begin = time.perf_counter()
    core = _opened(job.engine, job.device)
    opened, computed = time.perf_counter(), _computed()
    core.compile_model(str(job.folder / "model.xml"), job.device if job.engine == "clinfer" else "CPU", job.settings)
    return Start(opened - begin, time.perf_counter() - opened, _computed() - computed)


def _computed() -> float:
    """Seconds of the cores for this process and those of its helpers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _profile(name: str, folder: Path, options: argparse.Namespace) -> None:
    _in_own_process(_save, name, folder)
    job = Job("clinfer", "warm", folder, options.device, options.precision)
    _in_own_process(_start, job)
    _in_own_process(_profiled, job)


def _profiled(job: Job) -> None:
    os.environ["CLINFER_CACHE_DIR"] = str(job.folder / "cache")
    core = _opened("clinfer", job.device)
    profile = cProfile.Profile(time.thread_time)
    profile.runcall(core.compile_model, str(job.folder / "model.xml"), job.device, job.settings)
    pstats.Stats(profile).sort_stats("cumulative").print_stats(r"clinfer/", 60)


if __name__ == "__main__":
    main()
