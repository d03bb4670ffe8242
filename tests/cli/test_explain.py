"""`clinfer explain`: what it tells of a program, as data, tables and JSON."""
from __future__ import annotations

import itertools
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from openvino import opset13 as ops
from rich.cells import cell_len, set_cell_size

from clinfer.cli import main
from clinfer.cli.choices import Sorting
from clinfer.cli.comparison import compare, compare_shapes, side_of, side_of_file
from clinfer.cli.explain import Report, all_nodes, as_data, explain_model
from clinfer.cli.explain_tables import Selection, print_report
from clinfer.cli.fates import LayerFate
from clinfer.cli.inputs import InputOrder
from clinfer.cli.session import ModelOrder
from clinfer.cli.trace_file import trace_data
from clinfer.cli.usage import UsageError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.kernels.cost import show_time
from clinfer.network.reports.profiling import IN_PLACE
from clinfer.runtime.device import DeviceInfo
from tests.cli.test_cli import call
from tests.frontend.models import convolution_model, if_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "convolution.xml"
    convolution = convolution_model(np.random.default_rng(1))
    for node in convolution.get_ordered_ops():
        node.set_friendly_name({"Convolution": "conv", "Add": "shift", "Relu": "relu", "ReduceMean": "mean"}.get(
            node.get_type_name(), node.get_friendly_name()))
    ov.save_model(convolution, path, compress_to_fp16=False)
    return path


@pytest.fixture(scope="module")
def report(model: Path, device: DeviceInfo) -> Report:
    return explain_model(ModelOrder(model, device.name, "f32"), InputOrder(shapes=("[1,8,24,20]",)), timed=True)


def test_every_primitive_is_explained(report: Report) -> None:
    nodes = {node.primitive: node for node in report.explanation.nodes}
    assert {"x", "conv", "mean"} <= set(nodes) and not {"shift", "relu"} & set(nodes)
    for node in nodes.values():
        assert (node.kind == "kernel") == bool(node.kernels) == bool(node.why)
        assert len({*dict(node.rejected), *(k.name for k in node.kernels)}) == len(node.rejected) + len(node.kernels)
        for kernel in node.kernels:
            assert kernel.sources and all(file.endswith(".cl") for _, file in kernel.sources)
    conv = nodes["conv"]
    assert conv.type == "Convolution" and len(conv.rejected) > 3
    assert conv.why.startswith(("the least time (", "its formats, at ")) and all(k.cost > 0 for k in conv.kernels)
    assert [i.is_constant for i in conv.inputs] == [False, True, True]
    assert dict(conv.attributes)["pads_begin"] == "(1, 1)"
    assert [name for name, _ in report.explanation.outputs] == ["features", "pooled"]


def test_every_layer_has_a_fate(report: Report) -> None:
    layers = {layer.layer: layer for layer in report.layers}
    assert set(layers) == {"x", "conv", "shift", "relu", "mean"}
    assert layers["conv"] == LayerFate("conv", "Convolution", "kept", "conv", "")
    assert layers["shift"] == LayerFate("shift", "Add", "fused", "conv", "fuse_bias")
    assert layers["relu"] == LayerFate("relu", "Relu", "fused", "conv", "fuse_eltwise")
    removed = {r.primitive: r for r in report.explanation.removed}
    assert removed["shift"].by == "fuse_bias" and removed["shift"].into == "conv"


