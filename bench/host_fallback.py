"""What a layer costs that OpenVINO computes on the host: beside OpenVINO's time for it and its transfers.

Networks of one such layer, whose input lies on the device and whose result goes there, take turns with OpenVINO alone
on the same arrays and with the bare transfers. Of a network the time of the layer counts, as it is profiled. Layers for
which there are kernels are made ones of the host.
`python -m bench.host_fallback [--device CPU.0]`
"""
from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import clinfer as ov
from clinfer.base.layout import Layout
from clinfer.frontend.host_operations import HostOperations
from clinfer.frontend.openvino_import import openvino
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.runtime.device import find_device
from clinfer.runtime.engine import Engine

LAYERS: dict[str, tuple[tuple[int, ...], Callable[[ov.Node], ov.Node]]] = {
    "GRN": ((1, 64, 56, 56), lambda x: openvino.opset1.grn(x, 0.5)),
    "GRN, small": ((1, 8, 8, 8), lambda x: openvino.opset1.grn(x, 0.5)),
    "ShuffleChannels": ((1, 232, 28, 28), lambda x: openvino.opset3.shuffle_channels(x, 1, 2)),
    "Bucketize": ((8, 4096), lambda x: openvino.opset3.bucketize(x, np.linspace(-1, 1, 64).astype(np.float32))),
    "ExtractImagePatches": ((1, 16, 112, 112), lambda x: openvino.opset3.extract_image_patches(
        x, [3, 3], [1, 1], [1, 1], "same_upper")),
    "ErfInv": ((8, 4096), lambda x: openvino.opset17.erfinv(x)),
}


class Turns:
    """Three ways that take turns on one layer."""

    def __init__(self, engine: Engine, shape: tuple[int, ...], make: Callable[[ov.Node], ov.Node]) -> None:
        x = ov.opset13.parameter(list(shape), np.float32)
        node = make(x)
        node.set_friendly_name("layer")
        model = ov.Model([node], [x], "layer")
        core = openvino.Core()
        topology = to_topology(model, host=HostOperations(core, ["layer"])).topology
        program = compile_topology(engine, topology, OpenVinoShapeInference())
        self._stream = engine.create_stream(profiling=True)
        self._network = Network(program, self._stream, OpenVinoShapeInference(), profiling=True)
        name, declared = next(iter(program.inputs.items()))
        layout = Layout.planar(shape, declared.element_type)
        self._data = np.random.default_rng(1).uniform(-0.9, 0.9, shape).astype(np.float32)
        self._memory = engine.allocate_memory(layout)
        self._stream.write(self._memory, self._data, blocking=True)
        self._network.set_input(name, self._memory, shape)
        self._result = next(iter(self._network.execute().values()))
        self._given = self._data.copy()
        self._taken = np.empty(self._result.layout.byte_size, np.uint8)
        self._request = core.compile_model(model, "CPU", {
            "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}).create_infer_request()
        self._tensor = openvino.Tensor(self._given, shared_memory=True)

    def layer(self) -> float:
        """Microseconds of clinfer's layer."""
        self._network.start_profile()
        self._network.execute()
        self._stream.finish()
        return sum(row.host_ns for row in self._network.profile()) / 1e3

    def openvino(self) -> float:
        """Of OpenVINO on an array of the host."""
        start = time.perf_counter()
        self._request.set_input_tensor(0, self._tensor)
        self._request.start_async()
        self._request.wait()
        return (time.perf_counter() - start) * 1e6

    def transfers(self) -> float:
        """Of the input from the device, and the result to it."""
        start = time.perf_counter()
        self._stream.read(self._memory, self._given.reshape(-1).view(np.uint8))
        self._stream.write(self._result.memory, self._taken, blocking=True)
        return (time.perf_counter() - start) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    engine = Engine(find_device(options.device))
    print(f"{engine.device}; medians of {options.rounds} turns in microseconds")
    for name, (shape, make) in LAYERS.items():
        turns = Turns(engine, shape, make)
        ways = (turns.layer, turns.openvino, turns.transfers)
        for way in ways * 5:
            way()
        rounds = [[way() for way in ways] for _ in range(options.rounds)]
        layer, alone, moved = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{name:20} {layer:8.0f}  OpenVINO {alone:8.0f}  transfers {moved:8.0f}  "
              f"ratio {layer / (alone + moved):.2f}")


if __name__ == "__main__":
    main()
