"""Which layers of a model a device can run."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from clinfer.api.open_ranks import is_open
from clinfer.base.errors import ClinferError, OpenRankError
from clinfer.frontend.conversions import is_held
from clinfer.frontend.host_operations import HostOperations
from clinfer.frontend.layers import trace_layers
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import single_layers
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.states import separate_states
from clinfer.frontend.transformations import prepare
from clinfer.network.compile import refusals
from clinfer.ops import CONVERTERS
from clinfer.ops.operation import Converter
from clinfer.runtime.engine import Engine
from clinfer.topology import Topology


def supported_layers(engine: Engine, model: ov.Model, precision: str, host: HostOperations | None = None,
                     converters: Mapping[str, Converter] = CONVERTERS) -> dict[str, bool]:
    """The names of the layers that run, in the model's order, each with whether `host` runs it: nothing is built.
    The model's own types and shapes hold.

    Each operation of the transformed model is tried alone: its converter, its shapes and types, its kernels.
    What was fused into it shares its fate; what folds away or is not needed is supported. Parameters and
    constants are where one of their readers is (or where there is none), results where what they read is. In a
    model with inputs of dynamic rank, layers of which nothing but a rank is missing count as supported.
    """
    prepared = prepare(separate_states(model).model, precision)
    refused = _refused(engine, model, single_layers(prepared, converters))
    by_host: set[str] = set()
    if refused and host is not None:
        tried = single_layers(prepared, converters, host.including(tuple(refused)), refused)
        by_host = refused - _refused(engine, model, tried)
    layers = trace_layers(model, prepared)
    traced = {layer.name: layer.into not in refused - by_host for layer in layers}
    on_host = {layer.name for layer in layers if layer.into in by_host}
    nodes = model.get_ordered_ops()
    for node in nodes:
        if node.get_type_name() in ("Parameter", "Constant"):
            traced[node.get_friendly_name()] = is_held(node.get_output_element_type(0)) and _is_read(node, traced)
        elif node.get_type_name() == "Result":
            traced[node.get_friendly_name()] = traced[node.input_value(0).get_node().get_friendly_name()]
    names = (node.get_friendly_name() for node in nodes)
    return {name: name in on_host for name in names if traced[name]}


def _refused(engine: Engine, model: ov.Model,
             layers: Iterable[tuple[str, Topology | ClinferError]]) -> set[str]:
    """The layers of the transformed model that cannot be built."""
    found = refusals(engine, layers, OpenVinoShapeInference())
    return {name for name, error in found.items() if not (is_open(model) and isinstance(error, OpenRankError))}


def _is_read(node: ov.Node, supported: dict[str, bool]) -> bool:
    """Operations that the model does not have may read its constants, too: an import leaves such ones."""
    readers = [target.get_node() for target in node.output(0).get_target_inputs()]
    told = [reader.get_type_name() == "Result" or supported.get(reader.get_friendly_name()) for reader in readers]
    return all(each is None for each in told) or any(told)
