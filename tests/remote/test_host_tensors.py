"""OpenVINO's own tensors in host memory copy to and from remote tensors."""
from __future__ import annotations

import numpy as np
import pytest

import clinfer
from clinfer.base.errors import ClinferError
from clinfer.remote.context import ClContext


@pytest.mark.parametrize("kind", ["f32", "f16", "i64", "u8", "boolean"])
def test_both_ways(context: ClContext, rng: np.random.Generator, kind: str) -> None:
    given = clinfer.Tensor(getattr(clinfer.Type, kind), [2, 3, 4])
    given.data[:] = rng.integers(0, 2, (2, 3, 4))
    remote = context.create_tensor(given.element_type, given.shape, {})
    given.copy_to(target_tensor=remote)
    taken = clinfer.Tensor(given.element_type, given.shape)
    taken.copy_from(source_tensor=remote)
    np.testing.assert_array_equal(taken.data, given.data)


def test_regions_on_both_sides(context: ClContext, rng: np.random.Generator) -> None:
    values = rng.standard_normal((4, 4, 4), np.float32)
    host, remote = clinfer.Tensor(values), context.create_tensor(clinfer.Type.f32, [4, 4, 4])
    begin, end = clinfer.Coordinate([1, 2, 1]), clinfer.Coordinate([3, 4, 4])
    clinfer.Tensor(host, begin, end).copy_to(clinfer.RemoteTensor(remote_tensor=remote, begin=begin, end=end))
    taken = clinfer.Tensor(clinfer.Type.f32, [2, 2, 3])
    taken.copy_from(clinfer.RemoteTensor(remote, begin, end))
    np.testing.assert_array_equal(taken.data, values[1:3, 2:4, 1:4])


def test_what_openvino_copies_itself_it_still_copies(rng: np.random.Generator) -> None:
    values = rng.standard_normal((2, 3), np.float32)
    first, second = clinfer.Tensor(values), clinfer.Tensor(clinfer.Type.f32, [2, 3])
    first.copy_to(second)
    np.testing.assert_array_equal(second.data, values)
    second.copy_from(source=values * 2)
    np.testing.assert_array_equal(second.data, values * 2)
    for wrong in (5, None):
        with pytest.raises(TypeError):
            first.copy_to(wrong)
        with pytest.raises(TypeError):
            first.copy_from(wrong)


def test_errors_are_those_of_other_copies(context: ClContext) -> None:
    remote = context.create_tensor(clinfer.Type.f32, [2, 3])
    for other in (clinfer.Tensor(clinfer.Type.f32, [3, 2]), clinfer.Tensor(clinfer.Type.i32, [2, 3])):
        with pytest.raises(ClinferError, match="another type or shape"):
            other.copy_to(remote)
        with pytest.raises(ClinferError, match="another type or shape"):
            other.copy_from(remote)
