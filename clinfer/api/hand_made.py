"""Networks of topologies made by hand, without a model."""
from __future__ import annotations

from collections.abc import Mapping

from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.runtime.stream import Stream
from clinfer.topology import Topology


def build_network(engine: Engine, topology: Topology, stream: Stream | None = None,
                  force_implementations: Mapping[str, tuple[str, ...]] | None = None) -> Network:
    """Build a topology into a program and that into a network on `stream` (None: a new one).

    `force_implementations` maps a primitive's id to (format, kernel) or (format, kernel, implementation type), each
    may be empty. Outputs are planar unless a Reorder or `output_padding` asks otherwise; `NetworkOutput.layout` says
    how they lie in memory.
    """
    options = BuildOptions(force_implementations or {})
    program = compile_topology(engine, topology, OpenVinoShapeInference(), options)
    return Network(program, stream or engine.create_stream(), OpenVinoShapeInference())
