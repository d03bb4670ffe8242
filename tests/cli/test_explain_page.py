"""The page of `clinfer explain --html` in a headless browser: it asks for nothing, complains of nothing, draws
every primitive, and tells about those that are clicked."""
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clinfer.cli.comparison import compare, compare_shapes, side_of
from clinfer.cli.explain import Report, explain_model
from clinfer.cli.explain_page import make_page, write_page
from clinfer.cli.inputs import InputOrder
from clinfer.cli.session import ModelOrder
from clinfer.frontend.openvino_import import openvino as ov
from tests.cli.browser import NAMES, Page, find_browser
from tests.frontend.models import convolution_model, if_model

BROWSER = find_browser()
needs_browser = pytest.mark.skipif(BROWSER is None, reason=f"no browser found: {', '.join(NAMES)}")
UGLY = "</script><b>&\"'\u2028 @DATA@"


def report_of(model: ov.Model, folder: Path, timed: bool = True, then: tuple[str, ...] = ()) -> Report:
    ov.save_model(model, folder / "model.xml", compress_to_fp16=False)
    return explain_model(ModelOrder(folder / "model.xml", "CPU"), InputOrder(), timed, then)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    model = convolution_model(np.random.default_rng(1))
    for node in model.get_ordered_ops():
        if node.get_type_name() == "Relu":
            node.set_friendly_name(UGLY)
    return report_of(model, tmp_path_factory.mktemp("convolution"), then=("[1,8,24,40]",))


@pytest.fixture(scope="module")
def opened(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, Path]]:
    path = tmp_path_factory.mktemp("page") / "page.html"
    by_shape = compare_shapes(report)
    assert by_shape is not None
    write_page(report, path, [by_shape, compare(side_of(report), side_of(report))])
    assert BROWSER is not None
    with Page(BROWSER, path) as page:
        yield page, path


@pytest.fixture
def page(opened: tuple[Page, Path]) -> Page:
    """The page as one who opens it finds it, whatever other tests did to it."""
    opened[0].open(opened[1])
    return opened[0]


def test_the_file_holds_everything(report: Report) -> None:
    text = make_page(report)
    shell = re.sub(r'(<script id="data"[^>]*>).*?(</script>)', r"\1\2", text, flags=re.DOTALL)
    assert not re.search(r"(src|href)\s*=|@import|url\(|fetch\(|https?://(?!www\.w3\.org/2000/svg)", shell)
    assert "default-src 'none'" in text and text.count("</script>") == 2


def test_the_parts_of_the_page_are_installed_with_the_package() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert '"clinfer.cli" = ["page/*"]' in project


@needs_browser
def test_every_primitive_is_a_node_and_nothing_complains(report: Report, page: Page) -> None:
    drawn = page.evaluate("[...document.querySelectorAll('#view .node')].map(n => n.dataset.id)")
    assert sorted(drawn) == sorted(node.primitive for node in report.explanation.nodes)
    assert page.evaluate("document.querySelectorAll('#view .edge').length") >= len(drawn) - 1
    assert page.evaluate("document.title") == "model.xml on " + report.subject.device
    assert page.errors == []


@needs_browser
def test_a_click_shows_defused_operations(report: Report, page: Page) -> None:
    for node in report.explanation.nodes:
        page.evaluate(f"choose({_script_text(node.primitive)}, true)")
        page.evaluate("state.chosen = null; state.tab = 'overview'; showPanel()")
        page.evaluate(f"cards.get({_script_text(node.primitive)}).id = 'wanted'")
        page.click("#wanted rect")
        page.evaluate("document.querySelector('#wanted').id = ''")
        assert page.evaluate("document.querySelector('#chosen').textContent") == node.primitive
        shown = page.evaluate("document.querySelector('#panel').textContent")
        for kernel in node.kernels:
            assert kernel.name in shown and node.why in shown
        for name, reason in node.rejected:
            assert name in shown and reason in shown
        for layout in node.outputs:
            assert layout in shown
    assert page.errors == []


@needs_browser
def test_search_finds_and_dims(report: Report, page: Page) -> None:
    page.evaluate("document.querySelector('#search').focus()")
    kernel = next(n.kernels[0].name for n in report.explanation.nodes if n.type == "Convolution")
    page.type(kernel)
    dim = page.evaluate("[...document.querySelectorAll('.node.dim')].map(n => n.dataset.id)")
    expected = [n.primitive for n in report.explanation.nodes if n.type != "Convolution"]
    assert sorted(dim) == sorted(expected)
    assert page.evaluate("document.querySelector('#matches').textContent") == (
        f"{len(report.explanation.nodes) - len(expected)} of {len(report.explanation.nodes)}")
    page.evaluate("document.querySelector('#search').value = ''; search()")
    assert page.evaluate("document.querySelectorAll('.node.dim').length") == 0
    assert page.errors == []


