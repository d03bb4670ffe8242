"""Operations that a kernel of the user's computes: registered, and from a file of custom layers."""
from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

import clinfer
from clinfer import ClinferError, Core
from clinfer.runtime.device import DeviceInfo
from tests.oracle import assert_close
from tests.test_readme import ROOT, snippets

F32 = {"INFERENCE_PRECISION_HINT": "f32", "host_fallback": "NO"}


class RowNorms(ov.Op):  # type: ignore[misc]
    """Of [rows, n], the length of each row times `scale`: [rows, `wide`]. `wide` and `claim` are there to lie."""

    def __init__(self, inputs: list[ov.Output] | None = None, scale: float = 1.0, wide: int = 1,
                 claim: int = -1) -> None:
        super().__init__(self)
        self.scale, self.wide, self.claim = scale, wide, claim
        if inputs is not None:
            self.set_arguments(inputs)
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        rows = self.get_input_partial_shape(0)[0]
        if rows.is_dynamic and self.claim >= 0:
            rows = ov.Dimension(self.claim)
        self.set_output_type(0, self.get_input_element_type(0), ov.PartialShape([rows, self.wide]))

    def clone_with_new_inputs(self, new_inputs: list[ov.Output]) -> RowNorms:
        return RowNorms(new_inputs, self.scale, self.wide, self.claim)

    def visit_attributes(self, visitor: Any) -> bool:
        visitor.on_attributes({"scale": self.scale, "wide": self.wide, "claim": self.claim})
        return True


SOURCE = """
float squared(float x) { return x * x; }

kernel void row_norms(const global INPUT0_TYPE* x, global OUTPUT0_TYPE* y) {
    const int row = get_global_id(0);
    float sum = 0;
    for (int n = 0; n < INPUT0_SIZE_1; ++n) sum += squared(x[INPUT0_GET_INDEX(row, n)]);
    float result = sqrt(sum) * SCALE;
    int at[MAX_RANK] = {row, 0};
    FUSED_OPS(result, at)
    y[OUTPUT0_GET_INDEX(row, 0)] = result;
}
"""


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    for kernel in clinfer.api.custom_operations.registered_kernels():
        clinfer.unregister_op(kernel.operation)


def register(source: str = SOURCE, rows: str = "OUTPUT0_SIZE_0") -> None:
    clinfer.register_op(RowNorms, source, kernel="row_norms", global_size=[rows], defines={"SCALE": "scale"})


def norms(**attributes: Any) -> ov.Model:
    """|x| between a convert and an addition, of rows of any size."""
    x = ops.parameter([-1, -1], np.float32, name="x")
    node = RowNorms([ops.abs(x).output(0)], **attributes)
    node.set_friendly_name("middle")
    return ov.Model([ops.add(node.output(0), np.float32(1))], [x])


def expected(x: np.ndarray, scale: float) -> np.ndarray:
    return scale * np.linalg.norm(x, axis=1, keepdims=True) + 1


def check(compiled: clinfer.CompiledModel, scale: float, rng: np.random.Generator) -> None:
    for rows, width in ((3, 5), (1, 1), (7, 33), (2, 0), (0, 4), (3, 5)):
        x = rng.standard_normal((rows, width)).astype(np.float32)
        assert_close(compiled(x)[0], expected(x, scale), 1e-5)


def test_a_kernel_for_an_operation_written_in_python(device: DeviceInfo, rng: np.random.Generator) -> None:
    register()
    compiled = Core().compile_model(norms(scale=2.5), device.name, F32)
    check(compiled, 2.5, rng)
    ran = [node for node in compiled.program.explain().nodes if node.type in ("CustomOp", "Eltwise")]
    assert [node.type for node in ran] == ["Eltwise", "CustomOp"], "the addition is fused into the kernel"
    assert Core().query_model(norms(), device.name, F32)["middle"] == device.name


def test_blobs_hold_the_kernel(device: DeviceInfo, rng: np.random.Generator) -> None:
    register()
    content = io.BytesIO(Core().compile_model(norms(scale=0.5), device.name, F32).export_model().read())
    clinfer.unregister_op(RowNorms)
    core = Core()
    core.add_extension(RowNorms)
    check(core.import_model(content, device.name), 0.5, rng)
    with pytest.raises(ClinferError, match="extension"):
        Core().import_model(io.BytesIO(content.getvalue()), device.name)


def test_the_cache_knows_kernels_apart(device: DeviceInfo, tmp_path: Path) -> None:
    x = np.ones((2, 4), np.float32)
    for source, value in ((SOURCE, 3.0), (SOURCE.replace("sqrt(sum)", "sum"), 5.0)):
        register(source)
        core = Core()
        core.add_extension(RowNorms)
        for is_cached in (False, True):
            compiled = core.compile_model(norms(), device.name, F32 | {"CACHE_DIR": str(tmp_path / "cache")})
            assert compiled.get_property("LOADED_FROM_CACHE") == is_cached
            assert_close(compiled(x)[0], np.full((2, 1), value), 1e-6)


