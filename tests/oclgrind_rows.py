"""Runs reference kernels on their smallest case rows, and all of attention and rotary positions, under Oclgrind (see
test_oclgrind.py): `python -m tests.oclgrind_rows PART PARTS`. It takes a thousand times as long as a device does, so
each shape is executed once."""
from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable
from functools import partial
from importlib import import_module
from itertools import product

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops import all_operations
from clinfer.ops.operation import Case
from clinfer.ops.sdpa import KERNELS as ATTENTION
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.ops.shared.targets import has_wide_vectors
from clinfer.program.options import BuildOptions
from clinfer.runtime.device import available_devices
from clinfer.runtime.engine import Engine
from tests.candidates import candidates_of_op
from tests.network.running import check, network_of
from tests.ops.case_runner import ModelOf, Variant, execute, is_unsupported, needs, run_case
from tests.ops.compressed import Weights
from tests.ops.compressed import check as check_compressed
from tests.ops.epilogues import AGAIN, HOSTS, float_rows, fused_model
from tests.oracle import CpuPlugin, assert_close, build_model, parameter_specs
from tests.program.attention_models import HIDDEN, attention_graph, attention_model
from tests.program.rope_models import FORMS, rope_inputs, rope_model, rope_result
from tests.seeds import FULL, SEED, seed_of

LARGEST = 1500
ROWS_PER_KERNEL = 4 if FULL else 2
WHOLE = ("broadcast", "convert", "gather", "group_norm", "interpolate", "mvn", "normalize_l2", "pooling",
         "reduce", "softmax", "transpose")
"""Operations of which every kernel is run with fused operations. (Oclgrind lacks what others are compiled to.)"""
WRITTEN = ("three", "by_hand", "cut", "grouped")
"""Ways of writing attention: causal, with a mask, out of parts, and with heads in groups."""


def _size(case: Case) -> int:
    constants = sum(getattr(entry, "size", 0) for entry in case.inputs if entry is not None)
    return sum(math.prod(shape) for shape, _ in parameter_specs(case)) + constants


def _work(case: Case) -> int:
    """What grows with the steps that a row takes: each element of one input may meet each of another."""
    constants = [entry.size for entry in case.inputs if isinstance(entry, np.ndarray)]
    return math.prod(max(size, 1) for size in [*constants, *(math.prod(shape) for shape, _ in parameter_specs(case))])


def main(part: int, parts: int) -> int:
    """Run one of so many parts; the number of its rows that gave a wrong result or an error."""
    device = next(d for d in available_devices() if "oclgrind" in d.platform_name.lower())
    engine, failures, ran = Engine(device), 0, 0
    for op in all_operations()[part::parts]:
        kernels = candidates_of_op(op.name)
        references = [kernel for kernel in kernels if kernel.endswith("_ref")]
        cases = sorted(import_module(f"clinfer.ops.{op.name}.cases").CASES, key=_work)
        with_epilogue = [(float_rows(cases), kernel, partial(fused_model, f"{seed_of(kernel)}"),
                   ROWS_PER_KERNEL if kernel in references and FULL else 1)
                  for kernel in kernels if op.name in WHOLE or (op.name in HOSTS and kernel in references)]
        plain = ((cases, kernel, build_model, ROWS_PER_KERNEL) for kernel in references)
        for rows, kernel, build, most in [*plain, *with_epilogue]:
            done, failed = _run_kernel(engine, rows, kernel, build, most)
            ran, failures = ran + done, failures + failed
    os.environ["CLINFER_FORCE_KERNEL"] = ""
    for run in (_run_attention, _run_rope, _run_compressed)[part::parts]:
        done, failed = run(engine)
        ran, failures = ran + done, failures + failed
    print(f"rows run: {ran}, failures: {failures}, seed: {SEED}", flush=True)
    return failures


