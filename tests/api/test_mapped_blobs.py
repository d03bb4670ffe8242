"""Weights of models that come from CACHE_DIR lie in its files, where devices can work there."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from clinfer.api.core import Core
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.cached_models import compile_in, is_loaded
from tests.mapped import is_mapped, needs_maps, stays_mapped


@needs_maps
def test_weights_stay_in_the_blob(device: DeviceInfo, tmp_path: Path, rng: np.random.Generator) -> None:
    """On a CPU, as long as somebody uses them, whatever becomes of the file; and only where files are to be mapped."""
    weights, x = (rng.standard_normal(shape).astype(np.float32) for shape in ((96, 160), (3, 96)))
    data = ov.op.Parameter(ov.Type.f32, ov.PartialShape([-1, 96]))
    model = ov.Model([ov.opset13.matmul(data, ov.op.Constant(weights), False, False)], [data], "product")
    expected, core = x @ weights, Core()
    compile_in(tmp_path, model, device, core)
    [blob] = tmp_path.iterdir()

    read = compile_in(tmp_path, model, device, core, ENABLE_MMAP=False)
    assert is_loaded(read) and not is_mapped(blob)
    found = compile_in(tmp_path, model, device, core)
    assert is_loaded(found) and is_mapped(blob) == core.engine(device.name).capabilities.buffers_in_place
    blob.unlink()
    for compiled in (read, found):
        np.testing.assert_allclose(compiled(x)[0], expected, rtol=1e-4, atol=1e-4)
    exported = core.import_model(found.export_model(), device.name)
    del found, compiled
    assert not stays_mapped(blob)
    np.testing.assert_allclose(exported(x)[0], expected, rtol=1e-4, atol=1e-4)
