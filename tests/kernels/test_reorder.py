"""Reorder between all pairs of formats, with padding: the proof of the jitter's GET_INDEX."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.format import FORMATS, Format
from clinfer.base.layout import NO_PADDING, Layout, Padding
from clinfer.base.shape import ANY, Shape
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.reorder import Reorder
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Topology

PAIRS = [(a.name, b.name) for a in FORMATS.values() for b in FORMATS.values() if a.axes == b.axes and a != b]


def _run(engine: Engine, topology: Topology, values: np.ndarray) -> np.ndarray:
    program = compile_topology(engine, topology, OpenVinoShapeInference())
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    layout = Layout.planar(values.shape, program.inputs["x"].element_type)
    memory = engine.allocate_memory(layout)
    network.stream.write(memory, layout.pack(values), blocking=True)
    network.set_input("x", memory, values.shape)
    return next(iter(network.execute().values())).to_numpy()


def _shape(rng: np.random.Generator, rank: int) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(1, 20 if rank < 5 else 5, rank))


def _padding(rng: np.random.Generator, rank: int) -> Padding:
    return Padding(*(tuple(int(n) for n in rng.integers(0, 3, rank)) for _ in range(2)))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("source, target", PAIRS, ids=[f"{a}-{b}" for a, b in PAIRS])
def test_there_and_back(engine: Engine, rng: np.random.Generator, source: str, target: str, dynamic: bool) -> None:
    rank = len(Format.of(source).axes)
    shape = _shape(rng, rank)
    declared: Shape = (ANY,) * rank if dynamic else shape
    topology = Topology(
        Input("x", shape=declared),
        Reorder("a", ("x",), output_padding=_padding(rng, rank), format=source),
        Reorder("b", ("a",), format=target),
        Reorder("c", ("b",), output_padding=_padding(rng, rank), format=source),
        Reorder("d", ("c",), output_padding=NO_PADDING, format=Format.planar(rank).name))
    values = rng.standard_normal(shape).astype(np.float32)
    assert np.array_equal(_run(engine, topology, values), values)


@pytest.mark.parametrize("source, target", PAIRS, ids=[f"{a}-{b}" for a, b in PAIRS])
def test_nothing_is_moved(engine: Engine, rng: np.random.Generator, source: str, target: str) -> None:
    rank = len(Format.of(source).axes)
    for axis in range(rank):
        shape = tuple(0 if a == axis else size for a, size in enumerate(_shape(rng, rank)))
        topology = Topology(Input("x", shape=shape), Reorder("a", ("x",), format=source),
                            Reorder("b", ("a",), format=target), Reorder("c", ("b",), format=Format.planar(rank).name))
        program = compile_topology(engine, topology, OpenVinoShapeInference())
        assert program.outputs["c"].layout.shape == shape


@pytest.mark.parametrize("kind", ["f16", "i32", "u8", "bf16", "i64"])
def test_converting_and_padded_output(engine: Engine, rng: np.random.Generator, kind: str) -> None:
    topology = Topology(Input("x", shape=(2, 19, 3)),
                        Reorder("y", ("x",), output_padding=_padding(rng, 3), format="b_fs_yx_fsv16",
                                element_type=kind))
    values = rng.integers(0, 100, (2, 19, 3)).astype(np.float32)
    assert np.array_equal(_run(engine, topology, values), values.astype(ElementType.of(kind).numpy))


def test_block_tails_are_zero(engine: Engine, rng: np.random.Generator) -> None:
    program = compile_topology(engine, Topology(Input("x", shape=(1, 5, 2, 2)),
                                                Reorder("y", ("x",), format="b_fs_yx_fsv16")), OpenVinoShapeInference())
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    memory = engine.allocate_bytes(80)
    network.stream.write(memory, rng.standard_normal(20).astype(np.float32), blocking=True)
    network.set_input("x", memory, (1, 5, 2, 2))
    output = network.execute()["y"]
    network.stream.fill(output.memory, 0xFF)
    network.execute()
    units = network.stream.read(output.memory, 256).view(np.float32).reshape(4, 16)
    assert np.count_nonzero(units[:, 5:]) == 0 and np.all(units[:, :5] != 0)


@pytest.mark.parametrize("described", [
    Format("b_fs_yx_fsv4", "bfyx", "bfyx", (("f", 4),)),
    Format("b_fs_yx_fsv32", "bfyx", "bfyx", (("f", 32),)),
    Format("fs_b_yx_fsv32", "bfyx", "fbyx", (("f", 32),)),
    Format("bs_fs_yx_bsv16_fsv16", "bfyx", "bfyx", (("b", 16), ("f", 16))),
], ids=str)
def test_a_new_format_needs_only_its_description(engine: Engine, rng: np.random.Generator, described: Format,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, described.name, described)
    shape = (3, 37, 4, 5)
    values = rng.standard_normal(shape).astype(np.float32)
    layout = Layout(shape, ElementType.of("f32"), described)
    assert np.array_equal(layout.unpack(layout.pack(values)), values)
    topology = Topology(Input("x", shape=(ANY,) * 4), Reorder("a", ("x",), format=described.name),
                        Reorder("b", ("a",), format="byxf"), Reorder("c", ("b",), format=described.name))
    assert np.array_equal(_run(engine, topology, values), values)


@pytest.mark.parametrize("target", ["os_i_osv32", "ks_n_nsv32", "byxf", "o_osv16"])
@pytest.mark.parametrize("kind, low, high", [("u4", 0, 16), ("i4", -8, 8)])
def test_4_bits(engine: Engine, rng: np.random.Generator, kind: str, low: int, high: int, target: str) -> None:
    shape = _shape(rng, len(Format.of(target).axes))
    values = rng.integers(low, high, shape).astype(ElementType.of(kind).numpy)
    topology = Topology(Input("x", shape=(ANY,) * len(shape), element_type=ElementType.of(kind)),
                        Reorder("y", ("x",), format=target))
    assert np.array_equal(_run(engine, topology, values), values)
