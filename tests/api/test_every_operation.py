"""Every version of every operation of OpenVINO's opsets: native, or computed by OpenVINO on the host."""
from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.base.errors import UnsupportedError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.opsets import list_operations
from clinfer.ops import OPERATIONS
from clinfer.ops.operation import Case
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32
from tests.api.test_host_fallback import hosted
from tests.ops.host_rows import HOST_ROWS, NATIVE_ROWS
from tests.oracle import CpuPlugin, assert_close, build_model, parameter_specs, random_inputs

STRUCTURE = {"Result", "ConvertPromoteTypes", "ReadValue", "Assign"}
"""What has no rows: it is part of every model, or becomes something else before a model is read."""
ELSEWHERE = {"DetectionOutput", "If", "Loop", "TensorIterator", "StringTensorPack", "StringTensorUnpack",
             "BinaryConvolution", "RandomUniform"}
"""What rows cannot tell, and other tests run."""


def test_every_version_of_every_operation_has_a_row() -> None:
    rows = [*HOST_ROWS, *NATIVE_ROWS,
            *(row for family in OPERATIONS for row in import_module(f"clinfer.ops.{family.name}.cases").CASES)]
    opsets: dict[str, set[int]] = {}
    for row in rows:
        opsets.setdefault(row.op, set()).add(int(row.opset.removeprefix("opset")))
    for each in list_operations():
        if each.runs != "no" and each.name not in STRUCTURE | ELSEWHERE:
            reached = {max((v for v in each.versions if v <= opset), default=None) for opset in opsets[each.name]}
            assert reached >= set(each.versions), each.name


def test_rows_are_of_what_the_page_says() -> None:
    runs = {each.name: each.runs for each in list_operations()}
    assert {row.op for row in HOST_ROWS} | (ELSEWHERE & {n for n, how in runs.items() if how == "host"}) == {
        name for name, how in runs.items() if how == "host"}
    assert all(runs[row.op] == "native" for row in NATIVE_ROWS)


@pytest.mark.parametrize("case", [*HOST_ROWS, *NATIVE_ROWS], ids=lambda case: case.name)
def test_operation(core: Core, device: DeviceInfo, case: Case, rng: np.random.Generator) -> None:
    shapes = tuple(shape for shape, _ in parameter_specs(case))
    for is_dynamic in (False, True)[:1 + bool(case.sequence)]:
        model = build_model(case, is_dynamic)
        compiled, oracle = core.compile_model(model, device.name, F32), CpuPlugin(model)
        assert case in NATIVE_ROWS or hosted(compiled) == [case.op]
        for given in (shapes, *case.sequence[:is_dynamic * len(case.sequence)], shapes):
            inputs = random_inputs(case, given, rng)
            found = compiled.create_infer_request().infer(inputs)
            for index, expected in enumerate(oracle(inputs)):
                assert_close(found[index], expected, 1e-5, case.name)


@pytest.mark.parametrize("name", [each.name for each in list_operations() if each.runs == "no"])
def test_what_is_refused_cannot_be_run_by_openvino_either(core: Core, name: str) -> None:
    inputs = {"GroupedMatMul": [(3, 4, 5), (3, 6, 5)]}.get(name, [(1, 4, 6, 3)])
    kind = ov.Type.f32 if name == "GroupedMatMul" else ov.Type.u8
    parameters = [ov.op.Parameter(kind, ov.Shape(shape)) for shape in inputs]
    from openvino.utils.node_factory import NodeFactory
    node = NodeFactory("opset17").create(name, [p.output(0) for p in parameters], {})
    model = ov.Model(list(map(ov.op.Result, node.outputs())), parameters)
    with pytest.raises(RuntimeError, match="evaluate"):
        ov.Core().compile_model(model, "CPU")
    with pytest.raises(UnsupportedError, match=f"{name}(.|\n)*on the host(.|\n)*evaluate"):
        core.compile_model(model, "CPU")