@needs_browser
def test_layers_and_their_fates_are_listed(report: Report, page: Page) -> None:
    page.click("[data-tab=layers]")
    rows = page.evaluate("[...document.querySelectorAll('#panel table .badge')].map(n => n.textContent)")
    assert rows == [layer.fate for layer in report.layers]
    page.click("#panel table .link")
    assert page.evaluate("document.querySelector('#chosen').textContent") == report.layers[0].into
    assert page.errors == []


@needs_browser
def test_the_other_views_show_times_rates_and_both_shapes(report: Report, page: Page) -> None:
    page.press("2")
    spans = page.evaluate("[...document.querySelectorAll('#course .device.kernel')].map(n => n.dataset.id)")
    assert spans == [span.what for span in report.timeline.spans if (span.lane, span.kind) == ("device", "kernel")]
    page.click("#course .device.kernel")
    assert page.evaluate("document.querySelector('#chosen').textContent") == spans[0]
    page.press("3")
    dots = page.evaluate("[...document.querySelectorAll('#roofline .dot')].map(n => n.dataset.id)")
    assert sorted(dots) == sorted(name for name, time in report.times.items() if time.gflops) != []
    page.click("[data-view=compared]")
    titles = page.evaluate("[...document.querySelectorAll('.sides th.one, .sides th.other')].map(n => n.textContent)")
    assert titles[:2] == ["x" + run.inputs["x"] for run in report.runs] and titles[2] == report.subject.model
    ratios = page.evaluate("[...document.querySelectorAll('.compared')[1].querySelectorAll('td:last-child')]"
                           ".map(n => n.textContent)")
    assert ratios == ["1.00"] * sum(time.device_us > 0 for time in report.times.values())
    page.press("1")
    assert page.evaluate("[...document.querySelectorAll('#view .size')].map(n => n.textContent)").count(
        report.times[dots[0]].shapes[0]) >= 1
    assert page.errors == []


@needs_browser
def test_the_keyboard_suffices_and_nothing_is_wider_than_a_narrow_window(report: Report, page: Page) -> None:
    page.press("Escape")
    page.press("ArrowDown")
    page.press("ArrowDown")
    chosen = page.evaluate("document.querySelector('#chosen').textContent")
    assert any(read.primitive == report.explanation.nodes[0].primitive
               for read in report.explanation.node(chosen).inputs)
    page.press("/")
    page.type("3")
    page.press("Escape")
    assert page.evaluate("[state.view, state.query, document.activeElement.id]") == ["graph", "", ""]
    page.resize(420, 800)
    for view in "1234":
        page.press(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert page.errors == []


@needs_browser
def test_the_theme_follows_the_system_and_the_button(page: Page) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.click("#theme")
    dark = page.evaluate(colour)
    page.click("#theme")
    assert light != dark and page.evaluate(colour) == light


@needs_browser
def test_bodies_open_and_close(tmp_path: Path, rng: np.random.Generator) -> None:
    report = report_of(if_model(rng), tmp_path)
    write_page(report, tmp_path / "page.html")
    count = "document.querySelectorAll('#view .node').length"
    assert BROWSER is not None
    with Page(BROWSER, tmp_path / "page.html", dark=True) as page:
        assert page.evaluate(count) == len(report.explanation.nodes)
        page.evaluate("choose('choice', true)")
        page.evaluate("[...document.querySelectorAll('#panel .link')]"
                      ".find(b => b.textContent == 'choice, body 1').click()")
        assert page.evaluate(count) == len(report.explanation.node("choice").bodies[1].nodes)
        page.click("#path button")
        assert page.evaluate(count) == len(report.explanation.nodes)
        assert page.errors == []


@needs_browser
def test_a_page_without_times(tmp_path: Path, rng: np.random.Generator) -> None:
    report = report_of(convolution_model(rng), tmp_path, timed=False)
    write_page(report, tmp_path / "page.html")
    assert BROWSER is not None
    with Page(BROWSER, tmp_path / "page.html") as page:
        assert page.evaluate("document.querySelectorAll('#view .node').length") == len(report.explanation.nodes)
        assert "not timed" in page.evaluate("document.querySelector('#legend').textContent")
        assert page.errors == []


def _script_text(text: str) -> str:
    """A Python text as a script's, in which no quote or backslash is its own."""
    return '"' + "".join(c if c.isalnum() else f"\\u{ord(c):04x}" for c in text) + '"'