def test_helper_functions_may_have_the_same_names(device: DeviceInfo) -> None:
    register()
    x = ops.parameter([-1, 4], np.float32)
    model = ov.Model([RowNorms([x.output(0)], scale=scale).output(0) for scale in (2.0, 3.0)], [x])
    results = Core().compile_model(model, device.name, F32)(np.ones((3, 4), np.float32))
    assert_close(results[0], np.full((3, 1), 4.0), 1e-6)
    assert_close(results[1], np.full((3, 1), 6.0), 1e-6)


def test_a_wrong_kernel_is_named_with_its_build_log(device: DeviceInfo) -> None:
    register(SOURCE.replace("sqrt(sum)", "sqrt(summe)"))
    with pytest.raises(ClinferError, match=r"middle(.|\n)*row_norms.cl:8(.|\n)*summe"):
        Core().compile_model(norms(), device.name, F32)
    register(rows="OUTPUT0_SIZE_7")
    with pytest.raises(ClinferError, match=r"(.|\n)*OUTPUT0_SIZE_7"):
        Core().compile_model(norms(), device.name, F32)(np.ones((2, 4), np.float32))


@pytest.mark.parametrize("given, message", [
    ({"kernel": "row_norm"}, "no function of that name"), ({"global_size": []}, "one to three"),
    ({"global_size": ["X"] * 4}, "one to three"), ({"global_size": ["X", "Y"], "local_size": ["1"]}, "one to three"),
    ({"global_size": ["X ** 2"]}, "no expression"), ({"global_size": ["f(X)"]}, "no expression"),
    ({"source": "missing.cl"}, "cannot be read"), ({"op": 5}, "named by its type"),
])
def test_what_cannot_be_registered(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ClinferError, match=message):
        clinfer.register_op(**{"op": RowNorms, "source": SOURCE, "kernel": "row_norms", "global_size": ["X"], **given})
    with pytest.raises(ClinferError, match="no kernel is registered"):
        clinfer.unregister_op(RowNorms)


def test_the_page_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    printed = snippets(ROOT / "docs" / "custom_operations.md")
    names: dict[str, Any] = {}
    for part in (printed[0], printed[-1]):
        exec(compile(part, "custom_operations.md", "exec"), names)
    assert capsys.readouterr().out.split() == ["[[8.]", "[8.]", "[8.]]"]
    assert_close(names["lengths"], np.full((3, 1), 4.0), 1e-6)


# -- kernels that do something else than their operations say ---------------------------------------


def alone(**attributes: Any) -> ov.Model:
    x = ops.parameter([-1, -1], np.float32)
    return ov.Model([RowNorms([x.output(0)], **attributes).output(0)], [x])


def test_a_kernel_that_keeps_to_its_tensors(device: DeviceInfo, rng: np.random.Generator) -> None:
    register()
    for rows, width in ((5, 3), (1, 1), (0, 2)):
        x = rng.standard_normal((rows, width)).astype(np.float32)
        assert_close(clinfer.check_op(alone(scale=2.0), [x], device.name)[0], expected(x, 2.0) - 1, 1e-5)


