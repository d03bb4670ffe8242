"""Topologies made by hand: two poolings, a concatenation and a reorder, with padding and forced kernels."""
from __future__ import annotations

import numpy as np
import pytest

import clinfer
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.layout import NO_PADDING, Layout, Padding
from clinfer.network.network import Network
from clinfer.ops.concat import Concat
from clinfer.ops.pooling import MaxPool
from clinfer.ops.reorder import Reorder
from clinfer.runtime.engine import Engine
from clinfer.topology import Topology, input_layout

I8 = ElementType.of("i8")
INPUT = Layout((1, 1, 3, 8), I8, Format.of("bfyx"))


def _topology(padding: Padding = NO_PADDING, axis: int = 1) -> Topology:
    return Topology(
        input_layout("input0", INPUT),
        input_layout("input1", INPUT),
        MaxPool("pool0", ("input0",), output_padding=padding, kernel=(2, 2)),
        MaxPool("pool1", ("input1",), output_padding=padding, kernel=(2, 2)),
        Concat("concat", ("pool0", "pool1"), output_padding=padding, axis=axis),
        Reorder("reorder", ("concat",), format="yxfb"))


def _give(network: Network, rng: np.random.Generator) -> list[np.ndarray]:
    engine, arrays = network.program.engine, []
    for name in ("input0", "input1"):
        arrays.append(rng.integers(-128, 128, INPUT.static_shape).astype(np.int8))
        memory = engine.allocate_memory(INPUT)
        network.stream.write(memory, INPUT.pack(arrays[-1]), blocking=True)
        network.set_input(name, memory, INPUT.static_shape)
    return arrays


def _pool(x: np.ndarray) -> np.ndarray:
    return np.maximum.reduce([x[:, :, dy:2 + dy, dx:7 + dx] for dy in (0, 1) for dx in (0, 1)])


@pytest.mark.parametrize("padding", [Padding(), Padding((0, 1, 2, 1), (1, 0, 3, 2))], ids=["dense", "padded"])
def test_the_example(engine: Engine, rng: np.random.Generator, padding: Padding) -> None:
    network = clinfer.build_network(engine, _topology(padding))
    first, second = _give(network, rng)
    output = network.execute()["reorder"]
    assert output.layout == Layout((1, 2, 2, 7), I8, Format.of("yxfb"))
    assert np.array_equal(output.to_numpy(), np.concatenate([_pool(first), _pool(second)], axis=1))
    raw = network.stream.read(output.memory, output.layout.byte_size).view(np.int8)
    assert np.array_equal(raw.reshape(2, 7, 2, 1).transpose(3, 2, 0, 1), output.to_numpy())


def test_a_padded_output_keeps_its_padding(engine: Engine, rng: np.random.Generator) -> None:
    padding = Padding((0, 0, 1, 1), (0, 0, 1, 1))
    network = clinfer.build_network(engine, Topology(
        input_layout("input0", INPUT), MaxPool("pool", ("input0",), output_padding=padding, kernel=(2, 2))))
    memory, x = engine.allocate_memory(INPUT), rng.integers(-128, 128, INPUT.static_shape).astype(np.int8)
    network.stream.write(memory, x, blocking=True)
    network.set_input("input0", memory, INPUT.static_shape)
    output = network.execute()["pool"]
    assert output.layout.padding == padding and output.layout.byte_size == 4 * 9
    assert np.array_equal(output.to_numpy(), _pool(x))


def test_events_come_with_the_outputs(engine: Engine, rng: np.random.Generator) -> None:
    network = clinfer.build_network(engine, _topology())
    first, second = _give(network, rng)
    before = network.stream.marker()
    output = network.execute(dependencies=[before])["reorder"]
    output.event.wait()
    assert np.array_equal(output.to_numpy(), np.concatenate([_pool(first), _pool(second)], axis=1))


@pytest.mark.parametrize("forced", [("b_fs_yx_fsv16", ""), ("", "pool_ref"), ("byxf", "pool_ref")])
def test_forced_implementations(engine: Engine, rng: np.random.Generator, forced: tuple[str, str]) -> None:
    network = clinfer.build_network(engine, _topology(), force_implementations={"pool0": forced})
    row = network.program.explain().node("pool0")
    assert not forced[1] or (row.work == forced[1] and row.why == f"kernel {forced[1]} is forced")
    first, second = _give(network, rng)
    result = network.execute()["reorder"].to_numpy()
    assert np.array_equal(result, np.concatenate([_pool(first), _pool(second)], axis=1))


def test_the_knob_forces_too(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_FORCE_KERNEL", "pool0=pool_ref,pool1=:pool_ref")
    explanation = clinfer.build_network(engine, _topology()).program.explain()
    assert explanation.node("pool0").work == explanation.node("pool1").work == "pool_ref"


@pytest.mark.parametrize("forced, message", [
    ({"pool0": ("", "nonsense")}, "forced kernel 'nonsense' cannot be used"),
    ({"pool0": ("nchw", "")}, "unknown format 'nchw'"),
    ({"nobody": ("", "pool_ref")}, "primitives that the program does not have"),
])
def test_forcing_what_does_not_exist(engine: Engine, forced: dict[str, tuple[str, str]], message: str) -> None:
    with pytest.raises(ClinferError, match=message):
        clinfer.build_network(engine, _topology(), force_implementations=forced)


def test_selection_gives_reasons(engine: Engine) -> None:
    nodes = clinfer.build_network(engine, _topology()).program.explain().nodes
    assert all(reason for node in nodes for _, reason in node.rejected)
    assert all(bool(node.why) == (node.kind == "kernel") for node in nodes)


def test_shapes_that_do_not_fit_name_the_primitive(engine: Engine) -> None:
    other = Layout((1, 1, 5, 8), I8, Format.of("bfyx"))
    with pytest.raises(ClinferError, match="Concat 'concat'"):
        clinfer.build_network(engine, Topology(
            input_layout("a", INPUT), input_layout("b", other), Concat("concat", ("a", "b"), axis=1)))
