"""Kernels that index with 64 bits, on tensors that would not need it: rows of each kernel that says that it can."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY
from clinfer.ops import all_operations
from clinfer.ops.convert import Convert
from clinfer.ops.operation import Case
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Topology
from tests.candidates import reaches
from tests.deferring import Selection
from tests.network.running import network_of
from tests.ops.case_runner import Variant, check_program, execute, is_refusal, needs, topology_of
from tests.ops.shards import layouts_of
from tests.ops.test_cases import ROWS

_ELSEWHERE = {"custom", "reorder_ref", "reshape_ref", "rope_ref", "append_rows", "append_ref", "quantise_rows_ref",
              "dequantise_rows_ref", "matmul_blocks", "matmul_blocks_bf16", "mvn_left_to_readers",
              "reorder_nibbles", "convert_nibbles", "quantised_convolution_ref", "winograd", "winograd_ref",
              "shuffled_parts_ref"}
"""Those that no row asks for (`test_cases.py`); matmul_blocks, matmul_blocks_bf16, reorder_nibbles:
`test_compressed_weights.py`; quantised_convolution_ref: `test_byte_products.py`;
winograd, winograd_ref: `test_winograd.py`; append_rows, append_ref: `test_turn_into_caches.py`; shuffled_parts_ref:
`test_join_shuffles.py`."""
KERNELS = [(op.name, kernel) for op in all_operations() for table in op.kernels.values() for kernel in table.kernels
           if kernel.supports_large and kernel.name not in _ELSEWHERE]


@pytest.mark.parametrize("op", sorted({op for op, _ in KERNELS}))
def test_rows_with_large_indices(engine: Engine, op: str) -> None:
    selection = Selection(engine)
    programs = []
    for kernel in sorted({kernel.name for name, kernel in KERNELS
                          if name == op and kernel.targets(engine.capabilities) is None}):
        found = next((each for each in _programs(engine, selection, op, kernel) if kernel in reaches(each[0])), None)
        assert found is not None, f"no case reaches {kernel}"
        programs.append(found)
    selection.build()
    for program, case, variant in programs:
        codes = [stage.code for node in program.nodes for each in node.implementations for stage in each.stages]
        assert codes and all(code.is_large and "#define index_t long" in code.source for code in codes)
        check_program(program, case, variant)


@pytest.mark.parametrize("kind", ["u4", "i4"])
def test_results_of_4_bits_with_large_indices(engine: Engine, rng: np.random.Generator, kind: str) -> None:
    topology = Topology(Input("x", shape=(ANY, 5), element_type=ElementType.of("i32")),
                        Convert("y", ("x",), destination_type=kind))
    network = network_of(engine, topology, BuildOptions(large_indices=True))
    assert [each.name for node in network.program.nodes for each in node.implementations] == ["convert_nibbles"]
    low = 0 if kind == "u4" else -8
    for rows in (3, 8, 1):
        given = rng.integers(low, low + 16, (rows, 5)).astype(np.int32)
        np.testing.assert_array_equal(execute(network, [given])[0], given)


def _programs(engine: Engine, selection: Selection, op: str, kernel: str) -> Iterator[tuple[Program, Case, Variant]]:
    for case, variant in _variants(engine, op, kernel):
        try:
            yield selection.program(topology_of(case, variant), variant.options()), case, variant
        except ClinferError as error:
            assert is_refusal(error, variant)


def _variants(engine: Engine, op: str, kernel: str) -> Iterator[tuple[Case, Variant]]:
    """How a kernel may be reached, sequences of shapes first."""
    if not any(name == op for name, _ in ROWS):
        op, kernel = "eltwise", ""  # In front of other operations.
    able = sorted((case for name, case in ROWS if name == op and needs(case, engine)),
                  key=lambda case: -len(case.sequence))
    for layout in ("", *dict.fromkeys(layout for case in able for layout in layouts_of(case))):
        for case in able:
            yield case, Variant(bool(case.sequence), kernel, layout, large=True)
