"""Graphs of hand-made topologies, taken through some of the passes."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.kernels.kernel_cache import LoadedKernels, kernel_cache_of
from clinfer.network.compile import execute_constants
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph
from clinfer.program.options import BuildOptions
from clinfer.program.passes import Pass
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Topology


def context_of(engine: Engine, options: BuildOptions | None = None) -> BuildContext:
    """What passes are handed."""
    kernels = LoadedKernels(kernel_cache_of(engine))
    return BuildContext(engine, engine.create_stream(), kernels, OpenVinoShapeInference(), options or BuildOptions(),
                        execute_constants)


def graph_after(engine: Engine, topology: Topology, passes: Sequence[Pass],
                options: BuildOptions | None = None) -> Graph:
    """The graph after these passes, consistent after each."""
    graph, context = Graph(topology), context_of(engine, options)
    for run in passes:
        run(graph, context)
        graph.check()
    return graph


def given(id: str, *shape: object, kind: str = "f32") -> Input:
    """An input of that shape."""
    known: Shape = tuple(shape)  # type: ignore[arg-type]
    return Input(id, shape=known, element_type=ElementType.of(kind))


def constant(id: str, value: np.ndarray) -> Constant:
    """A constant of the array's type."""
    return Constant(id, value=value, element_type=ElementType.of_numpy(value.dtype))


def numbers(id: str, *values: int) -> Constant:
    """A constant row of i64."""
    return constant(id, np.array(values, np.int64))
