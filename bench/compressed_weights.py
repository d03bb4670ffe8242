"""A model with weights of 8 or 4 bits: memory of its constants, peak memory of the process, time to compile and to run.

Each kind of weights runs in a process of its own: as they are, compressed, and compressed without the pass that keeps
them so. `python -m bench.compressed_weights [MODEL...] [--kinds f32 u8 u4] [--group 64] [--device CPU.0] [--openvino]`
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import openvino as ov

from bench.models import MODELS
from bench.models.compressed import compress_weights
from bench.steady import Subject, give
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import prepare
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.program.options import BuildOptions
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine

ROUNDS = 7
PASS = "keep_weights_compressed"


def fastest(run: Callable[[], object]) -> float:
    """Milliseconds of the fastest of some rounds, after two."""
    times = []
    for _ in range(ROUNDS + 2):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times[2:]) * 1e3


def peak_mib() -> float:
    """Peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def measure(name: str, model: ov.Model, device: str, skipped: frozenset[str]) -> list[str]:
    """What one kind of weights takes with clinfer."""
    engine, before, start = Engine(find_device(device)), peak_mib(), time.perf_counter()
    program = compile_topology(engine, to_topology(prepare(model)).topology, OpenVinoShapeInference(),
                               BuildOptions(skipped_passes=skipped))
    shown = [f"compiled in {time.perf_counter() - start:6.2f} s",
             f"constants {sum(data.layout.byte_size for data in program.constants.values()) / 2**20:8.1f} MiB",
             f"peak grew by {peak_mib() - before:8.1f} MiB"]
    subject = Subject(Network(program, engine.create_stream(), OpenVinoShapeInference()))
    for shape in MODELS[name].shapes:
        give(subject.network, MODELS[name].inputs(shape, np.random.default_rng(0)))
        shown.append(f"{shape} {fastest(subject.seconds):8.2f} ms")
    return shown


def measure_openvino(name: str, model: ov.Model) -> list[str]:
    """The same with OpenVINO's CPU plugin at f32."""
    start = time.perf_counter()
    request = ov.Core().compile_model(model, "CPU", {
        "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 2, "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
    }).create_infer_request()
    shown = [f"compiled in {time.perf_counter() - start:6.2f} s"]
    for shape in MODELS[name].shapes:
        inputs = MODELS[name].inputs(shape, np.random.default_rng(0))
        shown.append(f"{shape} {fastest(lambda inputs=inputs: request.infer(inputs)):8.2f} ms")  # type: ignore[misc]
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["bert_base"])
    parser.add_argument("--kinds", nargs="*", default=["f32", "i8", "u4"])
    parser.add_argument("--group", type=int, default=64)
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--openvino", action="store_true")
    parser.add_argument("--one", choices=["with", "without", "openvino"], help="measure one in this process")
    options = parser.parse_args()
    for name in options.models:
        for kind in options.kinds:
            ways = ["with"] + ["without"] * (kind != "f32") + ["openvino"] * options.openvino
            for way in [options.one] if options.one else ways:
                if not options.one:
                    subprocess.run([sys.executable, "-m", "bench.compressed_weights", name, "--kinds", kind, "--group",
                                    str(options.group), "--device", options.device, "--one", way], check=True)
                    continue
                model = MODELS[name].build()
                count = 0 if kind == "f32" else compress_weights(model, kind, options.group)
                skipped = frozenset({PASS} if way == "without" else ())
                shown = measure_openvino(name, model) if way == "openvino" else measure(
                    name, model, options.device, skipped)
                print(f"{name:12} {kind:4} {way:8} {count:3} products  " + "  ".join(shown), flush=True)


if __name__ == "__main__":
    main()
