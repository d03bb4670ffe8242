"""Every version of every operation of OpenVINO's opsets: native, but for what computes with texts."""
from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.base.errors import UnsupportedError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.opsets import list_operations
from clinfer.ops import all_operations
from clinfer.ops.operation import Case
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32
from tests.ops.version_rows import VERSION_ROWS
from tests.oracle import CpuPlugin, assert_close, build_model, parameter_specs, random_inputs

STRUCTURE = {"Result", "ConvertPromoteTypes", "ReadValue", "Assign"}
"""What has no rows: it is part of every model, or becomes something else before a model is read."""
ELSEWHERE = {"DetectionOutput", "If", "Loop", "TensorIterator", "StringTensorPack", "StringTensorUnpack",
             "BinaryConvolution", "RandomUniform"}
"""What rows cannot tell, and other tests run."""


def test_every_version_of_every_operation_has_a_row() -> None:
    rows = [*VERSION_ROWS,
            *(row for family in all_operations() for row in import_module(f"clinfer.ops.{family.name}.cases").CASES)]
    opsets: dict[str, set[int]] = {}
    for row in rows:
        opsets.setdefault(row.op, set()).add(int(row.opset.removeprefix("opset")))
    for each in list_operations():
        if each.runs != "no" and each.name not in STRUCTURE | ELSEWHERE:
            reached = {max((v for v in each.versions if v <= opset), default=None) for opset in opsets[each.name]}
            assert reached >= set(each.versions), each.name


def test_all_are_native_but_for_those_of_texts() -> None:
    operations = list_operations()
    assert {each.name for each in operations if each.runs == "host"} == {"StringTensorPack", "StringTensorUnpack"}
    assert {row.op for row in VERSION_ROWS} <= {each.name for each in operations if each.runs == "native"}


@pytest.mark.parametrize("case", VERSION_ROWS, ids=lambda case: case.name)
def test_version(core: Core, device: DeviceInfo, case: Case, rng: np.random.Generator) -> None:
    model = build_model(case, False)
    compiled, oracle = core.compile_model(model, device.name, F32), CpuPlugin(model)
    inputs = random_inputs(case, tuple(shape for shape, _ in parameter_specs(case)), rng)
    found = compiled.create_infer_request().infer(inputs)
    for index, expected in enumerate(oracle(inputs)):
        assert_close(found[index], expected, 1e-5, case.name)


@pytest.mark.parametrize(("auto_pad", "fill"), [
    ("explicit", 0.0), ("explicit", 1.0), ("explicit", -1.0), ("same_upper", 0.0), ("valid", 1.0)])
def test_binary_convolution(core: Core, device: DeviceInfo, rng: np.random.Generator, auto_pad: str,
                            fill: float) -> None:
    raw = rng.integers(0, 256, 6 * 8 * 9 // 8, np.uint8)
    weights = ov.op.Constant(ov.Tensor(raw, ov.Shape([6, 8, 3, 3]), ov.Type.u1))
    x = ov.opset13.parameter([2, 8, 5, 7], np.float32)
    node = ov.opset1.binary_convolution(x, weights, [1, 2], [1, 2], [1, 0], [1, 1], "xnor-popcount", fill, auto_pad)
    model, given = ov.Model([node], [x]), rng.integers(-2, 3, (2, 8, 5, 7)).astype(np.float32)
    compiled = core.compile_model(model, device.name, F32 | {"host_fallback": "NO"})
    assert_close(compiled(given)[0], CpuPlugin(model)([given])[0], 1e-6)


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
