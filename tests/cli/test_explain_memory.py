"""`clinfer explain --memory`: tables, JSON and the page, which draws every tensor and complains of nothing."""
from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from clinfer.cli.explain_memory import MemoryReport, as_data, explain_memory, print_memory
from clinfer.cli.inputs import InputOrder
from clinfer.cli.memory_page import make_memory_page, write_memory_page
from clinfer.cli.session import ModelOrder
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.cli.browser import NAMES, Page, find_browser
from tests.cli.test_cli import call
from tests.frontend.models import convolution_model, if_model

BROWSER = find_browser()
needs_browser = pytest.mark.skipif(BROWSER is None, reason=f"no browser found: {', '.join(NAMES)}")
SHAPE = "[1,8,24,20]"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "convolution.xml"
    ov.save_model(convolution_model(np.random.default_rng(1)), path, compress_to_fp16=False)
    return path


@pytest.fixture(scope="module")
def report(model: Path, device: DeviceInfo) -> MemoryReport:
    return explain_memory(ModelOrder(model, device.name, "f32"), InputOrder(shapes=(SHAPE,)))


def test_the_report_adds_up(report: MemoryReport) -> None:
    picture = report.picture
    assert report.inputs == {"x": SHAPE} and picture.inputs == 8 * 24 * 20 * 4
    outputs = [t for t in picture.tensors if t.kind == "output"]
    assert len(outputs) == 2 and picture.constants > 0
    assert picture.lower_bound <= picture.peak
    held = {use.allocation_type: use for use in report.types}
    assert set(held) == {"cl_mem"} and held["cl_mem"].native_type == "cl_mem"
    assert picture.constants + picture.inputs + picture.peak <= held["cl_mem"].current <= held["cl_mem"].peak


def test_tables_and_json(report: MemoryReport, capsys: pytest.CaptureFixture[str]) -> None:
    print_memory(report, as_json=False)
    text = capsys.readouterr().out
    for tensor in report.picture.tensors:
        assert f"{tensor.name}{tensor.shape}" in text and str(tensor.nbytes) in text
    for words in ("lower bound", "without sharing", "cl_mem", "x" + SHAPE):
        assert words in text
    strips = re.findall(r" ([.#]+)  (?:tensor|output|scratch) ", text)
    assert len(strips) == len(report.picture.tensors) and len({len(strip) for strip in strips}) == 1
    print_memory(report, as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads(json.dumps(as_data(report)))
    shown = data["pictures"][0]
    assert shown["lower_bound"] == max(shown["live"]) == report.picture.lower_bound


def test_the_command(model: Path, tmp_path: Path) -> None:
    done = call("explain", model, "--device", "CPU", "--shape", SHAPE, "--memory")
    assert done.returncode == 0, done.stderr
    assert "lower bound" in done.stdout and "passed over" not in done.stdout
    done = call("explain", model, "--device", "CPU", "--memory", "--json", "--html", tmp_path / "new" / "page.html")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pictures"] and "wrote" in done.stderr
    assert (tmp_path / "new" / "page.html").stat().st_size > 1000


def test_the_file_holds_everything(report: MemoryReport) -> None:
    text = make_memory_page(report)
    shell = re.sub(r'(<script id="data"[^>]*>).*?(</script>)', r"\1\2", text, flags=re.DOTALL)
    assert not re.search(r"(src|href)\s*=|@import|url\(|fetch\(|https?://(?!www\.w3\.org/2000/svg)", shell)
    assert "default-src 'none'" in text and "@" not in re.sub(r"@media", "", shell)


@needs_browser
def test_every_tensor_is_drawn_where_it_lay(report: MemoryReport, tmp_path: Path) -> None:
    write_memory_page(report, tmp_path / "page.html")
    assert BROWSER is not None
    with Page(BROWSER, tmp_path / "page.html") as page:
        drawn = page.evaluate("[...document.querySelectorAll('#chart .tensor')].map(r => [r.dataset.name, "
                              "+r.getAttribute('x'), +r.getAttribute('width'), +r.getAttribute('height')])")
        tensors = report.picture.tensors
        assert [name for name, *_ in drawn] == [tensor.name for tensor in tensors]
        for one, first in zip(drawn, tensors, strict=True):
            for other, second in zip(drawn, tensors, strict=True):
                assert (one[1] < other[1]) == (first.first < second.first)
                assert one[2] * (second.last - second.first + 1) == pytest.approx(
                    other[2] * (first.last - first.first + 1))
                if min(one[3], other[3]) > 1:
                    assert one[3] * second.nbytes == pytest.approx(other[3] * first.nbytes, rel=1e-3)
        page.evaluate("document.querySelector('#chart .tensor').id = 'wanted'")
        page.click("#wanted")
        assert page.evaluate("document.querySelector('#chosen').textContent") == tensors[0].name
        assert page.errors == []


@needs_browser
def test_bodies_are_chosen_from_a_list(tmp_path: Path, rng: np.random.Generator) -> None:
    ov.save_model(if_model(rng), tmp_path / "if.xml", compress_to_fp16=False)
    report = explain_memory(ModelOrder(tmp_path / "if.xml", "CPU"), InputOrder())
    write_memory_page(report, tmp_path / "page.html")
    assert BROWSER is not None
    with Page(BROWSER, tmp_path / "page.html", dark=True) as page:
        names = page.evaluate("[...document.querySelectorAll('#picture option')].map(o => o.textContent)")
        assert names == ["the model", report.picture.bodies[0][0]]
        page.evaluate("$('picture').value = '1'; $('picture').dispatchEvent(new Event('change'))")
        assert page.evaluate("document.querySelectorAll('#chart .tensor').length") == len(
            report.picture.bodies[0][1].tensors)
        assert page.errors == []
