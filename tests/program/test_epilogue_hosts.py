"""Fused operations that read tensors of which each shape decides whether they stretch, behind every kind of host."""
from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Dim, Shape, Size
from clinfer.ops import all_operations, kernels_of
from clinfer.ops.broadcast.op import Broadcast
from clinfer.ops.convert import Convert
from clinfer.ops.convolution import Convolution
from clinfer.ops.deconvolution.op import ConvolutionBackpropData
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.gather import Gather
from clinfer.ops.group_norm.op import GroupNormalization
from clinfer.ops.interpolate.op import Interpolate
from clinfer.ops.matmul.op import MatMul
from clinfer.ops.mvn.op import MVN
from clinfer.ops.normalize_l2.op import NormalizeL2
from clinfer.ops.pooling import AdaptiveAvgPool, AvgPool, MaxPool
from clinfer.ops.reduce import Reduce
from clinfer.ops.reorder import Reorder
from clinfer.ops.softmax import Softmax
from clinfer.ops.transpose import Transpose
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.topology import Port, Primitive, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute, is_unsupported
from tests.oracle import assert_close
from tests.program.building import constant, given, numbers
from tests.seeds import FULL

_ONES = {"strides": (1, 1), "dilations": (1, 1), "pads_begin": (1, 1), "pads_end": (1, 1)}


def _weights(*shape: int) -> Primitive:
    return constant("w", (np.sin(np.arange(np.prod(shape))) / 4).astype(np.float32).reshape(shape))


HOSTS: dict[str, tuple[Shape, tuple[Primitive, ...]]] = {
    "convolution": ((2, 16, 7, 18), (_weights(16, 16, 3, 3), Convolution("host", ("x", "w"), **_ONES))),
    "pointwise": ((2, 16, 7, 16), (_weights(16, 16, 1, 1), Convolution("host", ("x", "w"), strides=(1, 1),
                                                                        dilations=(1, 1), pads_begin=(0, 0),
                                                                        pads_end=(0, 0)))),
    "deconvolution": ((2, 16, 7, 18), (_weights(16, 16, 3, 3), ConvolutionBackpropData("host", ("x", "w"), **_ONES))),
    "matmul": ((2, 3, 7, 16), (_weights(16, 16), MatMul("host", ("x", "w")))),
    "maxpool": ((2, 16, 7, 18), (MaxPool("host", ("x",), kernel=(3, 3), pads_begin=(1, 1), pads_end=(1, 1)),)),
    "avgpool": ((2, 16, 7, 18), (AvgPool("host", ("x",), kernel=(2, 3), pads_begin=(0, 1), pads_end=(1, 1)),)),
    "adaptive": ((2, 16, 7, 18), (numbers("sizes", 3, 9), AdaptiveAvgPool("host", ("x", "sizes")))),
    "softmax": ((2, 16, 7, 18), (Softmax("host", ("x",), axis=3),)),
    "softmax of channels": ((2, 16, 7, 18), (Softmax("host", ("x",), axis=1),)),
    "mvn": ((2, 16, 7, 18), (numbers("axes", -1), MVN("host", ("x", "axes")))),
    "normalize": ((2, 16, 7, 18), (numbers("axes", 1), NormalizeL2("host", ("x", "axes")))),
    "group_norm": ((2, 16, 7, 18), (
        constant("ones", np.ones(16, np.float32)), constant("zeros", np.zeros(16, np.float32)),
        GroupNormalization("host", ("x", "ones", "zeros"), num_groups=4))),
    "reduce": ((2, 16, 7, 18), (numbers("axes", 2), Reduce("host", ("x", "axes"), mode="Sum", keep_dims=True))),
    "transpose": ((2, 16, 7, 18), (numbers("order", 0, 2, 3, 1), Transpose("host", ("x", "order")))),
    "broadcast": ((2, 16, 1, 18), (numbers("shape", 2, 16, 7, 18), Broadcast("host", ("x", "shape")))),
    "gather": ((2, 16, 7, 18), (numbers("places", 3, 0, 5, -1), constant("axis", np.array(2, np.int64)),
                                Gather("host", ("x", "places", "axis")))),
    "interpolate": ((2, 16, 7, 9), (numbers("axes", 2, 3), numbers("sizes", 11, 18),
                                    Interpolate("host", ("x", "sizes", "axes"), mode="linear_onnx"))),
    "convert": ((2, 16, 7, 18), (Convert("host", ("x",), destination_type="f32"),)),
}


def _kernels(name: str) -> list[str]:
    return [kernel.name for kernel in kernels_of(HOSTS[name][1][-1]).kernels]