def test_a_model_without_anything_to_run_is_explained(tmp_path: Path, device: DeviceInfo,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    constant = ov.opset13.constant(np.ones(3, np.float32))
    path = tmp_path / "constant.xml"
    ov.save_model(ov.Model([ov.opset13.result(constant)], []), path)
    print_report(explain_model(ModelOrder(path, device.name, ""), InputOrder(), timed=True), False, Selection())
    assert "device time" in capsys.readouterr().out


def test_times_cover_the_kernels(report: Report) -> None:
    assert report.untimed == "" and report.inputs == {"x": "[1,8,24,20]"}
    for node in report.explanation.nodes:
        if node.kind == "kernel":
            time = report.times[node.primitive]
            assert time.device_us > 0 or time.kernel == IN_PLACE
    assert report.total_us == pytest.approx(sum(t.device_us for t in report.times.values()))


def test_the_data_is_json_with_times_beside_their_nodes(report: Report) -> None:
    data = json.loads(json.dumps(as_data(report), allow_nan=False))
    by_id = {node["primitive"]: node for node in data["nodes"]}
    assert by_id["conv"]["device_us"] == report.times["conv"].device_us
    assert by_id["conv"]["ran"] in [k["name"] for k in by_id["conv"]["kernels"]]
    assert by_id["conv"]["ran_shapes"] == ["[1,16,24,20]"] and by_id["conv"]["weights"].startswith("f32 in ")
    assert [k["name"] for k in by_id["conv"]["kernels"]] == [
        k.name for k in report.explanation.node("conv").kernels]
    assert data["layers"][0]["fate"] == "kept" and data["device"] == report.subject.device


def test_text_in_a_pipe(report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    print_report(report, False, Selection(top=None, sorting=Sorting.order))
    shown = capsys.readouterr().out
    lines = [line.split() for line in shown.splitlines()]
    conv = report.explanation.node("conv")
    assert any(line[:3] == ["conv", "Convolution", report.times["conv"].kernel] for line in lines)
    estimate = show_time(conv.kernels[0].cost).split()
    assert any(line[:4] == ["conv", conv.kernels[0].name, *estimate] for line in lines)
    assert ["shift", "Add", "fused", "conv", "fuse_bias"] in lines
    for kernel, reason in conv.rejected:
        assert any(line and line[0] == kernel and " ".join(line).find(" ".join(reason.split())) > 0 for line in lines)
    assert "\x1b" not in shown and not set(shown) & set("│┃━─")


def listed(shown: str) -> list[str]:
    """The first cells of the first table."""
    lines = shown.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("primitive "))
    end = next(number for number, line in enumerate(lines) if line.startswith("what ") or "more primitives" in line)
    return [line.split()[0] for line in lines[first + 1:end]]


def test_the_costliest_come_first(report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    names = [name for name, _ in all_nodes(report.explanation)]
    for sorting, key in ((Sorting.time, lambda name: -report.times[name].device_us),
                         (Sorting.host, lambda name: -report.times[name].host_us), (Sorting.order, names.index),
                         (Sorting.name, str), (Sorting.type, lambda name: report.explanation.node(name).type)):
        for top in (1, 2, len(names), 1000):
            print_report(report, False, Selection(top, sorting))
            shown = capsys.readouterr().out
            assert listed(shown) == sorted(names, key=key)[:top], sorting
            assert (f"{len(names) - top} more primitives" in shown) == (top < len(names))


@pytest.mark.parametrize("top", [10, None])
def test_80_columns_are_enough_and_nothing_is_cut_off(top: int | None, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    model = convolution_model(np.random.default_rng(1))
    for node in model.get_ordered_ops():
        node.set_friendly_name(f"/model/backbone/stage.12/layers.3/block/{node.get_friendly_name()}/語語語")
    ov.save_model(model, tmp_path / "long_names.xml", compress_to_fp16=False)
    report = explain_model(ModelOrder(tmp_path / "long_names.xml", "CPU", "f32"),
                           InputOrder(shapes=("[1,8,24,20]",)), timed=True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    print_report(report, False, Selection(top, Sorting.time))
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in capsys.readouterr().out.splitlines()]
    assert max(cell_len(line) for line in lines) <= 80
    assert "costliest primitives" in " ".join(lines[:4])
    assert "…" not in "".join(lines)
    width = next(line.index("type") for line in lines if line.startswith("primitive "))
    column = "".join(set_cell_size(line, width).strip() for line in lines)
    for name, _ in list(all_nodes(report.explanation))[:10]:
        assert name in column


@pytest.mark.parametrize("name", ["conv", "shift"])
def test_one_layer_in_full(report: Report, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_report(report, False, Selection(layer=name))
    shown = capsys.readouterr().out
    for word in ("chosen for", report.explanation.node("conv").why, "passed over", "device time", "f32 in ",
                 "pads_begin = (1, 1)", "shift (Add)", "constant"):
        assert word in shown, word


def test_a_table_on_a_terminal(report: Report, monkeypatch: pytest.MonkeyPatch,
                               capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_report(report, False, Selection())
    assert "─" in capsys.readouterr().out


def test_the_timeline_has_what_ran_in_its_order(report: Report) -> None:
    spans = report.timeline.spans
    kernels = [span for span in spans if span.kind == "kernel"]
    assert [span.what for span in kernels] == [span.what for span in spans if span.kind == "launch"]
    assert {span.what for span in kernels} == {name for name, time in report.times.items() if time.device_us}
    for before, after in itertools.pairwise(kernels):
        assert before.end_ns <= after.start_ns
    waits = [span for span in spans if span.kind == "wait"]
    assert spans[0].start_ns == 0 and report.timeline.length_ns >= waits[-1].end_ns >= kernels[0].start_ns
    assert not any(span.kind == "plan" for span in spans)
    events = trace_data(report)["traceEvents"]
    told = [(event["ts"], event["dur"]) for event in events if event["ph"] == "X"]
    assert told == [(span.start_ns / 1e3, span.duration_ns / 1e3) for span in spans]
    assert {event["tid"] for event in events if event["ph"] == "X"} == {1, 2}
    conv = next(event for event in events if event["name"] == "conv")
    assert conv["args"]["kernel"] == report.times["conv"].kernel and conv["args"]["shapes"] == "[1,16,24,20]"


def test_rates_are_of_operations_and_bytes(report: Report) -> None:
    conv = report.times["conv"]
    assert conv.flops == 2 * 3 * 3 * 8 * 16 * 24 * 20
    assert conv.moved_bytes == 4 * (8 * 24 * 20 + 16 * 24 * 20 + 16 * 8 * 3 * 3 + 16)
    assert conv.gflops == pytest.approx(conv.flops / conv.device_us / 1e3)
    assert conv.gbytes == pytest.approx(conv.moved_bytes / conv.device_us / 1e3)


def test_two_runs_are_compared(model: Path, report: Report, device: DeviceInfo, tmp_path: Path,
                               monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "before.json"
    kept.write_text(json.dumps(as_data(report)), encoding="utf-8")
    for row in compare(side_of(report), side_of_file(kept)).rows:
        assert row.one == row.other
    monkeypatch.setenv("CLINFER_FORCE_KERNEL", "conv=convolution_ref")
    both = explain_model(ModelOrder(model, device.name, "f32"), InputOrder(shapes=("[1,8,24,20]",)), True,
                         then=("[1,8,24,40]",))
    comparison = compare(side_of(both), side_of_file(kept))
    conv = next(row for row in comparison.rows if row.name == "conv")
    assert conv.one is not None and conv.other is not None
    assert (conv.one.kernel, conv.other.kernel) == ("convolution_ref", report.times["conv"].kernel)
    assert [abs(row.more_us) for row in comparison.rows] == sorted(
        (abs(row.more_us) for row in comparison.rows), reverse=True)
    by_shape = compare_shapes(both)
    assert by_shape is not None and both.runs[1].inputs == {"x": "[1,8,24,40]"}
    shapes = next((row.one, row.other) for row in by_shape.rows if row.name == "conv")
    assert [cost and cost.shapes for cost in shapes] == [("[1,16,24,20]",), ("[1,16,24,40]",)]
    assert by_shape.other.facts["plans made by it"] == "1"
    print_report(both, False, Selection(), [comparison])
    shown = capsys.readouterr().out
    assert f"{conv.other.kernel} -> convolution_ref" in shown and str(kept) in shown


def test_forced_kernels_and_no_times(model: Path, device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_FORCE_KERNEL", "conv=convolution_ref")
    report = explain_model(ModelOrder(model, device.name), InputOrder(), timed=False)
    conv = report.explanation.node("conv")
    assert conv.work == "convolution_ref" and conv.why == "kernel convolution_ref is forced"
    assert report.times == {} and report.untimed == "not asked for" and report.total_us == 0


def test_what_building_for_likely_sizes_costs(tmp_path: Path, device: DeviceInfo, rng: np.random.Generator,
                                              monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    """Two products that share their kernels: twice as many implementations as functions."""
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path / "cache"))
    x = ops.parameter([-1, -1, 96], np.float32, name="x")
    product = x
    for _ in range(2):
        product = ops.matmul(product, ops.constant(rng.standard_normal((96, 96)).astype(np.float32)), False, False)
    ov.save_model(ov.Model([product.output(0)], [x], "products"), tmp_path / "products.xml", compress_to_fp16=False)
    report = explain_model(ModelOrder(tmp_path / "products.xml", device.name, "f32"), InputOrder(), timed=False)
    kernels = [kernel for node in report.explanation.nodes for kernel in node.kernels]
    taken = [kernel.built_for for kernel in kernels]
    assert taken.count("usual sizes") == 2 and "first sizes of 1, others of 1" in taken
    assert len(kernels) == 2 * report.explanation.functions
    assert (report.explanation.built == report.explanation.functions) == all(kernel.build_s for kernel in kernels)
    assert (report.explanation.build_s > 0) == (report.explanation.built > 0)
    print_report(report, False, Selection())
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{len(kernels)}: 2 for usual sizes" in shown
    assert f"{report.explanation.functions}, of which {report.explanation.built} were built now" in shown


def test_bodies_are_explained_and_timed(tmp_path: Path, device: DeviceInfo, rng: np.random.Generator) -> None:
    ov.save_model(if_model(rng), tmp_path / "if.xml", compress_to_fp16=False)
    report = explain_model(ModelOrder(tmp_path / "if.xml", device.name), InputOrder(), timed=True)
    choice = report.explanation.node("choice")
    assert choice.kind == "body" and len(choice.bodies) == 2
    kernels = [[n.primitive for n in body.nodes if n.kind == "kernel"] for body in choice.bodies]
    ran = [all(report.times[f"choice/body{number}/{id}"].device_us > 0 for id in ids)
           for number, ids in enumerate(kernels)]
    assert sorted(ran) == [False, True]


def test_the_command(model: Path, tmp_path: Path) -> None:
    done = call("explain", model, "--device", "CPU", "--no-time", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["untimed"] == "not asked for"
    done = call("explain", model, "--device", "CPU", "--top", 1)
    assert len(listed(done.stdout)) == 1 and "kernels passed over" not in done.stdout
    done = call("explain", model, "--device", "CPU", "--all")
    assert listed(done.stdout)[0] == "x" and "how often" in done.stdout
    page = tmp_path / "deep" / "page.html"
    done = call("explain", model, "--device", "CPU", "--html", page)
    assert done.returncode == 0 and done.stdout == "" and str(page) in done.stderr
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"untimed": "not asked for"}', '{"untimed": "", "times": 3}'])
def test_files_that_are_no_timed_reports_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError):
        side_of_file(tmp_path / "report.json")


@pytest.mark.parametrize(("arguments", "status", "words"), [
    (["--layer", "nobody"], 2, "no such layer or primitive"),
    (["--html", "/proc/nowhere/page.html"], 1, "the page cannot be written"),
    (["--sort", "time"], 2, "--no-time"),
    (["--sort", "host"], 2, "--no-time"),
    (["--then", "[1,8,24,40]", "--trace", "trace.json"], 2, "asked for: --then, --trace"),
    (["--shapes", "--memory"], 2, "with: --memory"),
])
def test_errors(model: Path, arguments: list[str], status: int, words: str, monkeypatch: pytest.MonkeyPatch,
                capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["clinfer", "explain", str(model), "--no-time", *arguments])
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == status and words in capsys.readouterr().err
