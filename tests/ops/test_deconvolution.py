"""Transposed convolution: its shape rule against OpenVINO's, and what no row of one operation can ask for."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openvino import opset13 as ops
from openvino.utils.node_factory import NodeFactory

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.ops.deconvolution import ConvolutionBackpropData, GroupConvolutionBackpropData
from clinfer.ops.shared.float_products import float_tiles, narrow_only
from clinfer.ops.shared.targets import has_wide_vectors
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Topology
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, assert_close, ov

F32 = ElementType.of("f32")


def _random_attributes(rng: np.random.Generator, axes: int) -> dict[str, Any]:
    def pick(low: int, high: int) -> list[int]:
        return [int(v) for v in rng.integers(low, high + 1, axes)]
    return {"strides": pick(1, 4), "dilations": pick(1, 3), "pads_begin": pick(0, 3), "pads_end": pick(0, 3),
            "output_padding": pick(0, 2),
            "auto_pad": str(rng.choice(["explicit", "same_upper", "same_lower", "valid"]))}


def _primitive(cls: type[ConvolutionBackpropData], inputs: tuple[str, ...], attributes: dict[str, Any],
               has_output_shape: bool = False) -> ConvolutionBackpropData:
    fields = {name: tuple(v) if isinstance(v, list) else v for name, v in attributes.items()}
    extension = fields.pop("output_padding")
    return cls("node", inputs, output_extension=extension, has_output_shape=has_output_shape, **fields)


@pytest.mark.parametrize("cls", [ConvolutionBackpropData, GroupConvolutionBackpropData])
def test_the_shape_rule_is_openvinos(cls: type[ConvolutionBackpropData], rng: np.random.Generator) -> None:
    compared = 0
    for _ in range(400):
        axes = int(rng.integers(1, 4))
        attributes = _random_attributes(rng, axes)
        weights = (*((2,) if cls.is_grouped else ()), 3, 5, *(int(v) for v in rng.integers(1, 5, axes)))
        data = (2, 6 if cls.is_grouped else 3, *(int(v) for v in rng.integers(1, 15, axes)))
        given = [ov.op.Parameter(ov.Type.f32, ov.PartialShape(shape)).output(0) for shape in (data, weights)]
        target = [int(v) for v in rng.integers(1, 60, axes)] if rng.integers(0, 2) else []
        if target:
            given.append(ov.op.Constant(np.array(target, np.int64)).output(0))
        try:
            node = NodeFactory("opset1").create(cls.op_type, given, attributes)
        except RuntimeError:
            continue
        primitive = _primitive(cls, ("a", "b", "c")[:len(given)], attributes, bool(target))
        values = {2: np.array(target)} if target else {}
        if node.output(0).partial_shape.is_dynamic:
            with pytest.raises(ClinferError, match="pads are larger than the output"):
                primitive.infer_shapes((data, weights), values)
            continue
        assert primitive.infer_shapes((data, weights, (axes,))[:len(given)], values) == (tuple(node.shape),)
        cut = [primitive.pad(a, data[2 + a], weights[a - axes], node.shape[2 + a]) for a in range(axes)]
        assert cut == node.get_attributes()["pads_begin"], (attributes, data, weights, target)
        compared += 1
    assert compared > 100


def _scattered(data: np.ndarray, weights: np.ndarray, primitive: ConvolutionBackpropData,
               output: tuple[int, ...]) -> np.ndarray:
    """Every element of grouped data [B, G*I, Y, X] with weights [G, I, O, Y, X] added where it belongs, in f64."""
    groups, inputs, outputs, height, width = weights.shape
    result = np.zeros((data.shape[0], groups * outputs, *output))
    pads = [primitive.pad(a, data.shape[2 + a], weights.shape[3 + a], output[a]) for a in range(2)]
    parts = data.reshape(data.shape[0], groups, inputs, *data.shape[2:]).astype(np.float64)
    for y, x, ky, kx in np.ndindex(*data.shape[2:], height, width):
        at = [i * s + k * d - p for i, s, k, d, p in zip(
            (y, x), primitive.strides, (ky, kx), primitive.dilations, pads, strict=True)]
        if all(0 <= place < size for place, size in zip(at, output, strict=True)):
            product = np.einsum("bgi,gio->bgo", parts[..., y, x], weights[..., ky, kx].astype(np.float64))
            result[:, :, at[0], at[1]] += product.reshape(data.shape[0], -1)
    return result


@pytest.mark.parametrize("channels", [(1, 20, 35), (1, 18, 1), (1, 5, 3), (2, 16, 32), (3, 2, 5)])
def test_random_steps_and_pads(engine: Engine, rng: np.random.Generator, channels: tuple[int, int, int]) -> None:
    groups, inputs, outputs = channels
    for _ in range(2):
        attributes = _random_attributes(rng, 2)
        filters = tuple(int(v) for v in rng.integers(1, 5, 2))
        spatial = tuple(int(v) for v in rng.integers(4, 20, 2))
        data = rng.standard_normal((2, groups * inputs, *spatial)).astype(np.float32)
        weights = rng.standard_normal((groups, inputs, outputs, *filters)).astype(np.float32)
        primitive = _primitive(GroupConvolutionBackpropData, ("x", "w"), attributes)
        try:
            ((_, _, *output),) = primitive.infer_shapes((data.shape, weights.shape), {})
        except ClinferError:
            continue
        topology = Topology(Input("x", shape=data.shape, element_type=F32),
                            Constant("w", value=weights, element_type=F32), primitive)
        (result,) = execute(network_of(engine, topology), [data])
        wanted = _scattered(data, weights, primitive, tuple(output))
        assert_close(result, wanted, 1e-4, f"{primitive} {data.shape} {weights.shape}")


@pytest.mark.parametrize("auto_pad", ["explicit", "same_upper", "same_lower"])
@pytest.mark.parametrize("outputs", [1, 20])
def test_an_output_shape_given_at_run_time(engine: Engine, rng: np.random.Generator, auto_pad: str,
                                           outputs: int) -> None:
    attributes = {"strides": [2, 2], "dilations": [1, 1], "pads_begin": [1, 0], "pads_end": [0, 1],
                  "auto_pad": auto_pad, "output_padding": [0, 0]}
    weights = rng.standard_normal((1, 20, outputs, 4, 3)).astype(np.float32)
    bias = rng.standard_normal((1, outputs, 1, 1)).astype(np.float32)
    x, target = ops.parameter([-1, 20, -1, -1], np.float32), ops.parameter([2], np.int64)
    node = NodeFactory("opset1").create("ConvolutionBackpropData", [
        x.output(0), ops.constant(weights[0]).output(0), target.output(0)], attributes)
    network = network_of(engine, ov.Model([ops.add(node, ops.constant(bias))], [x, target]))
    primitive = _primitive(GroupConvolutionBackpropData, ("x", "w", "to"), attributes, has_output_shape=True)
    for shape, size in (((1, 20, 5, 7), (9, 14)), ((1, 20, 5, 7), (10, 13)), ((2, 20, 4, 30), (9, 60))):
        data = rng.standard_normal(shape).astype(np.float32)
        (result,) = execute(network, [data, np.array(size, np.int64)])
        assert_close(result, _scattered(data, weights, primitive, size) + bias, 1e-4, f"{shape} to {size}")


def test_pads_that_leave_nothing_are_refused() -> None:
    with pytest.raises(ClinferError, match="pads are larger than the output"):
        ConvolutionBackpropData("node", ("x", "w"), strides=(1,), pads_begin=(3,), pads_end=(3,)).infer_shapes(
            ((1, 2, 3), (2, 4, 3)), {})


def test_an_output_shape_of_another_rank_is_refused() -> None:
    with pytest.raises(ClinferError, match="one size per spatial axis"):
        ConvolutionBackpropData("node", ("x", "w", "to"), strides=(1, 1), has_output_shape=True).infer_shapes(
            ((1, 2, 3, 3), (2, 4, 3, 3), (3,)), {2: np.array([1, 2, 3])})


def test_attributes_of_different_length_are_refused() -> None:
    with pytest.raises(ClinferError, match="strides and dilations"):
        ConvolutionBackpropData("node", ("x", "w"), strides=(1, 1), dilations=(1,))


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_narrow_groups(engine: Engine, size: int, rng: np.random.Generator) -> None:
    """Of random filters, strides above and below them, dilations and pads, in one network."""
    if engine.device.type != "CPU":
        pytest.skip("made for CPUs")
    groups, axes = int(rng.integers(1, 40)), int(rng.integers(1, 4))
    filters, strides, dilations, begins, ends = ([int(v) for v in rng.integers(low, high, axes)]
                                                 for low, high in ((1, 5), (1, 5), (1, 4), (0, 3), (0, 3)))
    weights = rng.uniform(-1, 1, (groups, size, size, *filters)).astype(np.float32)

    def model() -> ov.Model:
        x = ops.parameter([-1, groups * size, *(-1,) * axes], np.float32, name="x")
        return ov.Model([ops.group_convolution_backprop_data(
            x, ops.constant(weights), strides, None, begins, ends, dilations, name="narrow")], [x], "narrow")

    pixels = 14 if has_wide_vectors(engine.capabilities) else 6
    network = network_of(engine, model(), BuildOptions({"narrow": ("", f"deconvolution_groups_fsv16_{pixels}")}))
    oracle = CpuPlugin(model())
    for low in (5, 6, 12):
        given = rng.uniform(-1, 1, (2, groups * size, *rng.integers(low, 16, axes))).astype(np.float32)
        assert_close(execute(network, [given])[0], oracle([given])[0], 1e-4, f"{given.shape}")


@pytest.mark.parametrize("shape, outputs, filters", [((1, 64, 64, 64), 32, 2), ((1, 64, 32, 32), 64, 4),
                                                     ((1, 128, 16, 16), 64, 3), ((1, 24, 80, 80), 24, 2)])
def test_narrow_vectors_take_the_assembly(engine: Engine, shape: tuple[int, ...], outputs: int, filters: int) -> None:
    """It took 0.23 to 0.84 of the compiled tiles' time for these, measured on an EPYC of Zen 3."""
    device = engine.capabilities
    if device.device_type != "CPU" or narrow_only(device) or float_tiles(device).recipe.refusal(device):
        pytest.skip("made for narrow vectors")
    x = ops.parameter(list(shape), np.float32)
    weights = ops.constant(np.ones((shape[1], outputs, filters, filters), np.float32))
    node = ops.convolution_backprop_data(x, weights, [2, 2], None, [0, 0], [0, 0], [1, 1], "explicit", [0, 0])
    nodes = network_of(engine, ov.Model([node], [x])).program.nodes
    transposed, = (node for node in nodes if isinstance(node.primitive, ConvolutionBackpropData))
    assert transposed.implementations[0].name.startswith("deconvolution_pixels_")
