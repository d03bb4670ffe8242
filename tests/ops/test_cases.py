"""Every case row on every device, crossed with kernels, layouts and dynamic shapes.

The row runs as the selector wants it, static and as a sequence of shapes, and with kernels of its table forced: each
on half of the rows that it takes, and on two at least. A seeded choice of input layouts is added, and others where a
kernel needs them. The first device of a type runs every row, others a part, and force each kernel on two.
`CLINFER_TEST_FULL=1` crosses all, and lets CPUs compute in f16 too.
"""
from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest

from clinfer.ops import all_operations
from clinfer.ops.operation import Case
from clinfer.runtime.device import available_devices
from clinfer.runtime.engine import Engine
from tests.candidates import candidates_of_op, reaches
from tests.devices import engine_of
from tests.ops.case_runner import RowJudge, Variant, is_refusal, needs
from tests.ops.shards import Row, Shard, in_formats, variants_of

ROWS: list[Row] = [(op.name, case) for op in all_operations()
                   for case in import_module(f"clinfer.ops.{op.name}.cases").CASES]
# Kernels of what no row asks for: changed types, padding (see tests/kernels/), outputs of 4 bits, what passes make,
# fused operations that read tensors (tests/program/test_fuse_eltwise.py), images (tests/network/test_surfaces.py),
# random numbers (tests/api/test_random_uniform.py), compressed weights (tests/ops/test_compressed_weights.py), data
# that are whole numbers times a step (tests/ops/test_byte_products.py), indices of 64 bits alone
# (tests/ops/test_large_indices.py), and tensor cores (tests/ops/test_tensor_cores.py, test_kept_memory.py).
_ELSEWHERE = {"custom", "reorder_ref", "reshape_ref", "convert_nibbles", "rope_ref", "append_rows", "append_ref",
              "quantise_rows_ref", "dequantise_rows_ref", "color_convert_planar_rows",
              "color_convert_images", "matmul_blocks", "matmul_blocks_bf16", "matmul_bytes", "reorder_nibbles",
              "sdpa_mma", "sdpa_mma_anywhere", "matmul_mma", "matmul_wgmma", "matmul_tma", "matmul_unpacked",
              "convolution_mma", "convolution_wgmma", "convolution_tma", "convolution_mma_planar",
              "convolution_mma_rows", "convolution_wgmma_patches", "convolution_bytes", "convolution_bytes_few",
              "convolution_bytes_runs", "convolution_bytes_few_runs", "convolution_ref_channels_last",
              "quantised_convolution_ref", "random_uniform_ref", "mvn_left_to_readers", "winograd_ref",
              "transpose_kept_rows", "transpose_kept_ref", "shuffled_parts_pairs", "shuffled_parts_ref"}


@pytest.mark.parametrize("op, case", ROWS, ids=[f"{op}-{case.name}" for op, case in ROWS])
def test_row(shard: Shard, op: str, case: Case) -> None:
    judge, ran = RowJudge(case), 0
    for variant, program in shard.programs(case).items():
        if isinstance(program, Exception):
            if not is_refusal(program, variant):
                raise program
            continue
        judge.check(program, variant)
        ran += 1
    assert ran


@pytest.mark.parametrize("op", [op.name for op in all_operations() if op.kernels])
def test_some_row_reaches_every_kernel(op: str) -> None:
    """Every kernel that is made for one of the devices, on one of them."""
    reached: set[str] = set()
    missed: set[str] = set()
    for device in available_devices():
        engine = engine_of(device.name)
        shard = Shard(engine, [])
        for kernel in sorted({*candidates_of_op(op, engine.capabilities)} - _ELSEWHERE - reached):
            found = any(kernel in reaches(shard.select(*row)) for row in _candidates(engine, op, kernel))
            (reached if found else missed).add(kernel)
    assert missed <= reached, f"no case reaches {sorted(missed - reached)}"


def _candidates(engine: Engine, op: str, kernel: str) -> Iterator[tuple[Case, Variant]]:
    """What `test_row` runs and may reach the kernel: its operation's rows first, then reorders in front of others."""
    able = [case for name, case in ROWS if name == op and needs(case, engine)]
    for case in able:
        yield case, Variant(bool(case.sequence), kernel)
        yield case, Variant(bool(case.sequence))
    yield from in_formats(able, kernel)
    for _, case in ROWS:
        yield from ((case, variant) for variant in variants_of(engine, case))
