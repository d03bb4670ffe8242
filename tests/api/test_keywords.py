"""Every overload of OpenVINO's does what it says when its arguments are given by name."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clinfer
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.api.infer_request import InferRequest
from clinfer.base.errors import WrongTypeError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import assert_softmax


@pytest.fixture
def given(rng: np.random.Generator) -> ov.Tensor:
    return ov.Tensor(rng.standard_normal((1, 5), dtype=np.float32))


@pytest.mark.parametrize("set_input", [
    lambda r, m, t: r.set_tensor(name="x", tensor=t),
    lambda r, m, t: r.set_tensor(port=m.input(), tensor=t),
    lambda r, m, t: r.set_tensors(inputs={"x": t}),
    lambda r, m, t: r.set_tensors(tensor_name="x", tensors=[t]),
    lambda r, m, t: r.set_tensors(port=m.input(), tensors=[t]),
    lambda r, m, t: r.set_tensors(port=m.input(), tensors=ov.TensorVector([t])),
    lambda r, m, t: r.set_input_tensor(tensor=t),
    lambda r, m, t: r.set_input_tensor(index=0, tensor=t),
    lambda r, m, t: r.set_input_tensors(inputs={0: t}),
    lambda r, m, t: r.set_input_tensors(tensors=[t]),
    lambda r, m, t: r.set_input_tensors(idx=0, tensors=[t]),
    lambda r, m, t: r.set_input_tensors(idx=0, tensors=ov.TensorVector([t])),
])
def test_setting_inputs(one: CompiledModel, given: ov.Tensor,
                        set_input: Callable[[InferRequest, CompiledModel, ov.Tensor], None]) -> None:
    request = one.create_infer_request()
    set_input(request, one, given)
    assert_softmax(request.infer()[0], given.data)
    for tensor in (request.get_tensor(name="x"), request.get_tensor(port=one.input()),
                   request.get_input_tensor(index=0)):
        assert np.shares_memory(tensor.data, given.data)


@pytest.mark.parametrize("set_output", [
    lambda r, m, t: r.set_tensor(name="x_out", tensor=t),
    lambda r, m, t: r.set_tensor(port=m.output(), tensor=t),
    lambda r, m, t: r.set_tensors(inputs={m.output(): t}),
    lambda r, m, t: r.set_output_tensor(tensor=t),
    lambda r, m, t: r.set_output_tensor(index=0, tensor=t),
    lambda r, m, t: r.set_output_tensors(outputs={0: t}),
])
def test_setting_outputs(one: CompiledModel, given: ov.Tensor,
                         set_output: Callable[[InferRequest, CompiledModel, ov.Tensor], None]) -> None:
    request, taken = one.create_infer_request(), ov.Tensor(ov.Type.f32, [1, 5])
    set_output(request, one, taken)
    request.infer(inputs=given, share_inputs=False, share_outputs=False, decode_strings=True)
    assert_softmax(taken.data, given.data)
    assert np.shares_memory(request.get_output_tensor(index=0).data, taken.data)


def test_batches_by_name(two: CompiledModel, rng: np.random.Generator) -> None:
    entries = [ov.Tensor(rng.standard_normal((1, 4), dtype=np.float32)) for _ in range(3)]
    for key in ({"tensor_name": "b"}, {"port": two.input("b")}):
        request = two.create_infer_request()
        request.set_tensors(**key, tensors=entries)
        assert_softmax(request.infer()[1], np.concatenate([entry.data for entry in entries]))


def test_ports(two: CompiledModel) -> None:
    assert two.input(index=1) == two.input(tensor_name="b") == two.inputs[1]
    assert two.output(index=1) == two.output(tensor_name="b_out") == two.outputs[1]


def test_properties(device: DeviceInfo) -> None:
    core, name = Core(xml_config_file=""), device.name
    core.set_property(properties={"NUM_STREAMS": 2})
    assert core.get_property(property="NUM_STREAMS") == 2
    core.set_property(property=("NUM_STREAMS", 3))
    assert core.get_property(device_name=name, property="NUM_STREAMS") == 3
    core.set_property(device_name=name, properties={"NUM_STREAMS": 4})
    assert core.get_property(device_name=name, name="NUM_STREAMS", arguments={}) == 4
    core.set_property(device_name=name, property=ov.properties.streams.num(5))
    assert core.get_property(name, "NUM_STREAMS", {}) == 5
    with pytest.raises(clinfer.ClinferError, match="takes no arguments"):
        core.get_property(name, "NUM_STREAMS", {"what": 1})


def test_compiled_models_are_fixed_by_either_name(one: CompiledModel) -> None:
    for given in ({"properties": {"NUM_STREAMS": 2}}, {"property": ("NUM_STREAMS", 2)}):
        with pytest.raises(clinfer.ClinferError, match="cannot be changed"):
            one.set_property(**given)


class _Twice(ov.Op):
    def __init__(self, inputs: Any = None) -> None:
        super().__init__(self, inputs)

    def validate_and_infer_types(self) -> None:
        self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))


def test_extensions() -> None:
    core = Core()
    core.add_extension(extension=ov.OpExtension(_Twice))
    core.add_extension(extensions=[ov.OpExtension(_Twice)])
    core.add_extension(custom_op=_Twice)
    core.add_extension(_Twice)
    with pytest.raises(clinfer.ClinferError, match=r"cannot add this extension(.|\n)*no_such"):
        core.add_extension(library_path="no_such_library.so")
    for wrong in (5, None):
        with pytest.raises(WrongTypeError):
            core.add_extension(wrong)


def test_remote_tensors(core: Core, device: DeviceInfo, given: ov.Tensor) -> None:
    context = core.get_default_context(device_name=device.name)
    tensor = context.create_tensor(type=ov.Type.f32, shape=ov.Shape([1, 5]), properties={})
    tensor.copy_from(source_tensor=given)
    taken = context.create_host_tensor(type=ov.Type.f32, shape=ov.Shape([1, 3]))
    region = clinfer.RemoteTensor(remote_tensor=tensor, begin=ov.Coordinate([0, 1]), end=ov.Coordinate([1, 4]))
    region.copy_to(target_tensor=taken)
    np.testing.assert_array_equal(taken.data, given.data[:, 1:4])


def test_requests_and_queues(one: CompiledModel, given: ov.Tensor) -> None:
    assert CompiledModel(other=one, weights=None) is one
    queue = clinfer.AsyncInferQueue(model=one, jobs=2)
    assert repr(queue) == "<AsyncInferQueue: 2 jobs>"
    request = one.create_infer_request()
    assert InferRequest(other=request) is request
    heard: list[Any] = []
    request.set_callback(callback=heard.append, userdata="mine")
    request.start_async(inputs=given, userdata=None, share_inputs=False)
    request.wait()
    assert request.wait_for(timeout=0) and heard == ["mine"] == [request.userdata]
    with pytest.raises(AttributeError):
        request.userdata = 5  # type: ignore[misc]


def test_two_names_for_one_argument(one: CompiledModel, core: Core, device: DeviceInfo, given: ov.Tensor) -> None:
    request = one.create_infer_request()
    for use in (lambda: one.input(index=0, tensor_name="x"), lambda: one.output(0, tensor_name="x_out"),
                lambda: request.get_tensor("x", port=one.input()),
                lambda: request.set_tensor("x", given, port=one.input()),
                lambda: request.set_tensors({"x": given}, tensor_name="x"),
                lambda: request.set_input_tensors({0: given}, idx=0),
                lambda: core.get_property(device.name, "NUM_STREAMS", name="NUM_STREAMS"),
                lambda: core.set_property(device.name, {"NUM_STREAMS": 2}, property=("NUM_STREAMS", 2))):
        with pytest.raises(WrongTypeError, match="stand for each other"):
            use()


def test_no_name_at_all(one: CompiledModel, given: ov.Tensor) -> None:
    request = one.create_infer_request()
    for use in (request.get_tensor, lambda: request.set_tensor(tensor=given), request.set_tensors,
                request.set_input_tensor, request.set_input_tensors, request.set_output_tensor):
        with pytest.raises(WrongTypeError):
            use()
