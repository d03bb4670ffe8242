"""Concatenations of which one launch copies several inputs, against NumPy, in sequences of shapes."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, Shape
from clinfer.network.network import Network
from clinfer.ops.concat import Concat
from clinfer.ops.concat.kernels import MOST_JOINED
from clinfer.ops.reorder import Reorder
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Port, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute

KINDS = ("u8", "f16", "f32", "i64")
FORCED = BuildOptions({"joined": ("", "concat_joined")})


def _network(engine: Engine, shapes: list[Shape], axis: int, kind: str, form: str = "") -> Network:
    inputs = [Input(f"x{n}", shape=shape, element_type=ElementType.of(kind)) for n, shape in enumerate(shapes)]
    reorders = [Reorder(f"{each.id}/reordered", (Port(each.id),), format=form) for each in inputs if form]
    joined = Concat("joined", tuple(Port(each.id) for each in reorders or inputs), axis=axis)
    network = network_of(engine, Topology(*inputs, *reorders, joined), FORCED)
    node, = (node for node in network.program.nodes if node.primitive.id == "joined")
    assert [each.name for each in node.implementations] == ["concat_joined"]
    launches = -(-len(shapes) // MOST_JOINED)
    assert [len(each.stages) for each in node.implementations] == [launches]
    return network


def _check(network: Network, rng: np.random.Generator, shapes: list[tuple[int, ...]], axis: int, kind: str) -> None:
    given = [rng.integers(0, 100, shape).astype(ElementType.of(kind).numpy) for shape in shapes]
    found, = execute(network, given)
    np.testing.assert_array_equal(found, np.concatenate(given, axis))


def _sizes(rng: np.random.Generator, rank: int, axis: int, count: int,
           most: int = 40) -> tuple[list[tuple[int, ...]], Callable[[int], tuple[int, ...]]]:
    """Shapes of inputs, some of which are empty or have one element along the axis; and those with another size
    there."""
    common = [int(rng.integers(1, 8)) for _ in range(rank)]

    def sized(size: int) -> tuple[int, ...]:
        return tuple(size if a == axis else each for a, each in enumerate(common))
    return [sized(int(rng.choice([0, 1, rng.integers(1, most), 16]))) for _ in range(count)], sized


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 3, 5, 9, 16, 17, 35])
def test_inputs_of_fixed_sizes(engine: Engine, rng: np.random.Generator, count: int, kind: str) -> None:
    rank = int(rng.integers(1, 5))
    axis = int(rng.integers(rank))
    shapes, sized = _sizes(rng, rank, axis, count)
    shapes[int(rng.integers(count))] = sized(3)
    network = _network(engine, list(shapes), axis, kind)
    for _ in range(2):
        _check(network, rng, shapes, axis, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 4, 11, 20])
def test_inputs_of_open_sizes(engine: Engine, rng: np.random.Generator, count: int, kind: str) -> None:
    rank = int(rng.integers(2, 5))
    axis = int(rng.integers(rank))
    network = _network(engine, [(ANY,) * rank] * count, axis, kind)
    for most in (40, 2, 300, 1, 40):
        _check(network, rng, _sizes(rng, rank, axis, count, most + 1)[0], axis, kind)
    _check(network, rng, [(0,) * rank] * count, axis, kind)


@pytest.mark.parametrize("form, axis", [("byxf", 1), ("byxf", 2), ("byxf", 0), ("yxfb", 1), ("b_fs_yx_fsv16", 2),
                                        ("b_fs_yx_fsv16", 0)])
def test_other_formats(engine: Engine, rng: np.random.Generator, form: str, axis: int) -> None:
    network = _network(engine, [(ANY, ANY if axis == 1 else 20, ANY, ANY)] * 3, axis, "f16", form)
    for batch, channels, height, width in ((1, 32, 7, 7), (2, 20, 3, 1), (3, 1, 5, 2), (1, 33, 1, 4)):
        common = [batch, channels if axis == 1 else 20, height, width]
        shapes = [tuple(size if a == axis else each for a, each in enumerate(common)) for size in (24, 5, 64)]
        _check(network, rng, shapes, axis, "f16")


@pytest.mark.parametrize("shapes, form, reason", [
    ([(2, 3)], "", "there is one input"),
    ([(1, 16, 2, 2), (1, 32, 2, 2)], "b_fs_yx_fsv16", "blocks lie along the axis")])
def test_what_has_no_rows(engine: Engine, shapes: list[Shape], form: str, reason: str) -> None:
    with pytest.raises(ClinferError, match=reason):
        _network(engine, shapes, 1, "f32", form)


@pytest.mark.parametrize("shapes, axis", [([(ANY, ANY)] * 20, 0), ([(1, 8, 8, 32)] * 3, 3), ([(500, 1)] * 9, 1)])
def test_processors_copy_one_input_after_another(engine: Engine, shapes: list[Shape], axis: int) -> None:
    inputs = [Input(f"x{n}", shape=shape) for n, shape in enumerate(shapes)]
    joined = Concat("joined", tuple(Port(each.id) for each in inputs), axis=axis)
    node, = (node for node in network_of(engine, Topology(*inputs, joined)).program.nodes if node.implementations)
    assert {each.name == "concat_joined" for each in node.implementations} == {engine.device.type == "GPU"}
