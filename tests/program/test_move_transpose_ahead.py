"""The pass that lets a resize work on data whose axes stand in the order in which its result is wanted."""
from __future__ import annotations

import numpy as np

from clinfer.base.shape import ANY
from clinfer.ops.interpolate import Interpolate
from clinfer.ops.transpose import Transpose
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.mark_host_nodes import mark_host_nodes
from clinfer.program.passes.move_transpose_ahead import move_transpose_ahead
from clinfer.runtime.engine import Engine
from clinfer.topology import Port, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.program.building import given, graph_after, numbers

PASSES = (infer_layouts, mark_host_nodes, move_transpose_ahead)


def test_an_order_stays_before_all_its_readers(engine: Engine, rng: np.random.Generator) -> None:
    topology = Topology(
        given("x", ANY, 4, 6, 3), numbers("order", 0, 3, 1, 2), Transpose("early", ("x", "order")),
        numbers("sizes", 8, 12), numbers("axes", 1, 2), Interpolate("wide", ("x", "sizes", "axes"), mode="nearest"),
        Transpose("late", ("wide", "order")), outputs={"early": "early", "late": "late"})
    graph = graph_after(engine, topology, PASSES)
    assert graph["wide"].inputs[0] == Port("late") and graph.outputs["late"] == Port("wide")
    network = network_of(engine, topology)
    for rows in (2, 0, 1):
        x = rng.standard_normal((rows, 4, 6, 3)).astype(np.float32)
        planes = np.transpose(x, (0, 3, 1, 2))
        early, late = execute(network, [x])
        assert np.array_equal(early, planes) and np.array_equal(late, planes.repeat(2, 2).repeat(2, 3))
