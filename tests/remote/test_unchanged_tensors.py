"""What is known of remote tensors that stay from inference to inference, and what ends it."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.api.infer_request import InferRequest
from clinfer.api.input_slot import InputSlot
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.remote.context import ClContext
from clinfer.remote.tensors import RemoteTensor
from tests.remote.pipelines import F32, assert_softmax, softmax_model


class _Side:
    """A request with tensors of its own, and what was put into its input."""

    def __init__(self, request: InferRequest, context: ClContext, rows: int = 4) -> None:
        self.request, self.context = request, context
        self.x, self.y = self.tensor(rows), self.tensor(rows)
        request.set_tensor("x", self.x)
        request.set_tensor("y", self.y)

    def tensor(self, rows: int) -> RemoteTensor:
        return self.context.create_tensor(ov.Type.f32, [rows, 5])

    def fill(self, rng: np.random.Generator) -> np.ndarray:
        values = rng.standard_normal(self.x.static_shape, dtype=np.float32)
        self.x.copy_from(values)
        return values

    def check(self, rng: np.random.Generator) -> None:
        values, found = self.fill(rng), np.empty(self.x.static_shape, np.float32)
        self.request.infer()
        self.y.copy_to(found)
        assert_softmax(found, values)


@pytest.fixture
def sides(core: Core, context: ClContext) -> list[_Side]:
    """Two requests on one stream."""
    compiled = core.compile_model(softmax_model(), context, {**F32, "NUM_STREAMS": 1})
    return [_Side(compiled.create_infer_request(), context) for _ in range(2)]


def test_what_stays_is_not_looked_at_again(sides: list[_Side], rng: np.random.Generator,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = sides
    for _ in range(2):
        one.check(rng)
    with monkeypatch.context() as patch:
        for name in ("prepare", "upload", "settle"):
            patch.setattr(InputSlot, name, None)
        one.check(rng)
    for _ in range(2):
        other.check(rng)
        one.check(rng)


def test_other_tensors_and_shapes(sides: list[_Side], rng: np.random.Generator) -> None:
    one, other = sides
    tensors = [(one.x, one.y), (one.tensor(4), one.tensor(4)), (one.tensor(7), one.tensor(7)), (one.x, one.tensor(4))]
    for number in rng.integers(0, len(tensors), 30):
        one.x, one.y = tensors[number]
        one.request.set_tensor("x", one.x)
        one.request.set_tensor("y", one.y)
        if rng.random() < 0.5:
            one.x.shape = [int(rng.integers(1, 5)), 5]
        for _ in range(int(rng.integers(1, 4))):
            one.check(rng)
        if rng.random() < 0.3:
            other.check(rng)


def test_the_host_gives_and_gets_in_between(sides: list[_Side], rng: np.random.Generator) -> None:
    side, request = sides[0], sides[0].request
    for _ in range(3):
        for _ in range(3):
            side.check(rng)
        values = rng.standard_normal((3, 5), dtype=np.float32)
        request.infer([values])
        found = np.empty((3, 5), np.float32)
        side.y.copy_to(found)
        assert_softmax(found, values)
        request.set_tensor("x", side.x)
        request.set_tensor("y", ov.Tensor(ov.Type.f32, [0, 5]))
        values = side.fill(rng)
        assert_softmax(request.infer()["y"], values)
        request.set_tensor("y", side.y)


def test_memory_that_is_given_back(sides: list[_Side], rng: np.random.Generator) -> None:
    side = sides[0]
    for _ in range(3):
        side.check(rng)
    side.tensor(9).whole.release()
    side.check(rng)
    gone = side.x
    gone.whole.release()
    for _ in range(2):
        with pytest.raises(ClinferError, match="released"):
            side.request.infer()
    side.x = side.tensor(4)
    side.request.set_tensor("x", side.x)
    for _ in range(3):
        side.check(rng)


def test_a_model_that_gives_its_memory_back(sides: list[_Side], rng: np.random.Generator) -> None:
    side = sides[0]
    for _ in range(3):
        for _ in range(3):
            side.check(rng)
        side.request.get_compiled_model().release_memory()