WRONG: dict[str, tuple[Callable[[], None], dict[str, int], str]] = {
    "more rows than there are": (lambda: register(rows="OUTPUT0_SIZE_0 + 2"), {}, "outside a tensor"),
    "in front of the output": (lambda: register(SOURCE.replace("INDEX(row, 0)] =", "INDEX(row, 0) - 1] =")), {},
                               "outside a tensor(.|\n)*front of it: 4"),
    "fewer rows": (lambda: register(rows="OUTPUT0_SIZE_0 - 1"), {}, "unwritten"),
    "a rule that promises more columns": (register, {"wide": 2}, "unwritten"),
    "a rule that promises other rows": (register, {"claim": 9}, "contradicts itself"),
    "into its input": (lambda: register(SOURCE.replace("const global", "global").replace(
        "float result", "x[0] = 7; float result")), {}, "into an input"),
    "adds to what was there": (lambda: register(SOURCE.replace("0)] = result", "0)] += result")), {},
                               "depends on what was in memory"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_kernel_that_does_not(device: DeviceInfo, kind: str) -> None:
    prepare, attributes, message = WRONG[kind]
    prepare()
    with pytest.raises(ClinferError, match=message):
        clinfer.check_op(alone(**attributes), [np.ones((5, 3), np.float32)], device.name)


def test_only_custom_operations_are_checked(device: DeviceInfo) -> None:
    with pytest.raises(ClinferError, match="not one custom operation"):
        clinfer.check_op(ov.Model([ops.abs(x := ops.parameter([2], np.float32))], [x]), [np.ones(2, np.float32)],
                         device.name)


# -- files of custom layers -------------------------------------------------------------------------

LAYERS = """<?xml version="1.0"?>
<CustomLayer name="Elu" type="SimpleGPU" version="1">
  <Kernel entry="own_elu">
    <Source filename="elu.cl"/>
    <Define name="ALPHA" type="float" param="alpha" default="1.0"/>
  </Kernel>
  <Buffers>
    <Tensor arg-index="1" type="input" port-index="0" format="BFYX"/>
    <Tensor arg-index="0" type="output" port-index="0" format="ANY"/>
  </Buffers>
  <CompilerOptions options="-DTWICE=2"/>
  <WorkSizes global="X,((Y+3)/4)*4,B*F" local="1,4,1" dim="input,0"/>
</CustomLayer>
<!-- layers stand side by side -->
<CustomLayer name="Unused" type="SimpleGPU" version="1">
  <Kernel entry="own_elu"><Source filename="elu.cl"/></Kernel>
  <WorkSizes global="X"/>
</CustomLayer>
"""
ELU = """
__kernel void own_elu(__global OUTPUT0_TYPE* output, const __global INPUT0_TYPE* input) {
    const int x = get_global_id(0), y = get_global_id(1);
    const int b = get_global_id(2) / INPUT0_DIMS[1], f = get_global_id(2) % INPUT0_DIMS[1];
    if (y >= INPUT0_DIMS[2] || GLOBAL_WORKSIZE[0] != OUTPUT0_DIMS[3]) return;
    const int at = b * INPUT0_PITCHES[0] + f * INPUT0_PITCHES[1] + y * INPUT0_PITCHES[2] + x * INPUT0_PITCHES[3];
    const float value = input[INPUT0_OFFSET + at];
    output[OUTPUT0_OFFSET + at] = (value > 0 ? value : ALPHA * (exp(value) - 1)) * TWICE;
}
"""


@pytest.fixture
def layers(tmp_path: Path) -> Path:
    (tmp_path / "elu.cl").write_text(ELU)
    (tmp_path / "layers.xml").write_text(LAYERS)
    return tmp_path / "layers.xml"


def test_a_custom_layer(device: DeviceInfo, rng: np.random.Generator, layers: Path) -> None:
    x = ops.parameter([-1, 3, -1, -1], np.float32)
    model = ov.Model([ops.elu(x, 0.5)], [x])
    compiled = Core().compile_model(model, device.name, F32 | {"CONFIG_FILE": str(layers)})
    assert compiled.get_property("CONFIG_FILE") == str(layers)
    imported = Core().import_model(compiled.export_model(), device.name)
    for shape in ((1, 3, 5, 7), (2, 3, 4, 1), (1, 3, 9, 2)):
        given = rng.standard_normal(shape).astype(np.float32)
        for each in (compiled, imported):
            assert_close(each(given)[0], 2 * np.where(given > 0, given, 0.5 * np.expm1(given)), 1e-5)
    plain = Core().compile_model(model, device.name, F32)
    assert_close(plain(given)[0], np.where(given > 0, given, 0.5 * np.expm1(given)), 1e-5)


@pytest.mark.parametrize("before, after, message", [
    ("SimpleGPU", "Other", "SimpleGPU"), ("own_elu", "elu_of_mine", "no function of that name"),
    ("elu.cl", "missing.cl", "cannot be read"), ("</CustomLayer>", "", "cannot be read"),
    ('format="BFYX"', 'format="BYXF"', "planar"), ('arg-index="1"', 'arg-index="2"', "numbered from 0"),
    ('arg-index="1"', 'arg-index="0"', "0, 0"),
    ('type="input" ', 'type="data" ', "no input or output"), ("input,0", "weights", "follow no tensor"),
    ("B*F", "B^F", "no expression"), ("CustomLayer", "Layer", "no custom layers"), (' entry="own_elu"', "", "entry"),
    ('<WorkSizes global="X"/>', "", "no WorkSizes"),
])
def test_files_of_custom_layers_with_errors(layers: Path, before: str, after: str, message: str) -> None:
    layers.write_text(LAYERS.replace(before, after))
    with pytest.raises(ClinferError, match=message):
        Core().set_property({"CONFIG_FILE": str(layers)})


def test_an_input_that_the_operation_does_not_have(device: DeviceInfo, layers: Path) -> None:
    layers.write_text(LAYERS.replace('port-index="0"', 'port-index="3"', 1))
    x = ops.parameter([1, 3, 2, 2], np.float32)
    with pytest.raises(ClinferError, match="does not have"):
        Core().compile_model(ov.Model([ops.elu(x, 0.5)], [x]), device.name, F32 | {"CONFIG_FILE": layers})