def _topology(name: str, blocked: bool, *behind: Primitive) -> Topology:
    """A host on a planar or a blocked input, and what stands behind it; the result is the last one's."""
    shape, primitives = HOSTS[name]
    read = Reorder("read", ("x",), format="b_fs_yx_fsv16" if blocked else "bfyx")
    host = replace(primitives[-1], inputs=tuple(
        Port("read") if port.primitive == "x" else port for port in primitives[-1].inputs))
    return Topology(given("x", *shape, kind="f16" if name == "convert" else "f32"), read, *primitives[:-1], host,
                    *behind, outputs={"result": (host, *behind)[-1].id})


@pytest.mark.parametrize("name", HOSTS)
def test_each_shape_decides_what_stretches(engine: Engine, rng: np.random.Generator, name: str) -> None:
    """Behind one of the host's kernels, or all of them in a full run."""
    x = rng.uniform(-1, 1, HOSTS[name][0]).astype(np.float16 if name == "convert" else np.float32)
    plain = execute(network_of(engine, _topology(name, False)), [x])[0]
    done = 0
    for kernel in rng.permutation(_kernels(name)).tolist():
        if FULL or not done:
            done += _stretches(engine, rng, name, kernel, x, plain)
    assert done


def _stretches(engine: Engine, rng: np.random.Generator, name: str, kernel: str, x: np.ndarray,
               plain: np.ndarray) -> bool:
    """Compare the host with two fused operations and its plain result with the same; False if the kernel refuses the
    host."""
    channels = int(rng.choice([1, plain.shape[1]]))
    other = given("other", Dim(), channels, *(1 if size == 1 else Dim() for size in plain.shape[2:]))
    topology = _topology(name, "fsv16" in kernel or bool(rng.integers(2)), other,
                         Eltwise("sum", ("host", "other"), mode="Add"), Eltwise("last", ("sum",), mode="HSwish"))
    try:
        network = network_of(engine, topology, BuildOptions({"host": ("", kernel)}))
    except ClinferError as error:
        if not is_unsupported(error):
            raise
        return False
    assert not {"sum", "last"} & {node.primitive.id for node in network.program.nodes}
    for batch, height, width in rng.permutation(list(product(*((1, plain.shape[axis]) for axis in (0, 2, 3)))))[:4]:
        added = rng.uniform(-1, 1, (batch, channels, height, width)).astype(np.float32)
        sums = plain + added
        assert_close(execute(network, [x, added])[0], sums * np.clip(sums + 3, 0, 6) / 6, 1e-5,
                     f"{kernel} {added.shape}")
    with pytest.raises(ClinferError, match="shapes do not broadcast"):
        execute(network, [x, np.zeros((1, channels, 1, plain.shape[3] + 1), np.float32)])
    return True


