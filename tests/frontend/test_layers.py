"""Names of transformed nodes, and what became of the layers of a model."""
from __future__ import annotations

import re

import numpy as np
from openvino import opset13 as op

from clinfer.frontend.layers import TracedLayer, trace_layers
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.transformations import prepare
from tests.frontend.models import Rng, normal, parameter, result


def named(node: ov.Node, name: str) -> ov.Node:
    node.set_friendly_name(name)
    return node


def scaled_convolution(rng: Rng, prefix: str = "") -> ov.Model:
    """Convolution, a scale and a shift per channel, a hard swish written out, a Gelu written out, a mean."""
    x = parameter("x", [-1, 8, -1, -1])
    y = named(op.convolution(x, op.constant(normal(rng, 16, 8, 3, 3)), [1, 1], [1, 1], [1, 1], [1, 1]), f"{prefix}conv")
    y = named(op.multiply(y, op.constant(normal(rng, 1, 16, 1, 1))), f"{prefix}scale")
    y = named(op.add(y, op.constant(normal(rng, 1, 16, 1, 1))), f"{prefix}shift")
    inner = named(op.clamp(named(op.add(y, np.float32(3)), f"{prefix}plus"), 0.0, 6.0), f"{prefix}clamp")
    y = named(op.multiply(y, inner), f"{prefix}times")
    y = named(op.divide(y, np.float32(6)), f"{prefix}sixth")
    named(op.shape_of(y), f"{prefix}unused")
    pooled = named(op.reduce_mean(y, op.constant(np.array([2, 3])), True), f"{prefix}mean")
    return ov.Model([result(pooled, "pooled")], [x], "scaled")


def destinies(model: ov.Model) -> dict[str, TracedLayer]:
    return {layer.name: layer for layer in trace_layers(model, prepare(model))}


def test_every_layer_has_a_destiny_in_the_transformed_model(rng: Rng) -> None:
    model = scaled_convolution(rng)
    prepared = prepare(model)
    found = {layer.name: layer for layer in trace_layers(model, prepared)}
    assert list(found) == [n.get_friendly_name() for n in model.get_ordered_ops()
                           if n.get_type_name() not in ("Constant", "Result")]
    made = {n.get_friendly_name(): n.get_type_name() for n in prepared.get_ordered_ops()}
    assert all(layer.into in made if layer.fate in ("kept", "fused") else not layer.into for layer in found.values())
    # The scale went into the weights; the hard swish is one node.
    assert found["conv"].into == found["scale"].into and made[found["conv"].into] == "Convolution"
    swish = found["plus"].into
    assert made[swish] == "HSwish" and swish in ("plus", "clamp", "times", "sixth")
    assert found["clamp"].into == found["times"].into == swish


def test_new_nodes_are_named_after_layers_the_same_every_time(rng: Rng) -> None:
    model = scaled_convolution(rng)
    names = [[n.get_friendly_name() for n in prepare(model).get_ordered_ops() if n.get_type_name() != "Constant"]
             for _ in range(2)]
    assert names[0] == names[1] and len(set(names[0])) == len(names[0])
    assert not [name for name in names[0] if re.search(r"_\d+$", name) and "Result" not in name]


def test_names_with_commas_are_told_apart(rng: Rng) -> None:
    found = destinies(scaled_convolution(rng, "block,1,"))
    assert found["block,1,scale"].into == found["block,1,conv"].into == "block,1,scale"
    assert found["block,1,clamp"].fate == "fused"


def test_shape_arithmetic_that_is_known_is_folded(rng: Rng) -> None:
    x = parameter("x", [2, 3, 4])
    shape = named(op.shape_of(x), "shape")
    count = named(op.reduce_prod(shape, op.constant(np.array([0])), False), "count")
    flat = named(op.reshape(x, op.unsqueeze(count, op.constant(np.array(0))), False), "flat")
    found = destinies(ov.Model([result(named(op.softmax(flat, 0), "soft"), "y")], [x], "shapes"))
    assert found["soft"].fate == found["flat"].fate == "kept"
    assert {found["shape"].fate, found["count"].fate} <= {"folded", "removed"}
