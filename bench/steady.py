"""A shape of a dynamic model that was seen before, beside the same model compiled for that shape alone.

Both run in one process, by turns, on one stream each. `--specialised` lets the dynamic one settle first, and adds
the dynamic one without. `--profile` adds device time by kernel, those first that cost the dynamic one more.
`python -m bench.steady [MODEL...] [--device CPU.0] [--rounds 15] [--specialised] [--profile]`
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import openvino as ov

from bench.models import MODELS, Shape
from clinfer.base.layout import Layout
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import prepare
from clinfer.kernels.specialiser import specialiser_of
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.network.plans.special_plans import LONGEST_INTERVAL
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine

SHAPES: dict[str, tuple[Shape, ...]] = {
    "ppocr_rec": ((1, 3, 48, 96), (1, 3, 48, 320)),
    "ppocr_det": ((1, 3, 320, 320), (1, 3, 160, 256)),
    "bert_base": ((1, 17), (1, 64)),
    "minilm": ((1, 16), (8, 32), (1, 128)),
    "resnet50": ((1, 3, 224, 224), (1, 3, 160, 192)),
}


@dataclass(frozen=True)
class Subject:
    """A compiled model with its inputs set."""

    network: Network

    def seconds(self) -> float:
        """One inference."""
        start = time.perf_counter()
        self.network.execute()
        self.network.stream.finish()
        return time.perf_counter() - start

    def kernels(self, runs: int) -> dict[str, tuple[float, int]]:
        """Device microseconds and launches per run, by kernel; the network must measure."""
        self.network.start_profile()
        for _ in range(runs):
            self.seconds()
        spent: dict[str, list[float]] = defaultdict(list)
        for node in self.network.profile():
            if node.device_ns:
                spent[node.kernel].append(node.device_ns / runs / 1e3)
        return {name: (sum(times), len(times)) for name, times in spent.items()}


def subject(engine: Engine, model: ov.Model, profiling: bool = False, specialise_after: int = 0) -> Subject:
    """A network of a model."""
    program = compile_topology(engine, to_topology(prepare(model)).topology, OpenVinoShapeInference())
    stream = engine.create_stream(profiling=profiling)
    return Subject(Network(program, stream, OpenVinoShapeInference(), profiling, specialise_after=specialise_after))


def give(network: Network, arrays: list[np.ndarray]) -> None:
    for (name, declared), array in zip(network.program.inputs.items(), arrays, strict=True):
        layout = Layout.planar(array.shape, declared.element_type)
        memory = network.stream.engine.allocate_memory(layout)
        network.stream.write(memory, layout.pack(array), blocking=True)
        network.set_input(name, memory, array.shape)


def static_model(name: str, arrays: list[np.ndarray]) -> ov.Model:
    """The model with the shapes of these inputs."""
    model = MODELS[name].build()
    model.reshape({port: array.shape for port, array in zip(model.inputs, arrays, strict=True)})
    return model


def dynamic_model(name: str, arrays: list[np.ndarray]) -> ov.Model:
    """The model with every size open but the channels of pictures."""
    model = MODELS[name].build()
    model.reshape({port: ov.PartialShape([-1, 3, -1, -1] if array.ndim == 4 else [-1] * array.ndim)
                   for port, array in zip(model.inputs, arrays, strict=True)})
    return model


def settle(each: Subject) -> None:
    """Run until all that is asked about the shape is answered and taken over."""
    for _ in range(3):
        each.seconds()
    specialiser_of(each.network.stream.engine).wait(600)
    for _ in range(2 * LONGEST_INTERVAL):
        each.seconds()


def measure(engine: Engine, name: str, shape: Shape, rounds: int, profile: bool, specialised: bool) -> str:
    """The lines of one model and shape."""
    arrays = MODELS[name].inputs(shape, np.random.default_rng(sum(shape)))
    models = {"dynamic": dynamic_model(name, arrays), "static": static_model(name, arrays)}
    pair = {kind: subject(engine, model) for kind, model in models.items()}
    if specialised:
        pair = {"dynamic": subject(engine, models["dynamic"], specialise_after=1), "static": pair["static"],
                "unspecialised": pair["dynamic"]}
    for kind, each in pair.items():
        give(each.network, arrays)
        if specialised and kind == "dynamic":
            settle(each)
        for _ in range(3):
            each.seconds()
    times: dict[str, list[float]] = {kind: [] for kind in pair}
    for _ in range(rounds):
        for kind, each in pair.items():
            times[kind].append(each.seconds())
    dynamic, static = times["dynamic"], times["static"]
    ratio = statistics.median(a / b for a, b in zip(dynamic, static, strict=True))
    lines = [f"{name:10} {'x'.join(map(str, shape)):12} dynamic {min(dynamic) * 1e3:8.2f} ms  static "
             f"{min(static) * 1e3:8.2f} ms  ratio of minima {min(dynamic) / min(static):5.2f}  "
             f"median ratio {ratio:5.2f}"
             + (f"  unspecialised {min(times['unspecialised']) * 1e3:8.2f} ms" if specialised else "")]
    if profile:
        lines += differences(engine, models, arrays)
    return "\n".join(lines)


def differences(engine: Engine, models: dict[str, ov.Model], arrays: list[np.ndarray]) -> list[str]:
    """Device time per inference by kernel, those first that cost the dynamic model most beyond the static one."""
    spent = {}
    for kind, model in models.items():
        each = subject(engine, model, True)
        give(each.network, arrays)
        each.seconds()
        spent[kind] = each.kernels(5)
    nothing = (0.0, 0)
    rows = [(name, spent["dynamic"].get(name, nothing), spent["static"].get(name, nothing))
            for name in {*spent["dynamic"], *spent["static"]}]
    rows.sort(key=lambda row: row[2][0] - row[1][0])
    return [f"    {name:34} dynamic {a:9.0f} us in {m:3}   static {b:9.0f} us in {n:3}"
            for name, (a, m), (b, n) in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(SHAPES))
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--specialised", action="store_true", help="let the dynamic model be specialised first")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    engine = Engine(find_device(options.device))
    for name in options.models:
        for shape in SHAPES[name]:
            print(measure(engine, name, shape, options.rounds, options.profile, options.specialised), flush=True)


if __name__ == "__main__":
    main()
