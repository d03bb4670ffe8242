"""OpenVINO's own benchmark_app, as it is, with clinfer in OpenVINO's place."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo, available_devices

ROOT = Path(__file__).resolve().parents[2]

# Runs the application once per line of its input, in one process; after each run stands its exit code.
DRIVER = """
import clinfer.drop_in
import shlex, sys
from openvino.tools.benchmark.main import main
from openvino.tools.benchmark.utils.utils import next_step
for line in sys.stdin:
    sys.argv, next_step.step_id = ["benchmark_app", *shlex.split(line)], 0
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException as error:
        code = repr(error)
    print(f"=== {code}", flush=True)
"""

STATIC = (
    "-hint latency -niter 3",
    "-hint none -api sync -niter 3 -no_warmup",
    "-hint throughput -nireq 3 -niter 6 -max_irate 5000",
    "-hint none -api async -nstreams 2 -nthreads 2 -pin YES -niter 3",
    "-hint ctput -niter 3 -inference_only false -latency_percentile 90",
    "-api sync -niter 3 -inference_only false -infer_precision f32",
    "-hint latency -niter 3 -b 4 -ip f16 -op f16",
    "-hint latency -niter 3 -iop image:u8,scores:f16 --mean_values [1,2,3] --scale_values [2,2,2] -layout [NCHW]",
    "-hint latency -niter 3 -i picture.npy -ip f32",
    "-hint none -nstreams 2 -niter 3 -infer_precision f16 -dump_config config.json",
    "-hint none -niter 3 -load_config config.json",
    "-hint latency -niter 0",
    "-hint latency -niter 3 -lfile",
    "-hint latency -niter 3 -cdir cache",
    "-hint latency -niter 3 -report_type no_counters -json_stats -report_folder plain",
    "-hint latency -niter 3 -report_type average_counters -report_folder average",
    "-hint throughput -niter 3 -report_type detailed_counters -json_stats -report_folder detailed",
    "-hint latency -niter 3 -pc -pcsort sort -exec_graph_path graph.xml",
)
DYNAMIC = (
    "-shape [1,3,20,24] -api sync -niter 3",
    "-data_shape [1,3,16,16] -api sync -niter 3",
    "-data_shape [1,3,16,16][2,3,24,16][1,3,7,9] -niter 6 -hint throughput -pcseq",
    "-shape image[1..4,3,?,?] -data_shape image[3,3,20,20] -niter 3 -hint latency -api async",
)


def save_models(folder: Path) -> None:
    """A static and a dynamic model of one small convolution, and a picture for them."""
    ops, random = ov.opset13, np.random.default_rng(5)
    for name, shape in (("static", [1, 3, 32, 32]), ("dynamic", [-1, 3, -1, -1])):
        image = ops.parameter(shape, ov.Type.f32, name="image")
        image.output(0).set_names({"image"})
        image.set_layout(ov.Layout("NCHW"))
        weights = random.standard_normal((8, 3, 3, 3), dtype=np.float32)
        features = ops.relu(ops.convolution(image, weights, [2, 2], [1, 1], [1, 1], [1, 1]))
        scores = ops.softmax(ops.reduce_mean(features, np.array([2, 3]), False), 1)
        scores.output(0).set_names({"scores"})
        ov.save_model(ov.Model([scores], [image], name), folder / f"{name}.xml", compress_to_fp16=False)
    np.save(folder / "picture.npy", random.random((1, 3, 32, 32), dtype=np.float32))


def python(folder: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that finds clinfer; `text` is its input."""
    return subprocess.run([sys.executable, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
                          input=text, capture_output=True, text=True, timeout=300)


def run(folder: Path, lines: list[str]) -> list[str]:
    """What the application printed for each line of options; all must end well."""
    done = python(folder, "-c", DRIVER, text="\n".join(lines))
    assert done.returncode == 0, done.stderr
    *printed, rest = re.split(r"^=== (.*)\n", done.stdout, flags=re.MULTILINE)
    texts, codes = printed[::2], printed[1::2]
    failed = [f"{line}: {code}\n{text}" for line, code, text in zip(lines, codes, texts, strict=True) if code != "0"]
    assert not failed and not rest, "\n".join([*failed, done.stderr])
    return texts


def test_everyday_options(tmp_path: Path, device: DeviceInfo) -> None:
    save_models(tmp_path)
    for reports in ("plain", "average", "detailed"):
        (tmp_path / reports).mkdir()
    lines = [f"-m static.xml -d {device.name} {options}" for options in STATIC]
    lines += [f"-m dynamic.xml -d {device.name} {options}" for options in DYNAMIC]
    printed = run(tmp_path, lines)
    for line, text in zip(lines, printed, strict=True):
        if "-niter 0" not in line:
            assert "Throughput:" in text and f"Execution Devices:['{device.name}']" in text, (line, text)
    by_options = dict(zip([*STATIC, *DYNAMIC], printed, strict=True))
    assert "Start inference synchronously" in by_options[STATIC[1]]
    assert "asynchronously, 3 inference requests" in by_options[STATIC[2]]
    assert "NUM_STREAMS: 2" in by_options[STATIC[3]] and "INFERENCE_NUM_THREADS: 2" in by_options[STATIC[3]]
    assert "[4,3,32,32]" in by_options[STATIC[6]]
    assert "INFERENCE_PRECISION_HINT: <Type: 'float16'>" in by_options[STATIC[9]]
    assert "INFERENCE_PRECISION_HINT: <Type: 'float16'>" in by_options[STATIC[10]]
    assert "Defined 3 tensor groups" in by_options[DYNAMIC[2]]
    check_files(tmp_path, device)


def check_files(folder: Path, device: DeviceInfo) -> None:
    """The files that the options asked for."""
    assert json.loads((folder / "config.json").read_text())[device.name]["NUM_STREAMS"] == "2"
    report = json.loads((folder / "plain" / "benchmark_report.json").read_text())
    assert float(report["execution_results"]["throughput"]) > 0
    assert "Convolution" in (folder / "average" / "benchmark_average_counters_report.csv").read_text()
    detailed = json.loads((folder / "detailed" / "benchmark_detailed_counters_report.json").read_text())
    assert "Convolution" in {node["node_type"] for node in detailed["detailed_performance"][0]["nodes"]}
    layers = ElementTree.parse(folder / "graph.xml").getroot().findall("layers/layer")
    times = {layer.get("type"): layer.find("data").get("execTimeMcs") for layer in layers}  # type: ignore[union-attr]
    assert str(times["Convolution"]).isdecimal()


def test_any_device_and_lists_of_devices(tmp_path: Path, device: DeviceInfo) -> None:
    save_models(tmp_path)
    wanted = device.name
    printed = run(tmp_path, [
        "-m static.xml -hint latency -niter 2 -d AUTO",
        f"-m static.xml -hint latency -niter 2 -d AUTO:{wanted}",
        f"-m static.xml -hint none -niter 2 -d AUTO:{wanted} -nstreams {wanted}:2 -infer_precision {wanted}:f32"])
    assert all(f"Execution Devices:['{wanted}']" in text for text in printed[1:])
    assert "NUM_STREAMS: 2" in printed[2]


def test_the_names_can_be_replaced_by_hand_too(tmp_path: Path) -> None:
    save_models(tmp_path)
    code = ("import sys, openvino, clinfer\n"
            "openvino.Core, openvino.AsyncInferQueue = clinfer.Core, clinfer.AsyncInferQueue\n"
            "from openvino.tools.benchmark.main import main\n"
            "sys.argv = 'benchmark_app -m static.xml -d AUTO -hint throughput -niter 2'.split()\n"
            "main()")
    done = python(tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr
    assert "Throughput:" in done.stdout


@pytest.mark.parametrize(("options", "words"), [
    ("-d MULTI:CPU,GPU", ["MULTI devices do not exist here", "try: compile the model once per device"]),
    ("-d {device} -hint none -infer_precision i8", ["INFERENCE_PRECISION_HINT cannot have this value", "f32, f16"]),
])
def test_what_is_wrong_is_said(tmp_path: Path, options: str, words: list[str]) -> None:
    save_models(tmp_path)
    script = Path(sys.executable).with_name("benchmark_app")
    if not script.exists():
        pytest.skip("the environment has no benchmark_app beside its Python")
    given = options.format(device=available_devices()[0].name).split()
    done = python(tmp_path, "-m", "clinfer.drop_in", str(script), "-m", "static.xml", "-niter", "2", *given)
    assert done.returncode == 1
    for word in words:
        assert word in done.stdout + done.stderr
