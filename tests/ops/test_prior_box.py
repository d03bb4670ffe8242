"""PriorBox with the ratios before the mean sizes, which OpenVINO computes of constants alone."""
from __future__ import annotations

import numpy as np

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import to_topology
from clinfer.runtime.engine import Engine
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, assert_close


def _model(size: ov.Node, *parameters: ov.Node) -> ov.Model:
    attributes = {"min_size": [4.0, 7.0], "max_size": [9.0, 8.0], "aspect_ratio": [2.0, 3.0], "flip": True,
                  "step": 16.0, "offset": 0.5, "variance": [0.1, 0.1, 0.2, 0.2], "scale_all_sizes": True,
                  "min_max_aspect_ratios_order": False}
    return ov.Model([ov.opset8.prior_box(size, np.array([64, 80]), attributes)], [*parameters])


def test_ratios_before_the_mean_sizes(engine: Engine) -> None:
    size = ov.op.Parameter(ov.Type.i64, ov.Shape([2]))
    network = network_of(engine, to_topology(_model(size, size)).topology)
    for given in (np.array([3, 5]), np.array([1, 2])):
        assert_close(execute(network, [given])[0], CpuPlugin(_model(ov.op.Constant(given)))([])[0], 1e-6)