def _run_kernel(engine: Engine, cases: Iterable[Case], kernel: str, build: ModelOf,
                most: int) -> tuple[int, int]:
    """Run a kernel on its first rows; how many ran and failed."""
    done = failed = 0
    for case in cases:
        if done == most:
            break
        if _size(case) > LARGEST or not needs(case, engine):
            continue
        print(f"row {case.name} {kernel}", flush=True)
        os.environ["CLINFER_FORCE_KERNEL"] = f"{AGAIN}={kernel}"
        try:
            run_case(engine, case, Variant(bool(case.sequence), kernel), build, is_slow=True)
            done += 1
        except ClinferError as error:
            if not is_unsupported(error):
                failed += 1
                print(f"failed {case.name}: {error}", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"failed {case.name}: {error}", flush=True)
    return done, failed


def _run_attention(engine: Engine) -> tuple[int, int]:
    """Every attention kernel on parts of tensors, written in one way or, in full, in all; how many ran and failed."""
    seed, done, failed = seed_of("attention"), 0, 0
    rng = np.random.default_rng(seed)
    kernels = [each.name for each in ATTENTION.kernels]
    for name, kernel in product(WRITTEN, kernels) if FULL else ((rng.choice(WRITTEN), name) for name in kernels):
        print(f"attention {name} {kernel}", flush=True)
        model = attention_model(name, seed, -1, -1, HIDDEN)
        topology = to_topology(prepare(model)).topology
        node = next(x for x in attention_graph(engine, topology) if isinstance(x.primitive, ScaledDotProductAttention))
        try:
            network = network_of(engine, topology, BuildOptions({node.id: ("", kernel)}))
        except ClinferError as error:
            # Kernels of tensor cores have no place on this device.
            if not is_unsupported(error):
                raise
            continue
        done += 1
        try:
            for shape in ((2, 5, HIDDEN), (1, 35, HIDDEN)):
                check(network, CpuPlugin(model), [rng.standard_normal(shape).astype(np.float32)], is_slow=True)
        except AssertionError as error:
            failed += 1
            print(f"failed {name} {kernel}: {error}", flush=True)
    return done, failed


def _run_rope(engine: Engine) -> tuple[int, int]:
    """Rotary positions of some elements in every form; how many ran and failed."""
    rng, failed, rotated = np.random.default_rng(SEED), 0, 8
    for name in FORMS:
        print(f"rope {name}", flush=True)
        network = network_of(engine, prepare(rope_model(name, rotated)))
        assert [type(node.primitive).__name__ for node in network.program.nodes if node.kind == "kernel"] == ["RoPE"]
        try:
            for batch, length in ((2, 5), (1, 1)):
                given = rope_inputs(rng, name, batch, length, length, rotated)
                wanted = rope_result(name, *given, rotated)
                assert_close(execute(network, given, [wanted])[0], wanted, 1e-5)
        except AssertionError as error:
            failed += 1
            print(f"failed {name}: {error}", flush=True)
    return len(FORMS), failed


def _run_compressed(engine: Engine) -> tuple[int, int]:
    """Products of compressed weights, which no row has; how many ran and failed."""
    rng, done, failed = np.random.default_rng(SEED), 0, 0
    for kind, zero_point in (("u4", "u4"), ("i8", None)):
        rows = (14, 8) if has_wide_vectors(engine.capabilities) else (2, 2)
        for kernel in ("matmul_ref", f"matmul_tile_{rows[0]}", f"matmul_blocks_{rows[1]}", "matmul_rows_4",
                       "matmul_local_32"):
            print(f"compressed {kind} {kernel}", flush=True)
            weights = Weights.random(rng, kind, (48, 35), 3, True, zero_point=zero_point, bias=True)
            try:
                check_compressed(engine, rng, weights, True, (1, 3, 15), kernel, with_epilogue=True, is_slow=True)
                done += 1
            except (ClinferError, AssertionError) as error:
                failed += 1
                print(f"failed: {error}", flush=True)
    return done, failed


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
