"""Every version of every operation of OpenVINO's opsets: native, but for what computes with texts."""
from __future__ import annotations

from dataclasses import replace
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
from tests.oracle import TOLERANCE, CpuPlugin, assert_close, build_model, parameter_specs, random_inputs

STRUCTURE = {"Result", "ConvertPromoteTypes", "ReadValue", "Assign"}
"""What has no rows: it is part of every model, or becomes something else before a model is read."""
ELSEWHERE = {"DetectionOutput", "If", "Loop", "TensorIterator", "StringTensorPack", "StringTensorUnpack",
             "BinaryConvolution", "RandomUniform"}
"""What rows cannot tell, and other tests run."""


def version_of(row: Case) -> int | None:
    """The opset whose version of its operation a row has."""
    opset = int(row.opset.removeprefix("opset"))
    return max((version for version in VERSIONS[row.op] if version <= opset), default=None)


VERSIONS = {each.name: each.versions for each in list_operations()}
ROWS = (*VERSION_ROWS,
        *(row for family in all_operations() for row in import_module(f"clinfer.ops.{family.name}.cases").CASES))
FIRST_ROWS = {(row.op, version_of(row)): row for row in reversed(ROWS)}
"""One row of each version of each operation that has rows."""


def test_every_version_of_every_operation_has_a_row() -> None:
    for each in list_operations():
        if each.runs != "no" and each.name not in STRUCTURE | ELSEWHERE:
            assert {version for version in each.versions if (each.name, version) not in FIRST_ROWS} == set(), each.name


@pytest.mark.parametrize("row", FIRST_ROWS.values(), ids=lambda row: f"{row.op}-{version_of(row)}")
def test_every_version_runs_without_the_host(core: Core, rng: np.random.Generator, row: Case) -> None:
    compare_with_openvino(core, "CPU", row, rng)


def compare_with_openvino(core: Core, device: str, row: Case, rng: np.random.Generator) -> None:
    """Run a row as a model, without OpenVINO on the host."""
    model = build_model(row, False)
    compiled = core.compile_model(model, device, F32 | {"host_fallback": "NO"})
    inputs = random_inputs(row, tuple(shape for shape, _ in parameter_specs(row)), rng)
    found = compiled(inputs)
    tolerance = max([TOLERANCE[kind] for _, kind in parameter_specs(row) if kind in TOLERANCE], default=1e-4)
    for index, expected in enumerate(CpuPlugin(model)(inputs)):
        assert_close(found[index], expected, tolerance, row.name)


def test_all_are_native_but_for_those_of_texts() -> None:
    operations = list_operations()
    assert {each.name for each in operations if each.runs == "host"} == {"StringTensorPack", "StringTensorUnpack"}
    assert {row.op for row in VERSION_ROWS} <= {each.name for each in operations if each.runs == "native"}


@pytest.mark.parametrize("row", VERSION_ROWS, ids=lambda row: row.name)
def test_older_versions_on_every_device(core: Core, device: DeviceInfo, row: Case, rng: np.random.Generator) -> None:
    compare_with_openvino(core, device.name, row, rng)


@pytest.mark.parametrize("kind", ["numbers", "an input", "input_forget"])
def test_peepholes_are_refused_and_not_left_out(core: Core, rng: np.random.Generator, kind: str) -> None:
    row = next(row for row in VERSION_ROWS if row.op == "LSTMCell")
    peepholes = ((12,), "f32") if kind == "an input" else np.full(12, kind == "numbers", np.float32)
    model = build_model(replace(row, inputs=(*row.inputs, peepholes),
                                attributes={"hidden_size": 4, "input_forget": kind == "input_forget"}), False)
    with pytest.raises(UnsupportedError, match=r"layer 'node'(.|\n)*leave out the peepholes"):
        core.compile_model(model, "CPU")
    with pytest.raises(UnsupportedError, match="peepholes"):
        core.compile_model(model, "CPU", {"host_fallback": "NO"})


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
