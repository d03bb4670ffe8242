"""Vectors in memory: read and written from every place, asked whether it is aligned or not."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.kernels.jitter import common_source
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.stream import Stream

TYPES = ("f32", "f16", "bf16", "i32", "i16", "i8", "u32", "u16", "u8", "i64", "u64", "f64")
PLACES = 33
"""Elements from which vectors are read, and to which they are written."""


def _source(element_type: ElementType, width: int, wide: bool) -> str:
    name, storage = element_type.name, element_type.cl_storage
    return "\n".join([f"#define CLINFER_WIDE_IF_ALIGNED {int(wide)}",
                      "#pragma OPENCL EXTENSION cl_khr_fp64 : enable" if name == "f64" else "", common_source(), f"""
kernel void copy(const global {storage}* from, global {storage}* to) {{
    const int n = get_global_id(0);
    STORE{width}_{name}(to + n * {PLACES + width}, n, LOAD{width}_{name}(from, n));
}}"""])


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("name", TYPES)
def test_every_place(engine: Engine, stream: Stream, name: str, width: int, wide: bool,
                     rng: np.random.Generator) -> None:
    """Vector n is read from element n on and stored to row n of poison, there from element n on."""
    if name == "f64" and not engine.capabilities.fp64:
        pytest.skip("no f64")
    element_type = ElementType.of(name)
    kind = np.dtype(element_type.storage)
    values = rng.integers(0, 100, PLACES + width).astype(kind)
    rows = np.full((PLACES, PLACES + width), 77, kind)
    expected = rows.copy()
    for n in range(PLACES):
        expected[n, n:n + width] = values[n:n + width]
    given, taken = engine.allocate_bytes(values.nbytes), engine.allocate_bytes(rows.nbytes)
    stream.write(given, values)
    stream.write(taken, rows)
    kernel = engine.create_kernel(engine.build_program(_source(element_type, width, wide)), "copy")
    kernel.set_buffer(0, given)
    kernel.set_buffer(1, taken)
    stream.enqueue(kernel, WorkSize((PLACES,)))
    assert np.array_equal(stream.read(taken).view(kind).reshape(rows.shape), expected)
