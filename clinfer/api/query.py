"""Which layers of a model a device can run."""
from __future__ import annotations

from clinfer.api.open_ranks import is_open
from clinfer.base.errors import ClinferError, OpenRankError, WrongTypeError
from clinfer.frontend.conversions import element_type_of, layer_of
from clinfer.frontend.layers import trace_layers
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import single_layers
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.transformations import prepare
from clinfer.network.compile import refusals
from clinfer.runtime.engine import Engine


def supported_layers(engine: Engine, model: ov.Model, precision: str) -> list[str]:
    """The names of the layers that run, in the model's order: nothing is built.

    Each operation of the transformed model is tried alone: its converter, its shapes and types, its kernels.
    What was fused into it shares its fate; what folds away or is not needed is supported. Parameters and
    constants are where one of their readers is (or where there is none), results where what they read is. In a
    model with inputs of dynamic rank, layers of which nothing but a rank is missing count as supported.
    """
    if not isinstance(model, ov.Model):
        raise WrongTypeError("query_model needs an openvino.Model", where="core",
                             values={"given": type(model).__name__}, hint="read the file with read_model first")
    prepared = prepare(model, precision)
    refused = refusals(engine, single_layers(prepared), OpenVinoShapeInference())
    if is_open(model):
        refused = {name: error for name, error in refused.items() if not isinstance(error, OpenRankError)}
    traced = {layer.name: layer.into not in refused for layer in trace_layers(model, prepared)}
    nodes = model.get_ordered_ops()
    for node in nodes:
        if node.get_type_name() in ("Parameter", "Constant"):
            traced[node.get_friendly_name()] = _is_held(node) and _is_read(node, traced)
        elif node.get_type_name() == "Result":
            traced[node.get_friendly_name()] = traced[node.input_value(0).get_node().get_friendly_name()]
    return [node.get_friendly_name() for node in nodes if traced[node.get_friendly_name()]]


def _is_held(node: ov.Node) -> bool:
    """Whether clinfer has tensors of the type of a Parameter or Constant."""
    try:
        element_type_of(node.get_output_element_type(0), layer_of(node))
    except ClinferError:
        return False
    return True


def _is_read(node: ov.Node, supported: dict[str, bool]) -> bool:
    readers = [target.get_node() for target in node.output(0).get_target_inputs()]
    return not readers or any(reader.get_type_name() == "Result" or supported[reader.get_friendly_name()]
                              for reader in readers)
