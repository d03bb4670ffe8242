"""Compiling OpenVINO models and hand-made topologies, and running them on arrays."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.network.reports.record import ExecutionRecord
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.topology import Topology
from tests.ops.case_runner import execute, give
from tests.oracle import CpuPlugin, assert_close, ov


def network_of(engine: Engine, what: ov.Model | Topology, options: BuildOptions | None = None) -> Network:
    """A network with a stream of its own."""
    topology = what if isinstance(what, Topology) else to_topology(what).topology
    program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
    return Network(program, engine.create_stream(), OpenVinoShapeInference())


def run_once(network: Network, arrays: Sequence[np.ndarray]) -> ExecutionRecord:
    """One execution, and what it tells."""
    give(network, arrays)
    network.execute()
    network.stream.finish()
    return network.page.tell()


def check(network: Network, oracle: CpuPlugin, inputs: Sequence[np.ndarray], tolerance: float = 1e-4,
          is_slow: bool = False) -> None:
    """One inference equals the oracle's; `is_slow`: the device, on which nothing is executed twice."""
    expected = oracle(inputs)
    actual = execute(network, inputs, expected if is_slow else None)
    for index, (got, wanted) in enumerate(zip(actual, expected, strict=True)):
        assert_close(got, wanted, tolerance, f"output {index}, shapes {[a.shape for a in inputs]}")
