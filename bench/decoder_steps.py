"""What a token costs the host: a decoder whose past grows by one token, beside the same lengths replayed.

Each of many lengths in a row is run once (new), and once more (the same length again, which changes nothing). Another
decoder, which keeps a plan of each length, as networks do not, and has seen all, replays it by turns with that (seen).
Host time is the thread's own for one execution, launches included, without what the device computes.
`python -m bench.decoder_steps [--device CPU.0] [--steps 60] [--layers 6] [--by-nodes]`
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from bench.models import llama
from clinfer.base.layout import Layout
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import prepare
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.network.plans import segment_planner
from clinfer.network.plans.trace_ahead import trace_ahead
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine


class Decoder:
    """A decoder on a device."""

    def __init__(self, device: str, size: llama.Size, parametric: bool) -> None:
        engine = Engine(find_device(device))
        topology = to_topology(prepare(llama.build_decoder(size))).topology
        program = compile_topology(engine, topology, OpenVinoShapeInference())
        if parametric:
            trace_ahead(program, OpenVinoShapeInference())
        self._size = size
        self._network = Network(program, engine.create_stream(), OpenVinoShapeInference(), parametric=parametric)
        self._network.prepare()
        self.primitives = sum(len(segment.nodes) for segment in program.segments)

    def step_us(self, past: int, random: np.random.Generator) -> float:
        """Host microseconds of one token behind `past` others; inputs are on the device already."""
        network, stream = self._network, self._network.stream
        arrays = llama.decoder_inputs((1, 1, past), random, self._size)
        for (name, declared), array in zip(network.program.inputs.items(), arrays, strict=True):
            layout = Layout.planar(array.shape, declared.element_type)
            memory = stream.engine.allocate_memory(layout)
            stream.write(memory, layout.pack(array), blocking=True)
            network.set_input(name, memory, array.shape)
        start = time.thread_time()
        network.execute()
        elapsed = time.thread_time() - start
        stream.finish()
        network.record_traces()
        return elapsed * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--first", type=int, default=100, help="tokens before the first step")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--by-nodes", action="store_true", help="plan every length node by node")
    options = parser.parse_args()
    random = np.random.default_rng(0)
    size, parametric = llama.Size(layers=options.layers, hidden=256, inside=688), not options.by_nodes
    lengths = range(options.first, options.first + options.steps)
    decoder, keeping = (Decoder(options.device, size, parametric) for _ in range(2))
    small_share, segment_planner.SMALL_SHARE = segment_planner.SMALL_SHARE, 10**6  # every plan is kept
    for past in lengths:
        keeping.step_us(past, random)
    segment_planner.SMALL_SHARE = small_share
    new, again, seen = zip(*((decoder.step_us(past, random), decoder.step_us(past, random),
                              keeping.step_us(past, random)) for past in lengths), strict=True)
    of_new, of_again, of_seen = map(statistics.median, (new, again, seen))
    print(f"{decoder.primitives} primitives, host us per step: new median {of_new:.0f}, mean "
          f"{statistics.mean(new):.0f}, maximum {max(new):.0f}, the first {new[0]:.0f}; again median {of_again:.0f}; "
          f"seen median {of_seen:.0f}, maximum {max(seen):.0f}; new / seen {of_new / of_seen:.2f}, new / again "
          f"{of_new / of_again:.2f}; {(of_new - of_seen) / decoder.primitives:.2f} us more per primitive than seen")


if __name__ == "__main__":
    main()
