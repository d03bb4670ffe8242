"""A reshape whose result is padded cannot share its input's memory and is copied."""
from __future__ import annotations

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.layout import Padding
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.reorder import Reorder
from clinfer.ops.reshape import Reshape
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Topology
from tests.ops.case_runner import execute


def test_padded_result(engine: Engine, rng: np.random.Generator) -> None:
    values = rng.standard_normal((4, 3, 5)).astype(np.float32)
    pattern = Constant("pattern", value=np.array([2, -1, 6], np.int64), element_type=ElementType.of("i64"))
    topology = Topology(Input("x", shape=values.shape), pattern,
                        Reshape("y", ("x", "pattern"), output_padding=Padding((0, 1, 2), (3, 0, 1))),
                        Reorder("z", ("y",), format=Format.planar(3).name))
    program = compile_topology(engine, topology, OpenVinoShapeInference())
    assert "reshape_ref" in {i.name for node in program.nodes for i in node.implementations}
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    assert np.array_equal(execute(network, [values])[0], values.reshape(2, 5, 6))
