"""The README's Python snippets, executed as they are printed, where nothing but the runtime from pip is installed."""
from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from clinfer.runtime.device import available_devices

ROOT = Path(__file__).resolve().parent.parent

CHECK = """
expected = core.compile_model("model.onnx", "AUTO").create_infer_request().infer(
    [np.full((1, 3, 48, 320), 0.5, np.float32)])[0]
found = np.empty((1, 40, 6625), np.float32)
cl.enqueue_copy(queue, found, taken)
print(core.available_devices, np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max())
"""


def snippets(page: Path) -> list[str]:
    """The Python snippets of a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def recogniser(random: np.random.Generator) -> onnx.ModelProto:
    """Pictures of 48 rows to scores of 6,625 letters for every 8 columns."""
    weights = random.standard_normal((3, 6625), dtype=np.float32)
    nodes = [helper.make_node("AveragePool", ["picture"], ["columns"], kernel_shape=[48, 8], strides=[48, 8]),
             helper.make_node("Squeeze", ["columns", "axes"], ["channels"]),
             helper.make_node("Transpose", ["channels"], ["rows"], perm=[0, 2, 1]),
             helper.make_node("MatMul", ["rows", "weights"], ["scores"])]
    graph = helper.make_graph(
        nodes, "recogniser", [helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["n", 3, 48, "width"])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", "columns", 6625])],
        [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(np.array([2]), "axes")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_the_snippets_of_the_readme_run_as_printed(tmp_path: Path, rng: np.random.Generator) -> None:
    if not any(device.platform_name.startswith("Intel") for device in available_devices()):
        pytest.skip("the runtime from pip is not installed")
    onnx.save(recogniser(rng), tmp_path / "model.onnx")
    printed = snippets(ROOT / "README.md")
    assert len(printed) >= 2
    (tmp_path / "no_vendors").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OCL_ICD_VENDORS": str(tmp_path / "no_vendors")}
    done = subprocess.run([sys.executable, "-c", "\n".join([*printed, CHECK])], cwd=tmp_path, env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "['CPU.0']" and lines[-1] == "['CPU.0'] True"
    assert [line.split(maxsplit=1) for line in lines[1:4]] == [
        [str(width), f"(1, {width // 8}, 6625)"] for width in (320, 517, 96)]


LOOKED_UP_IN = ("", "clinfer", "clinfer/ops", "clinfer/kernels")
PLACEHOLDERS = {"package.module"}
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_snippets_of_all_pages_are_python(page: Path) -> None:
    for snippet in snippets(page):
        compile(snippet, str(page), "exec")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_modules_and_files_that_pages_name_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    modules = set(re.findall(r"python -m ([\w.]+)", text)) - PLACEHOLDERS
    lost = [name for name in modules if importlib.util.find_spec(name) is None]
    lost += [name for name in re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|cl|h|md|json|png)|(?:clinfer|tests|bench|examples|"
                                         r"docs)/[\w./-]*)(?::\w+)?`", text)
             if not any((ROOT / folder / name).exists() for folder in LOOKED_UP_IN)]
    assert not lost
