"""Which layers of a model run on a device: by operation, type, attributes and kernels."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32, softmax_model
from tests.api.profiled import branching_model


class Unknown(ov.Op):
    """An operation that no operation has."""

    def __init__(self, inputs: list[ov.Output] | None = None) -> None:
        super().__init__(self)
        if inputs is not None:
            self.set_arguments(inputs)
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

    def clone_with_new_inputs(self, new_inputs: list[ov.Output]) -> Unknown:
        return Unknown(new_inputs)

    def visit_attributes(self, visitor: Any) -> bool:
        return True


def names(model: ov.Model) -> set[str]:
    return {node.get_friendly_name() for node in model.get_ordered_ops()}


def unsupported(core: Core, model: ov.Model, device: DeviceInfo) -> set[str]:
    found = core.query_model(model, device.name, F32)
    assert set(found.values()) <= {device.name}
    assert set(found) <= names(model)
    return names(model) - set(found)


def test_every_layer_of_a_model_that_compiles(core: Core, device: DeviceInfo) -> None:
    model = branching_model()
    assert unsupported(core, model, device) == set()
    assert core.query_model(model, device.name)["biased"] == device.name


def chain(middle: Callable[[Any], Any], kind: type = np.float32, shape: tuple[int, ...] = (2, 6)) -> ov.Model:
    """x -> before (Abs) -> middle -> after (Negative) -> y"""
    op = ov.opset13
    x = op.parameter(list(shape), kind, name="x")
    node = middle(op.abs(x, name="before"))
    result = op.result(op.negative(node, name="after"), name="y")
    return ov.Model([result], [x], "chain")


def named(node: ov.Node, name: str = "middle") -> ov.Node:
    node.set_friendly_name(name)
    return node


def test_an_operation_without_a_operation(core: Core, device: DeviceInfo) -> None:
    model = chain(lambda node: named(Unknown([node.output(0)])))
    assert unsupported(core, model, device) == {"middle"}
    with pytest.raises(ClinferError, match="middle"):
        core.compile_model(model, device.name, F32)


def test_constants_and_inputs_follow_their_readers(core: Core, device: DeviceInfo) -> None:
    op = ov.opset13
    data, lonely = op.parameter([2], np.float32, name="data"), op.parameter([2], np.float32, name="lonely")
    weights = op.constant(np.ones(2, np.float32), name="weights")
    product = op.multiply(data, weights, name="product")
    taken = op.constant(np.ones(2, np.float32), name="taken")
    strange = named(Unknown([product.output(0), taken.output(0)]), "strange")
    refused = named(Unknown([lonely.output(0)]), "foreign")
    total = op.add(op.add(product, strange, name="first"), refused, name="second")
    model = ov.Model([op.result(total, name="total"), op.result(refused, name="raw")], [data, lonely], "mixed")
    assert unsupported(core, model, device) == {"taken", "strange", "lonely", "foreign", "raw"}


def test_what_folds_away_needs_no_operation(core: Core, device: DeviceInfo) -> None:
    op = ov.opset13
    model = chain(lambda node: op.add(node, op.cosh(op.constant(np.ones((2, 6), np.float32)), name="folded"),
                                      name="middle"))
    assert unsupported(core, model, device) == set()


def test_a_type_that_clinfer_cannot_hold(core: Core, device: DeviceInfo) -> None:
    op = ov.opset13
    x = op.parameter([2, 6], np.float32, name="x")
    narrow = op.convert(x, "u1", name="narrow")
    wide = op.convert(narrow, "f32", name="wide")
    model = ov.Model([op.result(op.negative(wide, name="after"), name="y")], [x], "narrow")
    refused = unsupported(core, model, device)
    assert "narrow" in refused and "after" not in refused
    with pytest.raises(ClinferError):
        core.compile_model(model, device.name, F32)


def test_an_unsupported_operation_in_a_body(core: Core, device: DeviceInfo) -> None:
    model = branching_model()
    branch = next(node for node in model.get_ordered_ops() if node.get_type_name() == "If")
    body = branch.get_function(1)
    sine = next(node for node in body.get_ordered_ops() if node.get_type_name() == "Sin")
    strange = Unknown([sine.output(0)])
    for target in sine.output(0).get_target_inputs():
        if target.get_node().get_instance_id() != strange.get_instance_id():
            target.replace_source_output(strange.output(0))
    assert unsupported(core, model, device) == {"branch", "deep"}


def test_a_dynamic_rank(core: Core, device: DeviceInfo) -> None:
    op = ov.opset13
    x = op.parameter(ov.PartialShape.dynamic(), np.float32, name="x")
    model = ov.Model([op.result(op.softmax(x, 1, name="soft"), name="y")], [x], "open")
    assert not unsupported(core, model, device)
    core.compile_model(model, device.name, F32)


def test_nothing_is_built(core: Core, device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    from clinfer.kernels.kernel_cache import KernelCache

    monkeypatch.setattr(KernelCache, "prepare", lambda *_: pytest.fail("a kernel was built"))
    assert core.query_model(branching_model(), device.name)


def test_names_of_devices(core: Core, device: DeviceInfo) -> None:
    model = softmax_model({"x": [2, 5]})
    for asked in (device.type, device.name):
        assert set(core.query_model(model, asked).values()) == {asked}
        assert set(core.query_model(model=model, device_name=asked, config={}).values()) == {asked}
    assert set(core.query_model(model, "AUTO").values()) <= set(core.available_devices)


@pytest.mark.parametrize(("model", "device_name", "config", "words"), [
    ("model.xml", "AUTO", {}, "needs an openvino.Model"),
    (softmax_model({"x": [2, 5]}), "TPU", {}, "TPU"),
    (softmax_model({"x": [2, 5]}), "AUTO", {"NO_SUCH": 1}, "NO_SUCH"),
])
def test_wrong_questions(core: Core, model: Any, device_name: str, config: dict[str, Any], words: str) -> None:
    with pytest.raises(ClinferError, match=words):
        core.query_model(model, device_name, config)


def test_constants_that_operations_outside_of_the_model_read(core: Core, device: DeviceInfo) -> None:
    """Imports leave such operations, of loops that they have written otherwise."""
    x, shared = ov.opset13.parameter([-1, 3], np.float32), ov.opset13.constant(np.float32(2))
    outside = ov.opset13.negative(shared)
    model = ov.Model([ov.opset13.multiply(x, shared)], [x])
    assert not unsupported(core, model, device) and outside.get_friendly_name() not in names(model)


@pytest.mark.parametrize(("before", "after"), [("u1", "f32"), ("f32", "u1")])
def test_types_that_were_edited_but_not_validated(core: Core, device: DeviceInfo, before: str, after: str) -> None:
    x = ov.op.Parameter(getattr(ov.Type, before), ov.Shape([2, 3]))
    model = ov.Model([ov.opset13.result(ov.opset13.reshape(x, np.array([3, 2]), False))], [x])
    x.set_element_type(getattr(ov.Type, after))
    found = unsupported(core, model, device)
    model.validate_nodes_and_infer_types()
    assert found == unsupported(core, model, device) == (names(model) if after == "u1" else set())


def test_ranks_that_were_edited_but_not_validated(core: Core, device: DeviceInfo) -> None:
    x = ov.op.Parameter(ov.Type.f32, ov.Shape([2, 3]))
    model = ov.Model([ov.opset13.result(ov.opset13.softmax(x, 1))], [x])
    x.set_partial_shape(ov.PartialShape.dynamic())
    assert not unsupported(core, model, device)
    core.compile_model(model, device.name, F32)


def test_an_edit_that_fits_nothing(core: Core, device: DeviceInfo) -> None:
    model = chain(lambda node: ov.opset13.add(node, ov.opset13.constant(np.ones((2, 6), np.float32))))
    model.get_parameters()[0].set_partial_shape(ov.PartialShape([2, 5]))
    with pytest.raises(ClinferError, match="cannot tell the model's types and shapes"):
        core.query_model(model, device.name)
