"""Properties as users give them: names, forms, values, and errors that list what exists."""
from __future__ import annotations

from typing import Any

import pytest

from clinfer.api.config import CompileConfig
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov

hint, streams = ov.properties.hint, ov.properties.streams


@pytest.mark.parametrize(("settings", "name", "value"), [
    ({"INFERENCE_PRECISION_HINT": "f16"}, "INFERENCE_PRECISION_HINT", ov.Type.f16),
    ({hint.inference_precision: ov.Type.f32}, "INFERENCE_PRECISION_HINT", ov.Type.f32),
    (hint.inference_precision(ov.Type.f16), "INFERENCE_PRECISION_HINT", ov.Type.f16),
    ({"INFERENCE_PRECISION_HINT": ov.Type.dynamic}, "INFERENCE_PRECISION_HINT", ov.Type.dynamic),
    ({"PERFORMANCE_HINT": "THROUGHPUT"}, "PERFORMANCE_HINT", hint.PerformanceMode.THROUGHPUT),
    ({"PERFORMANCE_HINT": "THROUGHPUT"}, "NUM_STREAMS", 2),
    ({hint.performance_mode: hint.PerformanceMode.LATENCY}, "NUM_STREAMS", 1),
    ({"NUM_STREAMS": "3"}, "NUM_STREAMS", 3),
    ({streams.num: 4}, "NUM_STREAMS", 4),
    ([streams.num(5), hint.performance_mode(hint.PerformanceMode.THROUGHPUT)], "NUM_STREAMS", 5),
    ({streams.num: streams.Num.AUTO}, "NUM_STREAMS", 1),
    (streams.num(streams.Num.AUTO), "NUM_STREAMS", 1),
    ({"force_implementations": {"conv1": ["b_fs_yx_fsv16", ""]}}, "force_implementations",
     {"conv1": ("b_fs_yx_fsv16", "")}),
    ({"preallocation_ratio": "1.5"}, "preallocation_ratio", 1.5),
    ({"preallocation_bytes": "4096"}, "preallocation_bytes", 4096),
    ({"preallocation_iterations": 0}, "preallocation_iterations", 0),
    ({"execution_order": "out_of_order"}, "execution_order", "out_of_order"),
])
def test_settings_are_read(settings: Any, name: str, value: Any) -> None:
    assert CompileConfig().updated(settings).properties()[name] == value


def test_later_settings_win_and_others_stay() -> None:
    config = CompileConfig().updated({"NUM_STREAMS": 3, "INFERENCE_PRECISION_HINT": "f16"})
    config = config.updated({"INFERENCE_PRECISION_HINT": "f32"})
    assert (config.streams, config.precision) == (3, "f32")


@pytest.mark.parametrize(("settings", "words"), [
    ({"NUM_STREEMS": 3}, ["no property NUM_STREEMS", "NUM_STREEMS = 3", "NUM_STREAMS", "PERFORMANCE_HINT"]),
    ({"NUM_STREAMS": 0}, ["NUM_STREAMS cannot", "given: 0", "1 to 64"]),
    ({"NUM_STREAMS": True}, ["NUM_STREAMS cannot"]),
    ({"NUM_STREAMS": "many"}, ["'many'"]),
    ({"PERFORMANCE_HINT": "SPEED"}, ["'SPEED'", "LATENCY, THROUGHPUT"]),
    ({"PERFORMANCE_HINT": 1}, ["PERFORMANCE_HINT cannot"]),
    ({"INFERENCE_PRECISION_HINT": "f8"}, ["'f8'", "f32, f16, bf16"]),
    ({"INFERENCE_PRECISION_HINT": ov.Type.i8}, ["f32, f16"]),
    ({"force_implementations": {"conv1": "bfyx"}}, ["conv1", "bfyx"]),
    ({"force_implementations": {"conv1": ("nchw", "")}}, ["unknown format 'nchw'", "bfyx"]),
    ({"force_implementations": "conv1"}, ["dictionary"]),
    ({"preallocation_ratio": 0.9}, ["preallocation_ratio", "1 to 10"]),
    ({"preallocation_ratio": "nan"}, ["1 to 10"]),
    ({"preallocation_iterations": -1}, ["whole number"]),
    ({"execution_order": "any"}, ["in_order or out_of_order"]),
    ("NUM_STREAMS", ["dictionary", "str"]),
    (3, ["dictionary", "int"]),
])
def test_wrong_settings(settings: Any, words: list[str]) -> None:
    with pytest.raises(ClinferError) as caught:
        CompileConfig().updated(settings)
    for word in words:
        assert word in str(caught.value)
