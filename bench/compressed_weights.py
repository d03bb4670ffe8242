"""A model with weights of 8 or 4 bits beside the same model in f32: memory of its constants, peak memory of the
process, seconds to compile, and milliseconds of an inference.

Memory is measured by a process for each kind of weights that reads the model from a file, also for weights that are
decompressed when the model is compiled (`as floats`). Then all kinds take turns in one process, inference by
inference; shown are medians, and the median of their ratios to f32. `products` are four matrix products in a row, of as
many rows as the shape says.
`python -m bench.compressed_weights [products bert_base llama ...] [--kinds i8 u4] [--group 64] [--device CPU.0]
[--rounds 25] [--openvino] [--precision bf16]`
"""
from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import openvino as ov
from openvino import opset13 as op

from bench.models import MODELS, BenchModel, Inputs
from bench.models.compressed import compress_weights
from bench.steady import Subject, give
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import PRECISIONS, prepare
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine

WIDTH, PRODUCTS = 2048, 4
"""64 MiB of weights in f32, more than most caches hold."""
PASSES = frozenset({"keep_weights_compressed", "gather_compressed_rows"})


class Timed(Protocol):
    """What can run one inference."""

    def seconds(self) -> float: ...


def products() -> ov.Model:
    """Rows times one square matrix after another."""
    random, rows = np.random.default_rng(0), op.parameter([-1, WIDTH], np.float32)
    data: ov.Node = rows
    for _ in range(PRODUCTS):
        weights = random.standard_normal((WIDTH, WIDTH), dtype=np.float32) / np.float32(np.sqrt(WIDTH))
        data = op.matmul(data, weights, False, True)
    return ov.Model([data], [rows], "products")


SUBJECTS = {**MODELS, "products": BenchModel(products, tuple((rows, WIDTH) for rows in (1, 4, 16, 64, 128, 512)))}


def model_of(name: str, kind: str, group: int) -> ov.Model:
    """A model with weights of that kind."""
    model = SUBJECTS[name].build()
    if kind != "f32":
        compress_weights(model, kind, group)
    return model


def program_of(engine: Engine, model: ov.Model, skipped: frozenset[str] = frozenset(),
               precision: str = "f32") -> Program:
    return compile_topology(engine, to_topology(prepare(model, precision)).topology, OpenVinoShapeInference(),
                            BuildOptions(skipped_passes=skipped))


def peak_mib() -> float:
    """Peak memory of this process; what its parent had before is not counted, as `getrusage` would."""
    return int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1]) / 2**10  # type: ignore[index]


def memory_text(path: str, device: str, as_floats: bool) -> str:
    """What a model in a file takes."""
    engine = Engine(find_device(device))
    before, start = peak_mib(), time.perf_counter()
    program = program_of(engine, ov.Core().read_model(path), PASSES if as_floats else frozenset())
    seconds = time.perf_counter() - start
    constants = sum(data.layout.byte_size for data in program.constants.values()) / 2**20
    return (f"constants {constants:8.1f} MiB  peak grew by {peak_mib() - before:8.1f} MiB  "
            f"compiled in {seconds:6.2f} s")


def show_memory(name: str, kind: str, options: argparse.Namespace) -> None:
    """Lines of one kind of weights, each by a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        ov.save_model(model_of(name, kind, options.group), path, compress_to_fp16=False)
        for way in ["kept"] + ["floats"] * (kind != "f32"):
            done = subprocess.run([sys.executable, "-m", "bench.compressed_weights", str(path), "--device",
                                   options.device, "--memory", way], check=True, capture_output=True, text=True)
            print(f"{name:12} {kind:4}{' as floats' * (way == 'floats'):10} {done.stdout.strip()}", flush=True)


@dataclass(frozen=True)
class Plugin:
    """OpenVINO's CPU plugin, with inputs."""

    request: ov.InferRequest
    inputs: Inputs

    @staticmethod
    def of(model: ov.Model, inputs: Inputs, precision: str) -> Plugin:
        compiled = ov.Core().compile_model(model, "CPU", {
            "INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": 2, "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"})
        return Plugin(compiled.create_infer_request(), inputs)

    def seconds(self) -> float:
        start = time.perf_counter()
        self.request.infer(self.inputs)
        return time.perf_counter() - start


def time_lines(name: str, kinds: list[str], options: argparse.Namespace) -> list[str]:
    """The time of each shape with each kind of weights."""
    engine = Engine(find_device(options.device))
    models = {kind: model_of(name, kind, options.group) for kind in kinds}
    networks = {kind: Network(program_of(engine, model, precision=options.precision), engine.create_stream(),
                              OpenVinoShapeInference()) for kind, model in models.items()}
    lines = []
    for shape in SUBJECTS[name].shapes:
        inputs = SUBJECTS[name].inputs(shape, np.random.default_rng(0))
        timed: dict[str, Timed] = {}
        for kind, network in networks.items():
            give(network, inputs)
            timed[kind] = Subject(network)
            if options.openvino:
                timed[f"OpenVINO {kind}"] = Plugin.of(models[kind], inputs, options.precision)
        lines.append(f"{name:12} {'x'.join(map(str, shape)):12} " + "  ".join(turns(timed, options.rounds)))
    return lines


def turns(timed: dict[str, Timed], rounds: int) -> list[str]:
    """Medians of runs by turns, and the ratios to the first."""
    for each in timed.values():
        each.seconds()
        each.seconds()
    times: dict[str, list[float]] = {kind: [] for kind in timed}
    for _ in range(rounds):
        for kind, each in timed.items():
            times[kind].append(each.seconds())
    first = next(iter(times.values()))
    return [f"{kind} {statistics.median(own) * 1e3:8.2f} ms "
            f"{statistics.median(a / b for a, b in zip(own, first, strict=True)):5.2f}" for kind, own in times.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["products", "bert_base"])
    parser.add_argument("--kinds", nargs="*", default=["i8", "u4"])
    parser.add_argument("--group", type=int, default=64)
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--openvino", action="store_true")
    parser.add_argument("--precision", choices=PRECISIONS, default="f32", help="of what is timed")
    parser.add_argument("--memory", choices=["kept", "floats"], help="measure that of a file in this process")
    options = parser.parse_args()
    for name in options.models:
        if options.memory:
            print(memory_text(name, options.device, options.memory == "floats"))
            continue
        for kind in ["f32", *options.kinds]:
            show_memory(name, kind, options)
        print("\n".join(time_lines(name, ["f32", *options.kinds], options)), flush=True)


if __name__ == "__main__":
    main()
