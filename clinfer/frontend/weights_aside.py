"""Large weights stand aside while OpenVINO's common transformations run: these would look at each of their numbers for
one that is too small, slowly, and not use them otherwise."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from clinfer.frontend.conversions import is_constant
from clinfer.frontend.openvino_import import openvino as ov

FEWEST_BYTES = 1 << 19
"""Of weights that stand aside; smaller ones are soon looked at, and passes over heads of attention compare them."""
_READERS = (("MatMul", 0), ("MatMul", 1), ("Gather", 0))
"""Types and inputs of operations into which no transformation computes others."""
_AT_A_TIME = 1 << 16
_LEAST_NORMAL = float(np.finfo(np.float32).tiny)


@contextmanager
def weights_aside(model: ov.Model) -> Iterator[None]:
    """Until the block ends parameters stand in for large f32 weights that only products and lookups read, bodies left
    out: what the transformations make of a model is right whatever its weights are.

    Numbers of theirs that are too small to be normal are zeros afterwards, as the transformations would leave them:
    processors take far longer over such.
    """
    aside = [(constant, ov.op.Parameter(ov.Type.f32, ov.PartialShape(constant.get_output_shape(0))))
             for constant in model.get_ordered_ops() if _may_stand_aside(constant)]
    for constant, parameter in aside:
        _let_read(constant, parameter)
    model.add_parameters([parameter for _, parameter in aside])
    yield
    for constant, parameter in aside:
        _let_read(parameter, _without_subnormals(constant))
        model.remove_parameter(parameter)


def _may_stand_aside(node: ov.Node) -> bool:
    return (is_constant(node) and node.get_byte_size() >= FEWEST_BYTES
            and node.get_output_element_type(0) == ov.Type.f32
            and all((reader.get_node().get_type_name(), reader.get_index()) in _READERS
                    for reader in node.output(0).get_target_inputs()))


def _let_read(old: ov.Node, new: ov.Node) -> None:
    for reader in old.output(0).get_target_inputs():
        reader.replace_source_output(new.output(0))


def _without_subnormals(constant: ov.Node) -> ov.Node:
    """The constant itself where it has none."""
    values = constant.data
    flat = values.reshape(-1)
    sizes = np.empty(min(_AT_A_TIME, flat.size), np.float32)
    for start in range(0, flat.size, _AT_A_TIME):
        part = flat[start:start + _AT_A_TIME]
        size = np.abs(part, out=sizes[:part.size])
        if size.min() < _LEAST_NORMAL and np.any((size < _LEAST_NORMAL) & (size > 0)):
            break
    else:
        return constant
    made = ov.op.Constant(np.where(np.abs(values) < _LEAST_NORMAL, np.float32(0), values))
    made.set_friendly_name(constant.get_friendly_name())
    return made
