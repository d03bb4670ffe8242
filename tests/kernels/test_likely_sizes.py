"""Kernels that accept some shapes only are built where shapes that they accept may come."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.ops import all_operations, kernels_of
from clinfer.program.program import Program, ProgramNode
from clinfer.runtime.engine import Engine
from tests.deferring import Selection
from tests.network.running import network_of
from tests.ops.case_runner import Variant, execute, needs, topology_of
from tests.ops.test_cases import ROWS
from tests.oracle import ov

NONE = "accepts none of the sizes that are likely"
WITH_SEQUENCES = sorted({op for op, case in ROWS if case.sequence} & {op.name for op in all_operations() if op.kernels})


@pytest.mark.parametrize("op", WITH_SEQUENCES)
def test_what_accepts_a_row_accepts_a_sample(engine: Engine, op: str) -> None:
    selection, unlikely = Selection(engine), set()
    able = [case for name, case in ROWS if name == op and case.sequence and needs(case, engine)]
    for case in able:
        options = Variant().options()
        opened = _node(selection.program(topology_of(case, Variant(dynamic=True)), options))
        never = {name for name, reason in (opened.rejected if opened else ()) if reason == NONE}
        fixed = _node(selection.program(topology_of(case, Variant()), options)) if never else None
        if fixed is None or opened is None:
            continue
        given = fixed.implementations[0].problem
        for candidate in kernels_of(opened.primitive).candidates(given):
            own = candidate.in_own_formats(given)
            if candidate.name in never and candidate.supports(own) is None and candidate.accepts(own) is None:
                unlikely.add((case.name, candidate.name))
    assert not unlikely


def _node(program: Program) -> ProgramNode | None:
    return next((node for node in program.nodes if node.primitive.id == "node" and node.implementations), None)


def test_open_channels_that_keep_their_number(engine: Engine, rng: np.random.Generator) -> None:
    """Of all sizes of the data only those with three channels are resized along the last two axes alone."""
    x = ops.parameter([-1, -1, -1, -1], np.float32, name="x")
    resized = ops.interpolate(ops.relu(x), np.array([2, 3, 20, 30]), "nearest", "sizes", axes=np.array([0, 1, 2, 3]))
    model = ov.Model([resized.output(0)], [x], "resized")
    network = network_of(engine, model)
    node = next(node for node in network.program.nodes if type(node.primitive).__name__ == "Interpolate")
    names = [each.name for each in node.implementations]
    assert "interpolate_ref" in names
    if engine.capabilities.device_type == "CPU":
        # GPUs resize by the reference kernel alone.
        assert len(set(names)) > 1, names
    for shape in ((2, 3, 10, 12), (2, 4, 10, 12), (1, 3, 9, 40), (2, 3, 40, 9)):
        data = rng.standard_normal(shape).astype(np.float32)
        (found,) = execute(network, [data])
        np.testing.assert_array_equal(found, np.maximum(data, 0)[_nearest(shape, found.shape)])


def _nearest(shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """What Interpolate's half_pixel and round_prefer_floor choose (OpenVINO's CPU plugin resizes no channels)."""
    places = [(np.arange(new) + 0.5) * old / new - 0.5 for old, new in zip(shape, result, strict=True)]
    return np.ix_(*(np.clip(np.ceil(at - 0.5), 0, old - 1).astype(int) for at, old in zip(places, shape, strict=True)))
