"""Resident memory after many random shapes, beside the same process after the largest shape alone.

Each figure comes from a process of its own. The largest shape is the first of the many.
`python -m bench.memory_growth [MODEL...] [--engines clinfer openvino onnxruntime] [--shapes 500] [--device CPU.0]`
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from bench.models import MODELS, Inputs, Shape
from bench.new_shapes import SHAPES

LARGEST: dict[str, Shape] = {
    "ppocr_rec": (1, 3, 48, 639),
    "ppocr_det": (1, 3, 384, 384),
    "minilm": (2, 128),
    "bert_base": (2, 128),
}
Infer = Callable[[Inputs], object]


def resident_bytes() -> int:
    """What this process holds, after everything that can be given back to the system is."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _clinfer(name: str, device: str) -> Infer:
    import clinfer

    request = clinfer.Core().compile_model(MODELS[name].build(), device,
                                           {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    return request.infer


def _openvino(name: str, device: str) -> Infer:
    import openvino

    settings = {"INFERENCE_PRECISION_HINT": "f32"}
    return openvino.Core().compile_model(MODELS[name].build(), "CPU", settings).create_infer_request().infer


def _onnxruntime(name: str, device: str) -> Infer:
    from examples.fetch_models import model_path

    file = {"ppocr_rec": "recognition", "ppocr_det": "detection"}.get(name)
    if file is None:
        raise ValueError("not an ONNX file")
    session = import_module("onnxruntime").InferenceSession(model_path(file), providers=["CPUExecutionProvider"])
    inputs = [given.name for given in session.get_inputs()]
    return lambda arrays: session.run(None, dict(zip(inputs, arrays, strict=True)))


ENGINES: dict[str, Callable[[str, str], Infer]] = {
    "clinfer": _clinfer, "openvino": _openvino, "onnxruntime": _onnxruntime,
}


def _measure(engine: str, name: str, device: str, count: int, pipe: Connection) -> None:
    """Send what is held once `count` shapes ran, or why there is no figure."""
    random = np.random.default_rng(0)
    try:
        infer = ENGINES[engine](name, device)
        shapes = [LARGEST[name], *(SHAPES[name](random) for _ in range(count - 1))]
        for shape in shapes if count > 1 else shapes * 3:
            infer(MODELS[name].inputs(shape, random))
        pipe.send(resident_bytes())
    except (ImportError, ValueError) as error:
        pipe.send(str(error))


def measure(engine: str, name: str, device: str, count: int) -> int | str:
    """Bytes after `count` shapes, the largest first, or why there is no figure."""
    context = get_context("spawn")
    pipe, theirs = context.Pipe()
    process = context.Process(target=_measure, args=(engine, name, device, count, theirs))
    process.start()
    theirs.close()
    try:
        return pipe.recv()
    except EOFError:
        return "the process died"
    finally:
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(LARGEST))
    parser.add_argument("--engines", nargs="*", default=list(ENGINES))
    parser.add_argument("--shapes", type=int, default=500)
    parser.add_argument("--device", default="CPU")
    options = parser.parse_args()
    for name in options.models:
        for engine in options.engines:
            one, many = (measure(engine, name, options.device, count) for count in (1, options.shapes))
            if isinstance(one, str) or isinstance(many, str):
                print(f"{name:10} {engine:12} {one if isinstance(one, str) else many}", flush=True)
                continue
            print(f"{name:10} {engine:12} largest alone {one / 2**20:7.1f} MiB  after {options.shapes} shapes "
                  f"{many / 2**20:7.1f} MiB  ratio {many / one:5.3f}", flush=True)


if __name__ == "__main__":
    main()
