"""Inputs and outputs of an infer request of types that no device has, above all strings: they stay on the host."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from clinfer.api.arrays import Declared, HostData, check_tensor_type, from_tensor, raw_bytes, tensor_shape
from clinfer.api.input_slot import InputSlot, blank_shape, zeros
from clinfer.api.output_slot import OutputSlot
from clinfer.base.errors import ClinferError, UnsupportedError
from clinfer.base.shape import StaticShape, show
from clinfer.frontend.host_tensors import set_strings, string_tensor
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.network import Network
from clinfer.remote.tensors import RemoteTensor
from clinfer.runtime.stream import Stream


class HostInputSlot:
    """The contents are an array, or a tensor of the user's that is read anew at every inference.

    It has what an `InputSlot` has; what that says of device memory is nothing here.
    """

    is_on_device_only = is_apart = False
    remotes: tuple[RemoteTensor, ...] = ()

    def __init__(self, declared: Declared) -> None:
        self.declared = declared
        self._tensor: ov.Tensor | None = None
        self._data: HostData | None = None

    @property
    def given_shape(self) -> StaticShape | None:
        """The shape of the present contents; None without any."""
        return None if self._data is None else self._data.shape

    @property
    def shape(self) -> StaticShape:
        """The shape of what `prepare` found."""
        assert self._data is not None
        return self._data.shape

    @property
    def has_host_tensor(self) -> bool:
        """Whether the user set or got a host tensor."""
        return self._tensor is not None

    @property
    def in_use(self) -> object:
        """What is read during an inference."""
        return self._tensor, self._data

    def prepare_copies(self, stream: Stream) -> None:
        """There is no device memory."""

    def give(self, data: HostData, share: bool, keep: bool) -> None:
        """Take an array as the contents of the next inferences; they are a copy, shared or not."""
        self._tensor, self._data = None, _copied(data)

    def check_remote(self, tensor: RemoteTensor) -> None:
        """Always an error."""
        raise _not_on_a_device(self.declared)

    def set_tensor(self, tensor: ov.Tensor | RemoteTensor) -> None:
        """Use the user's tensor from now on; its contents are read at every inference."""
        if isinstance(tensor, RemoteTensor):
            self.check_remote(tensor)
        check_tensor_type(tensor, self.declared)
        if tensor.size:
            self.declared.check_shape(tensor_shape(tensor, self.declared))
        self._tensor, self._data = tensor, None

    def set_tensors(self, tensors: Sequence[ov.Tensor | RemoteTensor]) -> None:
        """One tensor alone."""
        if len(tensors) != 1:
            raise ClinferError(f"{self.declared.label} takes one tensor, because it stays on the host",
                               where="infer request", values={"tensors": len(tensors)})
        self.set_tensor(tensors[0])

    def get_tensor(self, stream: Stream | None) -> ov.Tensor:
        """The user's tensor, or one with the present contents, which is read at every inference from now on."""
        if self._tensor is None:
            self._tensor = _blank(self.declared) if self._data is None else _tensor(self._data, self.declared)
            self._data = None
        return self._tensor

    def prepare(self) -> None:
        """Raise unless there are contents that the model admits; without any they are zeros, or empty texts."""
        if self._tensor is not None:
            self._data = _copied(from_tensor(self._tensor, self.declared))
        elif self._data is None:
            self._data = zeros(self.declared)

    def upload(self, stream: Stream, network: Network, name: str, written: object) -> None:
        """Tell the network of the values."""
        assert self._data is not None
        network.set_host_input(name, self._data.logical(self.declared.element_type))

    def move_to_host(self, stream: Stream) -> None:
        """They are there."""

    def check_unchanged(self) -> None:
        """What is computed with is a copy."""

    def settle(self, error: BaseException | None = None) -> None:
        """The copy stays."""


class HostOutputSlot:
    """The results are a copy, which also goes to a tensor that the user set or got. See `HostInputSlot`."""

    remotes: tuple[RemoteTensor, ...] = ()
    host_span: None = None

    def __init__(self, declared: Declared) -> None:
        self.declared = declared
        self._tensor: ov.Tensor | None = None
        self._value: HostData | None = None

    @property
    def has_host_tensor(self) -> bool:
        """Whether the user set or got a host tensor."""
        return self._tensor is not None

    @property
    def in_use(self) -> object:
        """Nothing that a device writes to."""
        return None

    def set_tensor(self, tensor: ov.Tensor | RemoteTensor) -> None:
        """Write the results to the user's tensor from now on."""
        if isinstance(tensor, RemoteTensor):
            raise _not_on_a_device(self.declared)
        check_tensor_type(tensor, self.declared)
        self._tensor, self._value = tensor, None

    def get_tensor(self) -> ov.Tensor:
        """A tensor with the last results, to which the next ones are written as well."""
        if self._tensor is None:
            self._tensor = _blank(self.declared) if self._value is None else _tensor(self._value, self.declared)
        return self._tensor

    def memory(self, read: object) -> None:
        """None is the device's."""

    def receive(self, value: np.ndarray) -> None:
        """Take the values of an inference."""
        kind = self.declared.element_type
        units = np.array(value) if not kind.is_packed else kind.encode(value.reshape(-1))
        self._value = HostData(units, value.shape, is_private=True)
        if self._tensor is not None:
            self._fill(self._tensor, self._value)

    def check_unchanged(self) -> None:
        """What was written to was filled at once."""

    def result(self, share: bool) -> np.ndarray:
        """The last results, as OpenVINO has them: strings as an array of NumPy's kind S, packed numbers as bytes."""
        if self._value is None:
            raise ClinferError(f"{self.declared.label} was not computed yet", where="infer request",
                               hint="call infer() first, or start_async() and wait()")
        return self._value.units.copy()

    def decoded(self) -> np.ndarray:
        """The same, strings as an array of kind U; what is not UTF-8 is replaced."""
        found = self.result(False)
        return np.char.decode(found, "utf-8", "replace") if self.declared.element_type.is_string else found

    def _fill(self, tensor: ov.Tensor, value: HostData) -> None:
        try:
            if tensor_shape(tensor, self.declared) != value.shape:
                tensor.shape = list(value.shape)
        except RuntimeError:
            raise ClinferError(f"{self.declared.label} does not fit into the tensor that was set for it",
                               where="infer request", values={"result": show(value.shape), "tensor": tensor.shape},
                               hint="set a tensor that is large enough, or none") from None
        if self.declared.element_type.is_string:
            set_strings(tensor, value.units)
        else:
            raw_bytes(tensor.data)[:] = raw_bytes(value.units)


def _not_on_a_device(declared: Declared) -> UnsupportedError:
    return UnsupportedError(f"{declared.label} is of type {declared.element_type}, which no device holds",
                            where="infer request")


def _copied(data: HostData) -> HostData:
    return data if data.is_private else HostData(data.units.copy(), data.shape, is_private=True)


def _blank(declared: Declared) -> ov.Tensor:
    return ov.Tensor(declared.port.element_type, blank_shape(declared))


def _tensor(data: HostData, declared: Declared) -> ov.Tensor:
    if declared.element_type.is_string:
        return string_tensor(data.units)
    tensor = ov.Tensor(declared.port.element_type, list(data.shape))
    raw_bytes(tensor.data)[:] = raw_bytes(data.units)
    return tensor


AnyInputSlot: TypeAlias = InputSlot | HostInputSlot
AnyOutputSlot: TypeAlias = OutputSlot | HostOutputSlot
