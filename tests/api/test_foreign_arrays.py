"""Arrays of other libraries as inputs and outputs: `from_dlpack`, and what `infer` takes."""
from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clinfer
from clinfer.api.compiled_model import CompiledModel
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import assert_softmax


class Offering:
    """Something of another library that offers its array by DLPack of today."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class OfferingAsBefore(Offering):
    """By DLPack before version 1."""

    def __dlpack__(self, stream: Any = None) -> Any:  # type: ignore[override]
        return self.array.__dlpack__()


class Convertible(OfferingAsBefore):
    """That, and by NumPy's protocol."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array


class Described:
    """By a description of its memory."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return dict(self.array.__array_interface__)


@pytest.mark.parametrize("form", [np.asarray, Offering, Convertible])
@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "i1", "u2", "i8", "?"])
def test_tensors_lie_in_the_array(form: Callable[..., Any], dtype: str, rng: np.random.Generator) -> None:
    array = rng.integers(0, 2, (3, 5)).astype(dtype)
    tensor = clinfer.from_dlpack(form(array))
    assert isinstance(tensor, ov.Tensor)
    assert tensor.data.ctypes.data == array.ctypes.data
    assert (tuple(tensor.shape), tensor.element_type) == ((3, 5), ov.Type(array.dtype))
    array[1, 2] = tensor.data[0, 1] = 1
    np.testing.assert_array_equal(tensor.data, array)


@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
def test_small_shapes(shape: tuple[int, ...]) -> None:
    assert tuple(clinfer.from_dlpack(np.zeros(shape, np.float32)).shape) == shape


def test_a_tensor_keeps_the_array() -> None:
    class Watched(np.ndarray):
        """An array to which there are weak references."""

    array = np.zeros(1000, np.float32).view(Watched)
    gone = weakref.ref(array)
    tensor = clinfer.from_dlpack(Offering(array))
    del array
    gc.collect()
    assert gone() is not None
    del tensor
    gc.collect()
    assert gone() is None


def test_tensors_come_back_as_they_are(core: clinfer.Core, device: DeviceInfo) -> None:
    context = core.get_default_context(device.name)
    for tensor in (context.create_tensor(np.float32, [2]), ov.Tensor(np.zeros(2))):
        assert clinfer.from_dlpack(tensor) is tensor


def test_inputs_and_outputs(one: CompiledModel, rng: np.random.Generator) -> None:
    given, result = np.empty((40, 5), np.float32), np.full((40, 5), np.nan, np.float32)
    request = one.create_infer_request()
    request.set_tensor("x", clinfer.from_dlpack(Offering(given)))
    request.set_output_tensor(clinfer.from_dlpack(Offering(result)))
    for _ in range(2):
        given[...] = rng.standard_normal((40, 5), dtype=np.float32)
        request.infer()
        assert_softmax(result, given)


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("form", [Offering, OfferingAsBefore, Convertible, Described])
def test_infer_takes_them(one: CompiledModel, form: Callable[..., Any], share: bool,
                          rng: np.random.Generator) -> None:
    array = rng.standard_normal((40, 5), dtype=np.float32)
    request = one.create_infer_request()
    assert_softmax(request.infer({"x": form(array)}, share_inputs=share)["x_out"], array)
    before = array.copy()
    array[...] = rng.standard_normal((40, 5), dtype=np.float32)
    is_read_again = share and form is not OfferingAsBefore
    assert_softmax(request.infer()["x_out"], array if is_read_again else before)


@pytest.mark.parametrize("form", [Offering, OfferingAsBefore, Described])
def test_in_the_background_they_may_change(one: CompiledModel, form: Callable[..., Any],
                                           rng: np.random.Generator) -> None:
    array = rng.standard_normal((40, 5), dtype=np.float32)
    request, before = one.create_infer_request(), array.copy()
    request.start_async({"x": form(array)})
    array[...] = np.nan
    request.wait()
    assert_softmax(request.results["x_out"], before)


def _read_only() -> np.ndarray:
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(("given", "told"), [
    (np.zeros((4, 3), np.float32).T, "another order"),
    (np.zeros(8, np.float32)[::2], "gaps"),
    (_read_only(), "only be read"),
    (OfferingAsBefore(np.zeros(4, np.float32)), "only be read"),
    (Offering(np.zeros(4, np.float32), (2, 0)), "not in memory of the host"),
    (Offering(np.zeros(4, "m8[s]")), "cannot see"),
    (np.zeros(4, np.complex64), "complex64"),
    ([1.0, 2.0], "no array that offers DLPack"),
])
def test_what_is_refused(given: Any, told: str) -> None:
    if isinstance(given, OfferingAsBefore):
        given.__class__ = type("Bare", (OfferingAsBefore,), {"__array__": lambda self, *_, **__: self.array.copy()})
    with pytest.raises(ClinferError, match=told):
        clinfer.from_dlpack(given)


class Elsewhere(Offering):
    """As libraries refuse what NumPy asks them for."""

    def __dlpack__(self, **how: Any) -> Any:
        raise BufferError("it is in memory of a GPU")


def test_what_infer_refuses(one: CompiledModel) -> None:
    request = one.create_infer_request()
    with pytest.raises(ClinferError, match="NumPy says: it is in memory of a GPU") as caught:
        request.infer({"x": Elsewhere(np.zeros((4, 5), np.float32))})
    assert "input 'x'" in str(caught.value)
    assert_softmax(request.infer({"x": np.zeros((4, 5), np.float32)})["x_out"], np.zeros((4, 5)))
