"""The executed graph as an OpenVINO model, and the file that it becomes."""
from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import F32, quantised_model
from tests.api.profiled import branching_model

KEYS = {"layerType", "originalLayersNames", "primitiveType", "execOrder", "execTimeMcs", "outputLayouts",
        "outputPrecisions", "runtimePrecision"}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def profiled(core: Core, device: DeviceInfo) -> CompiledModel:
    return core.compile_model(branching_model(), device.name, {**F32, "PERF_COUNT": True})


def described(model: ov.Model) -> dict[str, dict[str, str]]:
    """rt_info by layer name, in the order of execution."""
    found = {node.get_friendly_name(): {key: value.astype(str) for key, value in node.get_rt_info().items()}
             for node in model.get_ordered_ops()}
    return dict(sorted(found.items(), key=lambda item: int(item[1]["execOrder"])))


def read_file(path: Path) -> tuple[dict[str, dict[str, str]], list[tuple[str, str]]]:
    """Layers with their attributes, and edges between them by name."""
    root = ElementTree.parse(path).getroot()
    layers = list(root.iter("layer"))
    name_of = {layer.attrib["id"]: layer.attrib["name"] for layer in layers}
    edges = [(name_of[edge.attrib["from-layer"]], name_of[edge.attrib["to-layer"]]) for edge in root.iter("edge")]
    data = {layer.attrib["name"]: {**layer.attrib, **next(layer.iter("data")).attrib} for layer in layers}
    return data, edges


def test_the_graph_tells_what_each_layer_became(profiled: CompiledModel, x: np.ndarray) -> None:
    model = profiled.get_runtime_model()
    assert model.get_friendly_name() == "branching"
    rows = described(model)
    assert all(set(row) == KEYS for row in rows.values())
    assert [row["execOrder"] for row in rows.values()] == [str(i) for i in range(len(rows))]
    assert {row["execTimeMcs"] for row in rows.values()} == {"not_executed"}
    product = rows["product"]
    assert product["layerType"] == "MatMul"
    assert product["originalLayersNames"] == "product,biased,positive"
    assert product["primitiveType"] == profiled.program.explain().node("product").kernels[0].name
    assert (product["outputPrecisions"], product["runtimePrecision"]) == ("f32", "f32")
    assert rows["pairs"]["primitiveType"] == "view"
    assert rows["where/count"]["outputPrecisions"] == "i64,i32"
    assert rows["where"]["originalLayersNames"] == rows["where/count"]["originalLayersNames"] == "where"
    assert [rows[name]["layerType"] for name in ("x", "soft_result", "where_result")] == ["Input", "Result", "Result"]
    assert [str(port.get_partial_shape()) for port in model.inputs] == ["[?,5]", "[]"]


def test_times_and_shapes_are_those_of_the_last_inference(profiled: CompiledModel, x: np.ndarray) -> None:
    request = profiled.create_infer_request()
    for deep in (True, False):
        request.infer({"x": x, "deep": np.array(deep)})
        measured = {row.node_name: row for row in request.get_profiling_info()}
        model = profiled.get_runtime_model()
        rows = described(model)
        for name in ("product", "soft", "where"):
            assert rows[name]["execTimeMcs"] == str(measured[name].real_time.microseconds)
        inner = [row.real_time.microseconds for name, row in measured.items() if name.startswith("branch/")]
        assert abs(int(rows["branch"]["execTimeMcs"]) - sum(inner)) <= len(inner)
        assert rows["pairs"]["execTimeMcs"] == rows["x"]["execTimeMcs"] == "not_executed"
        shapes = {node.get_friendly_name(): str(node.get_output_partial_shape(0)) for node in model.get_ordered_ops()}
        assert (shapes["product"], shapes["pairs"], shapes["branch"]) == ("[3,4]", "[6,2]", "[6,2]")


def test_the_graph_becomes_a_file(profiled: CompiledModel, x: np.ndarray, tmp_path: Path) -> None:
    profiled.create_infer_request().infer({"x": x, "deep": np.array(True)})
    model = profiled.get_runtime_model()
    rows = described(model)
    for number, drawn in enumerate((model, model.clone())):
        gc.collect()
        path = tmp_path / f"graph{number}.xml"
        ov.serialize(drawn, path)
        layers, edges = read_file(path)
        assert set(layers) == set(rows)
        for name, row in rows.items():
            assert layers[name]["type"] == row["layerType"]
            assert {key: layers[name][key] for key in KEYS - {"layerType"}} == {
                key: row[key] for key in KEYS - {"layerType"}}
        assert {("x", "product"), ("product", "pairs"), ("branch", "back"), ("back", "soft"),
                ("soft", "soft_result")} <= set(edges)


def test_the_graph_outlives_the_compiled_model(core: Core, device: DeviceInfo) -> None:
    model = core.compile_model(branching_model(), device.name, F32).get_runtime_model()
    gc.collect()
    assert "product" in described(model)


def test_python_ends_while_a_graph_is_held() -> None:
    script = ("from clinfer import Core\nfrom tests.api.profiled import branching_model\n"
              "graph = Core().compile_model(branching_model(), 'AUTO').get_runtime_model()\n")
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, timeout=120, capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_floats_that_are_stored_as_bytes(core: Core, device: DeviceInfo, tmp_path: Path) -> None:
    """Ports have the type of what is stored, and `outputPrecisions` tells what it stands for."""
    compiled = core.compile_model(quantised_model(), device.name, {**F32, "PERF_COUNT": True})
    x = np.linspace(-2, 2, 2 * 16 * 5 * 5, dtype=np.float32).reshape(2, 16, 5, 5)
    expected = compiled(x)[0]
    model = compiled.get_runtime_model()
    told, stored = described(model), {node.get_friendly_name(): str(node.get_output_element_type(0).get_type_name())
                                      for node in model.get_ordered_ops() if node.get_output_size()}
    on_grids = [name for name, info in told.items() if info["outputPrecisions"].startswith("q8(")]
    assert bool(on_grids) == compiled.engine.capabilities.multiplies_bytes
    assert all(stored[name] == "u8" for name in on_grids)
    ov.save_model(model, tmp_path / "graph.xml")
    assert np.array_equal(core.import_model(compiled.export_model(), device.name)(x)[0], expected)
