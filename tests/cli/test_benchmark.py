"""`clinfer benchmark`: what is measured and told, streams of shapes; no figure is held to a time."""
from __future__ import annotations

import itertools
import json
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from clinfer.api.ports import Ports
from clinfer.cli import measuring
from clinfer.cli.benchmark import BenchmarkOrder, print_benchmark, run_benchmark
from clinfer.cli.inputs import InputOrder
from clinfer.cli.measuring import Latency, Limit
from clinfer.cli.session import ModelOrder
from clinfer.cli.shape_stream import read_shape_stream, shuffled
from clinfer.cli.usage import UsageError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.api.models import softmax_model
from tests.cli.test_cli import call


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "dynamic.xml"
    ov.save_model(softmax_model({"x": [-1, ov.Dimension(2, 4096)]}), path, compress_to_fp16=False)
    return path


@pytest.fixture(autouse=True)
def _short_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "WARM_UP_S", 0.0)


def order(model: Path, device: DeviceInfo, limit: Limit, **more: object) -> BenchmarkOrder:
    return BenchmarkOrder(ModelOrder(model, device.name), InputOrder(seed=3), limit, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("requests", [1, 3])
def test_one_shape(model: Path, device: DeviceInfo, requests: int) -> None:
    report = run_benchmark(order(model, device, Limit(12, None), requests=requests))
    latency = report.latency
    assert latency.count == 12 and report.warm_up >= requests and report.stream is None
    assert 0 < latency.min <= latency.p50 <= latency.p90 <= latency.p99 <= latency.max
    assert report.throughput == pytest.approx(12 / report.seconds)
    # One plan per stream serves every inference: the first, the warm-up and those that were measured.
    assert 1 <= report.plans_made <= report.streams
    assert report.plans_made + report.plans_reused == 1 + report.warm_up + 12
    assert 0 <= report.compiled_bytes <= report.peak_bytes and report.peak_bytes >= 2 * 64 * 4
    assert min(report.read_s, report.compile_s, report.first_ms) > 0


def test_how_far_a_measurement_is() -> None:
    assert Limit(8, None).fraction(2, 0.0) == 0.25
    assert Limit(None, 0.0).fraction(1, 0.0) == Limit(8, 1e-9).fraction(1, 0.0) == 1.0


def test_a_stream_of_shapes(model: Path, device: DeviceInfo) -> None:
    report = run_benchmark(order(model, device, Limit(60, None), shapes=("x=[1/2,16/33/64..80:8]",)))
    stream = report.stream
    assert stream is not None and stream.shapes == stream.reached == 10 and report.latency.count == 60
    assert stream.new is not None and stream.new.count == 9
    assert stream.seen is not None and stream.seen.count == 51
    assert len({str(t.shape) for t in stream.times}) == 9 and all(re.fullmatch(r"\[[12],\d\d\]", t.shape["x"])
                                                                  for t in stream.times)
    # Every new shape is planned once, and never again.
    assert report.plans_made == 10
    assert all(t.first.plans_made == 1 and t.hits == t.seen for t in stream.times)
    assert all(sum(t.first.primitives.values()) == sum(stream.times[0].first.primitives.values()) > 0
               for t in stream.times)
    assert report.peak_bytes - report.compiled_bytes >= sum(t.first.grown_bytes for t in stream.times)
    assert stream.ratio is not None and stream.ratio > 0


def test_a_stream_may_be_cut_short(model: Path, device: DeviceInfo) -> None:
    stream = run_benchmark(order(model, device, Limit(3, None), shapes=("[1,16..512:8]",))).stream
    assert stream is not None and stream.shapes == 63 and 1 <= stream.reached <= 4


def test_what_is_printed_in_a_pipe_and_as_json(model: Path) -> None:
    plain = call("benchmark", model, "--device", "CPU", "--iterations", "5", "--shapes", "[1,16/32/48]")
    assert plain.returncode == 0, plain.stderr
    for word in ("compile", "first inference", "warm-up, not measured", "throughput", "latency p50 / p90 / p99",
                 "device memory", "execution plans", "new shape", "new / seen", "hits", "bytes grown", "1 plan, "):
        assert word in plain.stdout, word
    assert "\x1b" not in plain.stdout + plain.stderr and not set(plain.stdout) & set("│┃━╭")
    done = call("benchmark", model, "--device", "CPU", "--seconds", "0.05", "--json")
    report = json.loads(done.stdout)
    assert report["latency"]["p50"] > 0 and report["shapes"] == {"x": "[1,64]"} and done.stderr == ""


@pytest.mark.parametrize(("arguments", "words"), [
    (["--shapes", "[1,5000]"], "two shapes|bounds"), (["--shapes", "[1,16]"], "two shapes"),
    (["--shapes", "[1,16..9]"], "empty or too long"), (["--shapes", "[1,16..64:0]"], "empty or too long"),
    (["--shapes", "[1,16|32]"], "not written so"), (["--shapes", "[1..40,16..400]"], "too long"),
    (["--shapes", "[1,2,3/4]"], "wrong rank"), (["--shapes", "y=[1,2/3]"], "no input 'y'"),
    (["--shapes", "[1,2/3]", "--requests", "2"], "one inference at a time"),
    (["--shapes", "[1,2/3]", "--shape", "[1,4]"], "a shape and a stream"),
    (["--shapes", "[1,2/3]", "--input", "x.npy"], "random inputs"),
])
def test_wrong_streams(model: Path, arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch,
                       capsys: pytest.CaptureFixture[str]) -> None:
    from clinfer.cli import main
    monkeypatch.setattr(sys, "argv", ["clinfer", "benchmark", str(model), *arguments])
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 2 and re.search(words, capsys.readouterr().err)


def test_shapes_of_a_list() -> None:
    ports = Ports.of(softmax_model({"x": [1, -1, -1]}))
    assert read_shape_stream(ports, ("1x2x3,1x40x5,1x2x3",)) == [{0: (1, 2, 3)}, {0: (1, 40, 5)}]
    assert read_shape_stream(ports, ("x=1x2x3,1x40x5",)) == [{0: (1, 2, 3)}, {0: (1, 40, 5)}]
    with pytest.raises(UsageError, match="not written so"):
        read_shape_stream(ports, ("1x2x3,1x40x",))
    with pytest.raises(UsageError, match="too long"):
        read_shape_stream(ports, (",".join(["1x2x3"] * 1001),))


def test_what_was_done_is_told_as_json(model: Path) -> None:
    done = call("benchmark", model, "--device", "CPU", "--iterations", "6", "--json", "--shapes", "1x16,2x16,2x40")
    times = json.loads(done.stdout)["stream"]["times"]
    assert times and all(t["first"]["plans_made"] == 1 and t["first"]["primitives"] for t in times)


def test_streams_of_several_inputs_go_together() -> None:
    ports = Ports.of(softmax_model({"a": [1, -1], "b": [-1, 3]}))
    steps = read_shape_stream(ports, ("a=[1,4/5/6]", "b=[1..3,3]"))
    assert steps == [{0: (1, 4), 1: (1, 3)}, {0: (1, 5), 1: (2, 3)}, {0: (1, 6), 1: (3, 3)}]
    with pytest.raises(UsageError, match="as many shapes"):
        read_shape_stream(ports, ("a=[1,4/5/6]", "b=[1/2,3]"))


def test_the_order_of_a_stream_follows_the_seed(rng: np.random.Generator) -> None:
    seed, count = int(rng.integers(1 << 30)), int(rng.integers(2, 40))
    one, other = ([*itertools.islice(shuffled(count, np.random.default_rng(seed)), 500)] for _ in range(2))
    assert one == other
    assert set(Counter(one)) <= set(range(count)) and {*one, 0} == set(range(count))


def test_percentiles(rng: np.random.Generator) -> None:
    samples = (rng.permutation(101) + 1.0).tolist()
    latency = Latency.of(samples)
    assert latency == Latency(101, 1.0, 51.0, 51.0, 91.0, 100.0, 101.0)
    assert Latency.of([]) is None


def test_limits() -> None:
    assert not Limit(None, 0.0).reached(0, 0.0) and Limit(None, 0.0).reached(1, 0.0)
    assert Limit(3, None).reached(3, 0.0) and not Limit(3, None).reached(2, 0.0)
    assert Limit(4, None).fraction(1, 0.0) == 0.25 and Limit(4, 1e-9).fraction(1, 0.0) == 1.0


def test_the_bar_is_for_terminals_only(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with measuring.progress(Limit(2, None), "measuring") as tick:
        tick(1)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with measuring.progress(Limit(2, None), "measuring") as tick:
        tick(1)
    shown = capsys.readouterr()
    assert shown.out == "" and "measuring" in shown.err


def test_a_table_on_a_terminal(model: Path, device: DeviceInfo, monkeypatch: pytest.MonkeyPatch,
                               capsys: pytest.CaptureFixture[str]) -> None:
    report = run_benchmark(order(model, device, Limit(2, None)))
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_benchmark(report, as_json=False)
    assert "─" in capsys.readouterr().out