def _pyramid(batch: Size, fine: Size) -> Topology:
    """A coarse map, made twice as large, added to a finer one that is multiplied by a factor per channel."""
    return Topology(given("coarse", batch, 16, Dim(1), Dim(1)), given("fine", fine, 16, Dim(1), Dim(1)),
                    given("factor", 1, 16, 1, 1), numbers("axes", 2, 3),
                    constant("scales", np.array([2, 2], np.float32)),
                    Eltwise("lateral", ("fine", "factor"), mode="Multiply"),
                    Interpolate("larger", ("coarse", "scales", "axes"), shape_calculation_mode="scales",
                                coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
                    Eltwise("sum", ("lateral", "larger"), mode="Add"), outputs={"sum": "sum"})


def test_a_pyramid_is_added_where_it_is_enlarged(engine: Engine, rng: np.random.Generator) -> None:
    """Twice a size is never 1: what is added has that size too, or stretches to it, or does not fit."""
    network = network_of(engine, _pyramid(2, 2))
    assert [node.primitive.id for node in network.program.nodes if node.kind == "kernel"] == ["larger"]
    for coarse, fine in (((3, 4), (6, 8)), ((1, 5), (2, 1)), ((2, 7), (1, 14)), ((5, 1), (10, 2)), ((3, 4), (6, 8))):
        maps = [rng.standard_normal((n, 16, *size)).astype(np.float32)
                for n, size in ((2, coarse), (2, fine), (1, (1, 1)))]
        wanted = maps[1] * maps[2] + maps[0].repeat(2, 2).repeat(2, 3)
        assert_close(execute(network, maps)[0], wanted, 1e-5, f"{coarse} {fine}")
    for coarse, fine in (((3, 4), (5, 8)), ((1, 1), (3, 1))):
        with pytest.raises(ClinferError, match="shapes do not broadcast"):
            execute(network, [np.zeros((2, 16, *coarse), np.float32), np.zeros((2, 16, *fine), np.float32),
                              np.zeros((1, 16, 1, 1), np.float32)])


def test_what_does_not_fit_is_refused_for_no_elements_too(engine: Engine) -> None:
    network = network_of(engine, _pyramid(Dim(), 1))
    maps = [np.zeros(shape, np.float32) for shape in ((0, 16, 3, 4), (1, 16, 6, 7), (1, 16, 1, 1))]
    with pytest.raises(ClinferError, match="shapes do not broadcast"):
        execute(network, maps)
    assert execute(network, [maps[0], maps[1][..., :1], maps[2]])[0].shape == (0, 16, 6, 8)


def test_sums_of_looked_up_rows_are_one_launch(engine: Engine, rng: np.random.Generator) -> None:
    """Words, kinds and places, as encoders of text embed them: each shape decides which of them stretch."""
    tables = {"words": 50, "kinds": 3, "places": 20}
    weights = {name: rng.standard_normal((rows, 24)).astype(np.float32) for name, rows in tables.items()}
    looked_up = [Gather(f"{name} of", (name, f"{name} at", "axis")) for name in tables]
    topology = Topology(*(given(f"{name} at", Dim(), Dim(), kind="i32") for name in tables),
                        constant("axis", np.array(0, np.int64)),
                        *(constant(name, table) for name, table in weights.items()), *looked_up,
                        Eltwise("two", ("words of", "kinds of"), mode="Add"),
                        Eltwise("three", ("two", "places of"), mode="Add"), outputs={"sum": "three"})
    network = network_of(engine, topology)
    assert [len(node.primitive.fused_ops) for node in network.program.nodes if node.kind == "kernel"] == [0, 0, 2]
    for shapes in (((2, 7), (2, 7), (1, 7)), ((1, 7), (2, 7), (2, 1)), ((3, 1), (1, 5), (1, 5)),
                   ((1, 1), (1, 1), (1, 9)), ((0, 4), (1, 4), (1, 1)), ((2, 7), (2, 7), (1, 7))):
        places = [rng.integers(0, rows, shape).astype(np.int32)
                  for rows, shape in zip(tables.values(), shapes, strict=True)]
        wanted = sum(table[at] for table, at in zip(weights.values(), places, strict=True))
        assert_close(execute(network, places)[0], wanted, 1e-5, str(shapes))
    with pytest.raises(ClinferError, match="shapes do not broadcast"):
        execute(network, [np.zeros(shape, np.int32) for shape in ((2, 7), (2, 6), (1, 7))])


def test_a_stretched_lookup_whose_axis_comes_at_run_time(engine: Engine, rng: np.random.Generator) -> None:
    topology = Topology(given("x", Dim(), Dim()), given("at", Dim(), kind="i64"), given("axis", kind="i64"),
                        Gather("rows", ("x", "at", "axis")), given("other", Dim(), Dim()),
                        Eltwise("product", ("rows", "other"), mode="Multiply"), outputs={"product": "product"})
    network = network_of(engine, topology)
    assert [node.primitive.id for node in network.program.nodes if node.kind == "kernel"] == ["rows"]
    for axis, data, count, other in ((0, (4, 20), 3, (3, 20)), (1, (4, 20), 1, (1, 9)), (0, (4, 1), 1, (5, 30)),
                                     (-1, (1, 12), 16, (4, 1)), (0, (4, 20), 3, (3, 20))):
        x, factor = (rng.standard_normal(shape).astype(np.float32) for shape in (data, other))
        at = rng.integers(0, data[axis], count)
        found = execute(network, [x, at, np.array(axis), factor])[0]
        assert_close(found, x.take(at, axis) * factor, 1e-5, f"{axis} {data} {other}")
    with pytest.raises(ClinferError, match="the axis or the batch axes do not fit"):
        execute(network, [np.zeros((4, 20), np.float32), np.zeros(3, np.int64), np.array(2),
                          np.zeros((3, 20), np.float32)])


@pytest.mark.parametrize("mover, host", [
    ((numbers("order", 1, 0), Transpose("moved", ("row", "order"))), "soft"),
    ((constant("place", np.array(1, np.int64)), constant("axis", np.array(0, np.int64)),
      Gather("moved", ("deep", "place", "axis"))), "soft"),
    ((numbers("places", 4, 0, 2, 1, 3), constant("axis", np.array(0, np.int64)),
      Gather("moved", ("column", "places", "axis"))), "moved"),
], ids=["transpose", "gather of a part", "gather"])
def test_what_may_need_no_launch_is_not_chosen(engine: Engine, mover: tuple[Primitive, ...], host: str) -> None:
    topology = Topology(given("row", 1, 5), given("column", 5, 1), given("deep", 3, 5, 1),
                        Softmax("soft", ("column",), axis=0), *mover, Eltwise("sum", ("moved", "soft"), mode="Add"),
                        outputs={"sum": "sum"})
    nodes = network_of(engine, topology).program.nodes
    assert [node.primitive.id for node in nodes if node.primitive.fused_ops] == [host]


def test_fusing_keeps_no_kernel_away() -> None:
    """Where some kernels of a host apply fused operations all do, but for those of types that have none."""
    without = {kernel.name for op in all_operations() for table in op.kernels.values()
               if any(each.has_epilogue for each in table.kernels)
               for kernel in table.kernels if not kernel.has_epilogue}
    assert without == {"convert_nibbles"}
