"""Integers where devices trap or OpenVINO's CPU plugin differs from its specification: signs, zeros, extremes."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.eltwise import Eltwise
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Topology
from tests.ops.case_runner import execute

KINDS = ("i32", "i64", "i8", "u8", "u32", "u64")


def _expected(mode: str, a: int, b: int, rounds_down: bool) -> int:
    """Python's numbers; a division by 0 gives 0, and the remainder then is the dividend."""
    floor = a // b if b else 0
    truncated = (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0
    if mode == "Divide":
        return floor if rounds_down else truncated
    if mode == "Power":
        return a**b if b >= 0 else {1: 1, -1: 1 - 2 * (b % 2)}.get(a, 0)
    return a - b * (floor if mode == "FloorMod" else truncated)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode, rounds_down", [("Divide", True), ("Divide", False), ("Mod", True), ("FloorMod", True),
                                               ("Power", True)])
def test_device_and_host_agree_with_python(engine: Engine, mode: str, rounds_down: bool, kind: str) -> None:
    element_type = ElementType.of(kind)
    limits = np.iinfo(element_type.numpy)
    left = [0, 1, 7, 8, 100, *([-1, -7, -8] if limits.min else []), int(limits.min), int(limits.max)]
    right = [0, 1, 2, 3, *([-1, -2, -3] if limits.min else [])]
    a = np.repeat(np.array(left, element_type.numpy), len(right))
    b = np.tile(np.array(right, element_type.numpy), len(left))
    node = Eltwise("y", ("a", "b"), mode=mode, parameters=(float(rounds_down),) if mode == "Divide" else ())
    topology = Topology(Input("a", shape=a.shape, element_type=element_type),
                        Input("b", shape=b.shape, element_type=element_type), node)
    network = Network(compile_topology(engine, topology, OpenVinoShapeInference()), engine.create_stream(),
                      OpenVinoShapeInference())
    wanted = np.array([_expected(mode, int(x), int(y), rounds_down) % 2**element_type.bits
                       for x, y in zip(a, b, strict=True)], f"u{element_type.bits // 8}").view(element_type.numpy)
    assert np.array_equal(execute(network, [a, b])[0], wanted)
    assert np.array_equal(node.evaluate((a, b), (a.shape, b.shape))[0], wanted)
