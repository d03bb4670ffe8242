"""What a shape costs that was never seen: beside the same shape seen before, and in host time per primitive.

For each of many random shapes the model runs three times; the first run plans it, the others replay it. Host time is
the thread's time for planning and for setting arguments, launches excluded; primitives are the nodes that are planned.
What is traced when a model is compiled is traced here, too.
`python -m bench.new_shapes [MODEL...] [--device CPU.0] [--shapes 60] [--by-nodes]`
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.models import MODELS, Shape
from clinfer.base.layout import Layout
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import prepare
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.network.plans.plan_cache import SeenPlan
from clinfer.network.plans.trace_ahead import trace_ahead
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine


def _tokens(random: np.random.Generator) -> Shape:
    return int(random.integers(1, 3)), int(random.integers(4, 129))


SHAPES: dict[str, Callable[[np.random.Generator], Shape]] = {
    "ppocr_rec": lambda random: (1, 3, 48, int(random.integers(40, 640))),
    "ppocr_det": lambda random: (1, 3, 32 * int(random.integers(2, 13)), 32 * int(random.integers(2, 13))),
    "minilm": _tokens,
    "bert_base": _tokens,
    "resnet50": lambda random: (int(random.integers(1, 33)), 3, 224, 224),
}


class _Timed(Network):
    """A network that measures its host time."""

    host_s = 0.0

    def _plan(self, *given: Any) -> SeenPlan:
        start = time.thread_time()
        plan = super()._plan(*given)
        self.host_s += time.thread_time() - start
        return plan

    def _prepare(self, *given: Any) -> None:
        start = time.thread_time()
        super()._prepare(*given)
        self.host_s += time.thread_time() - start


@dataclass(frozen=True)
class Cost:
    """One shape: seconds of the first and of a later run, and of the host in each."""

    first: float
    again: float
    host_first: float
    host_again: float


class Subject:
    """A model on a device, run on shapes."""

    def __init__(self, name: str, device: str, parametric: bool) -> None:
        engine = Engine(find_device(device))
        topology = to_topology(prepare(MODELS[name].build())).topology
        program = compile_topology(engine, topology, OpenVinoShapeInference())
        self._model = MODELS[name]
        if parametric:
            trace_ahead(program, OpenVinoShapeInference())
        self._network = _Timed(program, engine.create_stream(), OpenVinoShapeInference(), parametric=parametric)
        self._network.prepare()
        self.primitives = sum(len(segment.nodes) for segment in program.segments)

    def cost(self, shape: Shape, random: np.random.Generator) -> Cost:
        """What a shape costs that was not run before."""
        network, stream = self._network, self._network.stream
        for (name, declared), array in zip(network.program.inputs.items(), self._model.inputs(shape, random),
                                           strict=True):
            layout = Layout.planar(array.shape, declared.element_type)
            memory = stream.engine.allocate_memory(layout)
            stream.write(memory, layout.pack(array), blocking=True)
            network.set_input(name, memory, array.shape)
        first, *later = (self._run() for _ in range(3))
        again, host_again = (min(times) for times in zip(*later, strict=True))
        return Cost(first[0], again, first[1], host_again)

    def _run(self) -> tuple[float, float]:
        self._network.host_s = 0.0
        start = time.perf_counter()
        self._network.execute()
        self._network.stream.finish()
        return time.perf_counter() - start, self._network.host_s


def report(name: str, subject: Subject, costs: list[Cost]) -> str:
    """One line of medians, and the most that the host needed for a new shape."""
    median = statistics.median
    per_primitive = 1e6 / subject.primitives
    return (f"{name:10} {subject.primitives:4} primitives  first {median(c.first for c in costs) * 1e3:8.2f} ms  "
            f"again {median(c.again for c in costs) * 1e3:8.2f} ms  "
            f"first/again {median(c.first / c.again for c in costs):5.2f}  host of a new shape "
            f"{median(c.host_first for c in costs) * per_primitive:6.2f} us per primitive, at most "
            f"{max(c.host_first for c in costs) * per_primitive:6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(SHAPES))
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--shapes", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--by-nodes", action="store_true", help="plan every shape node by node")
    options = parser.parse_args()
    for name in options.models:
        random = np.random.default_rng(options.seed)
        subject = Subject(name, options.device, not options.by_nodes)
        shapes = list(dict.fromkeys(SHAPES[name](random) for _ in range(options.shapes)))
        print(report(name, subject, [subject.cost(shape, random) for shape in shapes]), flush=True)


if __name__ == "__main__":
    main()
