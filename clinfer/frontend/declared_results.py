"""What a model declares its results to be, bodies included, and whether two declarations can both be true."""
from __future__ import annotations

from collections.abc import Mapping

from clinfer.frontend.conversions import bodies_of
from clinfer.frontend.openvino_import import openvino as ov

Declared = Mapping[str, tuple[tuple[ov.Type, ov.PartialShape], ...]]
"""By the path of a model or body: the element type and shape of each result."""


def declared_results(model: ov.Model, path: str = "the model") -> Declared:
    """Of the model and of the bodies of its operations, and of theirs."""
    found = {path: tuple((node.get_output_element_type(0), node.get_output_partial_shape(0))
                         for node in model.get_results())}
    for node in model.get_ordered_ops():
        for index, body in enumerate(bodies_of(node)):
            found.update(declared_results(body, f"body {index} of {node.get_friendly_name()!r} of {path}"))
    return found


def contradictions(before: Declared, after: Declared) -> str:
    """Results that are declared to be one thing and then another, in words; "" if there are none.

    Bodies that are gone, or have lost results, are left out.
    """
    found = []
    for path in before.keys() & after.keys():
        if len(before[path]) == len(after[path]):
            for index, ((kind, shape), (new_kind, new_shape)) in enumerate(
                    zip(before[path], after[path], strict=True)):
                if kind != new_kind or not shape.compatible(new_shape):
                    found.append(f"result {index} of {path} was {kind.get_type_name()} {shape}, "
                                 f"became {new_kind.get_type_name()} {new_shape}")
    return "; ".join(sorted(found))
