"""What of a model gains from bf16, which makes products alone faster: on CPUs."""
from __future__ import annotations

from collections.abc import Sequence

from clinfer.frontend.conversions import bodies_of, is_constant
from clinfer.frontend.openvino_import import openvino as ov

_PRODUCTS = {"MatMul", "Convolution", "GroupConvolution", "ConvolutionBackpropData", "GroupConvolutionBackpropData",
             "DeformableConvolution", "Einsum", "ScaledDotProductAttention"}
_RECURRENT = {f"{cell}{form}" for cell in ("LSTM", "GRU", "RNN") for form in ("Cell", "Sequence")}


def find_behind_products(nodes: Sequence[ov.Node], pinned: set[int], repeats: bool) -> set[int]:
    """The instance ids, among topologically ordered nodes, of those that are no products and feed none, be it by way of
    others: softmax and boxes at a model's end, what leads to a node that is `pinned` to its types, everything where
    there are no products.

    `repeats`: the nodes are a loop's body, in which data are converted each time that it runs; its products have a
    constant side. OpenVINO's CPU plugin leaves the end of a model f32 as well (`Graph::EnforceInferencePrecision`).
    """
    constant = _find_constant(nodes)
    ahead: set[int] = set()
    behind: set[int] = set()
    for node in reversed(nodes):
        sources = {source.get_instance_id() for source in _sources(node)}
        is_product = node.get_type_name() in _PRODUCTS | _RECURRENT and not (repeats and sources.isdisjoint(constant))
        if is_product or (node.get_instance_id() in ahead and node.get_instance_id() not in pinned):
            ahead |= sources
        else:
            behind.add(node.get_instance_id())
    return behind


def is_quantised(nodes: Sequence[ov.Node]) -> bool:
    """Whether data that a model computes are rounded to levels, 256 of which bf16 does not tell apart, or multiplied as
    integers; bodies count."""
    constant = _find_constant(nodes)
    return any(_rounds(node, constant) or _multiplies_integers(node)
               or any(is_quantised(body.get_ordered_ops()) for body in bodies_of(node)) for node in nodes)


def _find_constant(nodes: Sequence[ov.Node]) -> set[int]:
    """The instance ids of Constants, and of what is computed of them alone."""
    found: set[int] = set()
    for node in nodes:
        sources = _sources(node)
        if is_constant(node) or (sources and all(source.get_instance_id() in found for source in sources)):
            found.add(node.get_instance_id())
    return found


def _rounds(node: ov.Node, constant: set[int]) -> bool:
    return bool(node.get_type_name() == "FakeQuantize" and node.input_value(0).get_node().get_instance_id()
                not in constant)


def _multiplies_integers(node: ov.Node) -> bool:
    return node.get_type_name() in _PRODUCTS and bool(node.get_input_element_type(0).is_integral())


def _sources(node: ov.Node) -> list[ov.Node]:
    return [port.get_node() for port in node.input_values()]
