"""Real networks in the user's queue: many shapes, enqueued one behind the other without a wait, as by way of arrays."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyopencl as cl
import pytest

from clinfer.api.core import Core
from clinfer.remote.context import ClContext
from clinfer.remote.tensors import RemoteTensor
from clinfer.runtime.device import DeviceInfo
from tests.models.zoo import ROWS, model_of
from tests.remote.pipelines import F32, User, read


def _tensors(context: ClContext, arrays: Sequence[np.ndarray]) -> list[RemoteTensor]:
    made = [context.create_tensor(array.dtype, array.shape) for array in arrays]
    for tensor, array in zip(made, arrays, strict=True):
        tensor.copy_from(array)
    return made


@pytest.mark.sampled(1 / 2)
@pytest.mark.parametrize("name", ["bert_small", "yolo_small"])
def test_models_without_a_wait(core: Core, device: DeviceInfo, user: User, name: str,
                               rng: np.random.Generator) -> None:
    row = ROWS[name]
    arrays = [row.inputs(shape, rng) for shape in (*row.shapes[:3], row.shapes[0])]
    by_arrays = core.compile_model(model_of(name), device.name, F32)
    expected = [by_arrays(given).to_tuple() for given in arrays]
    for properties in (0, cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE):
        context = ClContext(core, cl.CommandQueue(user.context, properties=properties))
        compiled = core.compile_model(model_of(name), context, F32)
        assert compiled.get_property("host_waits") == ()
        given = [_tensors(context, found) for found in arrays]
        results = [_tensors(context, [np.full_like(array, np.nan) for array in wanted]) for wanted in expected]
        request = compiled.create_infer_request()
        for inputs, outputs in zip(given, results, strict=True):
            request.set_input_tensors(dict(enumerate(inputs)))
            request.set_output_tensors(dict(enumerate(outputs)))
            request.start_async()
        request.wait()
        for tensors, wanted in zip(results, expected, strict=True):
            for tensor, array in zip(tensors, wanted, strict=True):
                np.testing.assert_allclose(read(tensor), array, rtol=1e-4, atol=1e-4 * np.abs(array).max())
