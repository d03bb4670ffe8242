"""OpenVINO's common transformations on a clone, with compressed weights and the precision looked after."""
from __future__ import annotations

import math

from clinfer.base.errors import ClinferError
from clinfer.base.tracing import log
from clinfer.frontend.binary_convolutions import spell_binary_convolutions
from clinfer.frontend.bodies import give_types
from clinfer.frontend.codebooks import look_up_codes
from clinfer.frontend.conversions import OPENVINO_ERRORS, bodies_of, is_constant, reason_of
from clinfer.frontend.counted_loops import count_loops
from clinfer.frontend.decided_branches import follow_decided_branches
from clinfer.frontend.declared_results import contradictions, declared_results
from clinfer.frontend.idle_loops import keep_idle_states
from clinfer.frontend.idle_tiles import spell_idle_tiles
from clinfer.frontend.known_places import fold_known_places
from clinfer.frontend.layers import name_after_layers
from clinfer.frontend.older_operations import renew_operations
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.partitions import (
    UNFOLDED,
    Guarded,
    inputs_joined_wrongly,
    inputs_of_movers,
    kept_apart,
)
from clinfer.frontend.picked_rows import pick_rows
from clinfer.frontend.precision import narrow_floats
from clinfer.frontend.quotients import cut_rounded_quotients
from clinfer.frontend.raised_bounds import lower_bounds
from clinfer.frontend.respelling import layers, respell, restore
from clinfer.frontend.slice_assignments import assign_slices
from clinfer.frontend.weights_aside import weights_aside

PRECISIONS = ("f32", "f16", "bf16")

# Smaller constants are cheap in any type, and fusions match them only once they are folded.
_LARGE = 4096


def prepare(model: ov.Model, precision: str = "f32") -> ov.Model:
    """A transformed clone for `to_topology`; the given model stays as it is.

    Large weights stay in the type in which the model stores them, behind their Converts. With
    precision "f16" or "bf16", what the model computes in f32 is computed in that type, except where
    that would change shapes or overflow; Parameters and Results keep their types. Nodes that the transformations
    make are named after layers of the model (`name_after_layers`). Errors: ClinferError for an
    unknown precision or a model that OpenVINO cannot transform.
    """
    if precision not in PRECISIONS:
        raise ClinferError(f"unknown inference precision {precision!r}",
                           values={"known": ", ".join(PRECISIONS)})
    try:
        clone = _transformed(model)
        spell_binary_convolutions(clone)
        look_up_codes(clone)
        follow_decided_branches(clone)
        count_loops(clone)
        pick_rows(clone)
        assign_slices(clone)
        name_after_layers(model, clone)
        if precision != "f32":
            narrow_floats(clone, precision)
        clone.validate_nodes_and_infer_types()
    except RuntimeError as error:
        if isinstance(error, ClinferError):
            raise
        raise ClinferError("OpenVINO cannot transform the model", where=f"model {model.get_friendly_name()!r}",
                           values={"OpenVINO says": reason_of(error)}) from None
    return clone


def _transformed(model: ov.Model) -> ov.Model:
    """A clone after the common transformations.

    Where they fail, or change what a result is declared to be, they are tried again without those that join what
    moves elements; where that does not help either, the clone is as it was. One log line says so each time.
    """
    for guarded, left_out in ((inputs_joined_wrongly, "those around operations that move elements"),
                              (inputs_of_movers, "all")):
        clone = _clone(model)
        declared = declared_results(clone)
        _protect_weights(clone)
        _protect_single_elements(clone)
        try:
            _apply_common_transformations(clone, guarded)
            found = contradictions(declared, declared_results(clone))
        except RuntimeError as error:
            found = reason_of(error)
        if not found:
            return clone
        log(1, f"model {model.get_friendly_name()!r}: OpenVINO's transformations fail on it or are wrong; "
               f"{left_out} are left out, and their fusions are lost ({found})")
    return _clone(model)


def _clone(model: ov.Model) -> ov.Model:
    """A clone in which nothing is missing or misstated."""
    clone = model.clone()
    give_types(clone)
    cut_rounded_quotients(clone)
    lower_bounds(clone)
    spell_idle_tiles(clone)
    renew_operations(clone)
    keep_idle_states(clone)
    follow_decided_branches(clone)
    fold_known_places(clone)
    return clone


def _protect_weights(model: ov.Model) -> None:
    """Keep the folding of constants away from the Converts of large weights, bodies included."""
    for node in model.get_ordered_ops():
        if node.get_type_name() == "Convert" and _is_large_constant(node.input_value(0)):
            node.get_rt_info()[UNFOLDED] = True
        for body in bodies_of(node):
            _protect_weights(body)


def _protect_single_elements(model: ov.Model) -> None:
    """Keep the folding of constants away from every NonZero of one element, and of sizes that are not known yet: of its
    result, a column of as many rows as there are axes, OpenVINO then sets the first row alone. Bodies included."""
    for node in model.get_ordered_ops():
        if node.get_type_name() == "NonZero" and not _has_several_elements(node.input_value(0)):
            node.get_rt_info()[UNFOLDED] = True
        for body in bodies_of(node):
            _protect_single_elements(body)


def _has_several_elements(port: ov.Output) -> bool:
    shape = port.get_partial_shape()
    return shape.is_static and math.prod(size.get_length() for size in shape) > 1


def _is_large_constant(port: ov.Output) -> bool:
    if not is_constant(port.get_node()):
        return False
    shape = port.get_shape()
    return math.prod(shape[axis] for axis in range(len(shape))) >= _LARGE


def _apply_common_transformations(model: ov.Model, guarded: Guarded) -> None:
    from openvino._offline_transformations import apply_moc_transformations
    before = set(layers(model))
    respell(model)
    with kept_apart(model, guarded), weights_aside(model):
        try:
            apply_moc_transformations(model, False)
        except OPENVINO_ERRORS as error:
            raise RuntimeError(reason_of(error)) from None
    restore(model, before)
