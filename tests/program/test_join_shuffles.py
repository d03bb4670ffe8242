"""Shuffles of channels between two branches that are stored as bytes, as one primitive."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.concat import Concat
from clinfer.ops.shuffle_channels import ShuffleChannels
from clinfer.ops.shuffled_parts import ShuffledParts
from clinfer.ops.split import VariadicSplit
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.topology import Port, Primitive, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.program.building import given, numbers
from tests.program.test_store_on_grids import convolution, rounded

PASS = "join_shuffles"


@pytest.fixture(autouse=True)
def with_byte_products(engine: Engine) -> None:
    if not engine.capabilities.multiplies_bytes:
        pytest.skip("the device has no instructions for bytes")


def _topology(rng: np.random.Generator, channels: int, lengths: tuple[int, ...], group: int = 2) -> Topology:
    """Two inputs of so many channels, shuffled, and convolutions of the parts."""
    shuffled = [given("x", ANY, channels, ANY, ANY), given("z", ANY, channels, ANY, ANY), *rounded("one", "x"),
                *rounded("two", "z"), Concat("joined", ("one", "two"), axis=1),
                ShuffleChannels("shuffled", ("joined",), axis=1, group=group)]
    if len(lengths) == 1:
        return Topology(*shuffled, *convolution(rng, "a", "shuffled", 33, 2 * channels))
    split: list[Primitive] = [numbers("axis", 1), numbers("lengths", *lengths),
                              VariadicSplit("split", ("shuffled", "axis", "lengths"), num_splits=len(lengths))]
    readers = [each for n, length in enumerate(lengths)
               for each in convolution(rng, f"c{n}", Port("split", n), 33, length)]
    return Topology(*shuffled, *split, *readers, outputs={f"c{n}": Port(f"c{n}") for n in range(len(lengths))})


def _program(engine: Engine, topology: Topology, is_joined: bool, kernel: str = "") -> Program:
    options = BuildOptions({"shuffled/parts": ("", kernel)} if kernel else {}, frozenset([] if is_joined else [PASS]))
    return compile_topology(engine, topology, OpenVinoShapeInference(), options)


def _joined(program: Program) -> list[ShuffledParts]:
    return [node.primitive for node in program.nodes if isinstance(node.primitive, ShuffledParts)]


@pytest.mark.parametrize("kernel", ["shuffled_parts_pairs", "shuffled_parts_ref"])
@pytest.mark.parametrize("channels, lengths", [
    (58, (58, 58)), (16, (16, 16)), (29, (20, 38)), (10, (20,)), (75, (150,))], ids=str)
def test_bytes_are_moved_once(engine: Engine, rng: np.random.Generator, channels: int, lengths: tuple[int, ...],
                              kernel: str) -> None:
    """Channels that fill no blocks, parts that begin within one."""
    topology = _topology(rng, channels, lengths)
    programs = [_program(engine, topology, is_joined, kernel if is_joined else "") for is_joined in (True, False)]
    (made,), none = map(_joined, programs)
    assert made.lengths == lengths and not none
    networks = [Network(program, engine.create_stream(), OpenVinoShapeInference()) for program in programs]
    for batch, *sizes in ((1, 5, 9), (3, 2, 1), (2, 25, 30)):
        data = [rng.uniform(-1.5, 1.5, (batch, channels, *sizes)).astype(np.float32) for _ in range(2)]
        for found, wanted in zip(*(execute(network, data) for network in networks), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_parts_with_large_indices(engine: Engine, rng: np.random.Generator) -> None:
    topology = _topology(rng, 29, (20, 38))
    large, small = (network_of(engine, topology, BuildOptions(large_indices=is_large)) for is_large in (True, False))
    data = [rng.uniform(-1.5, 1.5, (2, 29, 4, 7)).astype(np.float32) for _ in range(2)]
    for found, wanted in zip(execute(large, data), execute(small, data), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_other_shuffles_stay(engine: Engine, rng: np.random.Generator) -> None:
    """Of other groups, and parts that begin with an odd channel."""
    for topology in (_topology(rng, 30, (60,), 3), _topology(rng, 20, (19, 21)), _topology(rng, 24, (16, 16, 16))):
        program = _program(engine, topology, True)
        assert all(parts.lengths == (48,) for parts in _joined(program))
