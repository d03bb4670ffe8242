"""Both protocols, asked by Triton's clients as they are, over models in this process."""
from __future__ import annotations

import gzip
import json
import math
import select
import socket
import struct
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("geventhttpclient")

import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

from clinfer.base.errors import ClinferError
from clinfer.cli.top import follow, quantile, rows_of, take_sample
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.serve.compiled import ServedModel
from clinfer.serve.computing import Computing
from clinfer.serve.messages import Description, Limits
from tests.serve.conftest import DATATYPES
from tests.serve.local_server import Addresses, LocalModel, LocalModels, local_server

BF16 = np.dtype(triton_to_np_dtype("BF16"))
LIMITS = Limits(max_body=1 << 16, max_tensor=1 << 15, timeout_s=20.0)


def local_model(path: Path, device: str, version: str = "1") -> LocalModel:
    model = ServedModel(path, device, {"INFERENCE_PRECISION_HINT": "f32"})
    description = Description(path.stem, version, model.device, model.inputs, model.outputs, 4)
    return LocalModel(description, Computing(model, description))


@pytest.fixture(scope="module")
def known(models: Path, first_device: str) -> LocalModels:
    names = ("scores", "kinds", "texts", "counts")
    known = [local_model(models / f"{name}.xml", first_device) for name in names]
    second = local_model(models / "scores.xml", first_device, "2")
    return LocalModels(known, {"scores": second})


@pytest.fixture(scope="module")
def server(known: LocalModels) -> Iterator[Addresses]:
    with local_server(known, LIMITS) as addresses:
        yield addresses


@pytest.fixture(params=["http", "grpc"])
def client(request: pytest.FixtureRequest, server: Addresses) -> Iterator[Any]:
    module = getattr(tritonclient, request.param)
    address = server.rest if request.param == "http" else server.grpc
    with module.InferenceServerClient(address) as client:
        client.module, client.as_json = module, {} if request.param == "http" else {"as_json": True}
        yield client


def given(client: Any, name: str, values: np.ndarray, datatype: str) -> Any:
    tensor = client.module.InferInput(name, list(values.shape), datatype)
    tensor.set_data_from_numpy(values)
    return tensor


def rows(*sizes: int) -> np.ndarray:
    return np.random.default_rng().standard_normal(sizes).astype(np.float32)


def test_answers_are_the_models(client: Any, models: Path) -> None:
    values = rows(3, 6)
    found = client.infer("scores", [given(client, "x", values, "FP32")], request_id="mine")
    expected = ov.Core().compile_model(models / "scores.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(values)[0]
    np.testing.assert_allclose(found.as_numpy("y"), expected, rtol=0, atol=1e-5)
    response = found.get_response()
    told = response if isinstance(response, dict) else {"id": response.id, "model_version": response.model_version}
    assert told["id"] == "mine" and told["model_version"] == "1"


def test_every_datatype(client: Any) -> None:
    values = {name: np.array([[0, 1]], kind) for name, kind in DATATYPES.items()} | {
        "BF16": np.array([[0.0, 1.5]], BF16)}
    inputs = [given(client, name, each, name) for name, each in values.items()]
    found = client.infer("kinds", inputs)
    for name, each in values.items():
        output = found.as_numpy(f"{name}_out")
        assert output.dtype == each.dtype
        np.testing.assert_array_equal(output, np.concatenate([each, each], 1))


def test_texts(client: Any) -> None:
    texts = np.array(["é".encode(), b"", b"\xff\x00x"], np.object_)
    np.testing.assert_array_equal(client.infer("texts", [given(client, "texts", texts, "BYTES")]).as_numpy("same"),
                                  texts[:1])


def test_what_is_told_of_models(client: Any) -> None:
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("scores", "1")
    assert client.get_server_metadata(**client.as_json)["name"] == "clinfer"
    metadata = client.get_model_metadata("scores", **client.as_json)
    assert metadata["inputs"][0]["name"] == "x" and [int(size) for size in metadata["inputs"][0]["shape"]] == [-1, 6]
    config = client.get_model_config("scores", **client.as_json)
    config = config.get("config", config)
    assert config["max_batch_size"] == 4 and config["input"][0]["data_type"] == "TYPE_FP32"
    before = client.get_inference_statistics("scores", **client.as_json)["model_stats"][0]
    client.infer("scores", [given(client, "x", rows(2, 6), "FP32")])
    after = client.get_inference_statistics("scores", **client.as_json)["model_stats"][0]
    assert int(after["inference_count"]) == int(before.get("inference_count", 0)) + 2


def test_models_come_and_go(client: Any, known: LocalModels) -> None:
    client.load_model("scores")
    assert client.infer("scores", [given(client, "x", rows(1, 6), "FP32")], model_version="2") is not None
    client.unload_model("scores")
    assert not client.is_model_ready("scores", "2") and len(known.known) == 4
    with pytest.raises(InferenceServerException, match="no such model to load"):
        client.load_model("centred")
    with pytest.raises(InferenceServerException, match="without files"):
        client.load_model("scores", config="{}")


def asked(client: Any, model: str = "scores", version: str = "", name: str = "x", shape: tuple[int, ...] = (2, 6),
          dtype: type = np.float32, datatype: str = "FP32", outputs: tuple[str, ...] = (), **options: Any) -> Any:
    wanted = [client.module.InferRequestedOutput(output) for output in outputs] or None
    return client.infer(model, [given(client, name, np.zeros(shape, dtype), datatype)], version, wanted, **options)


@pytest.mark.parametrize(("wrong", "told", "status", "code"), [
    ({"model": "nobody"}, "no such model", 404, "NOT_FOUND"),
    ({"model": "..%2fscores"}, "no such model|Not Found", 404, "NOT_FOUND"),
    ({"version": "9"}, "no such model", 404, "NOT_FOUND"),
    ({"name": "z"}, "not the model's", 400, "INVALID_ARGUMENT"),
    ({"dtype": np.int32, "datatype": "INT32"}, "another datatype", 400, "INVALID_ARGUMENT"),
    ({"shape": (2, 7)}, "another shape", 400, "INVALID_ARGUMENT"),
    ({"shape": (6,)}, "another shape", 400, "INVALID_ARGUMENT"),
    ({"outputs": ("z",)}, "no such output", 400, "INVALID_ARGUMENT"),
    ({"shape": (1500, 6)}, "a tensor is larger", 413, "RESOURCE_EXHAUSTED"),
    ({"shape": (3000, 6)}, "larger than the server", 413, "RESOURCE_EXHAUSTED"),
    ({"sequence_id": 1}, "sequences", 501, "UNIMPLEMENTED"),
], ids=str)
def test_wrong_requests(client: Any, wrong: dict[str, Any], told: str, status: int, code: str) -> None:
    with pytest.raises(InferenceServerException, match=told) as error:
        asked(client, **wrong)
    assert error.value.status() in (str(status), f"StatusCode.{code}")
    assert asked(client).as_numpy("y").shape == (2, 6)


def test_time_that_is_up(client: Any) -> None:
    inputs = [given(client, "x", np.zeros(4, np.float32), "FP32"), given(client, "n", np.array(10**9), "INT64")]
    with pytest.raises(InferenceServerException, match="too long"):
        client.infer("counts", inputs, timeout=300_000)
    inputs[1] = given(client, "n", np.array(3), "INT64")
    np.testing.assert_array_equal(client.infer("counts", inputs).as_numpy("y"), np.full(4, 3.0))


def test_too_many_requests(client: Any, known: LocalModels, server: Addresses) -> None:
    known.known[0].is_full = True
    try:
        with pytest.raises(InferenceServerException, match="too many requests"):
            asked(client)
        status, headers, _ = post(server, "/v2/models/scores/infer", body())
        assert status == 503 and headers["Retry-After"] == "1"
    finally:
        known.known[0].is_full = False


def test_models_that_are_not_ready(client: Any, known: LocalModels) -> None:
    known.known[0].is_ready = False
    try:
        assert not client.is_server_ready()
        known.loading = "scores"
        assert client.is_server_ready()
    finally:
        known.known[0].is_ready, known.loading = True, ""


def test_a_stream_of_requests(server: Addresses) -> None:
    answers: list[Any] = []
    with tritonclient.grpc.InferenceServerClient(server.grpc) as client:
        client.module = tritonclient.grpc
        client.start_stream(lambda result, error: answers.append(error or result.as_numpy("y").shape))
        for model, count in (("scores", 2), ("nobody", 2), ("scores", 3)):
            client.async_stream_infer(model, [given(client, "x", rows(count, 6), "FP32")])
        client.stop_stream()
    assert answers[0] == (2, 6) and "no such model" in str(answers[1]) and answers[2] == (3, 6)


# -- REST alone -------------------------------------------------------------------------------------

def post(server: Addresses, path: str, content: bytes, **headers: str) -> tuple[int, Any, bytes]:
    request = urllib.request.Request(f"http://{server.rest}{path}", content,
                                     {name.replace("_", "-"): text for name, text in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def until(is_so: Callable[[], bool]) -> bool:
    """Whether something becomes so before an inference's time would be up."""
    end = time.monotonic() + LIMITS.timeout_s / 2
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)
    return is_so()


def body(**changes: Any) -> bytes:
    tensor = {"name": "x", "shape": [1, 6], "datatype": "FP32", "data": [0, 1, 2, 3, 4, 5], **changes}
    return json.dumps({"inputs": [{key: value for key, value in tensor.items() if value is not None}]}).encode()


RAW = body(data=None, parameters={"binary_data_size": 24})


@pytest.mark.parametrize(("content", "headers", "told"), [
    (b"", {}, "no inference request"),
    (b"{", {}, "no inference request"),
    (b"[" * 100_00, {}, "no inference request"),
    (b'{"inputs": 3}', {}, "no inference request"),
    (body(shape=[1, -6]), {}, "no inference request"),
    (body(shape=[1, 6.5]), {}, "no inference request"),
    (body(shape=[2**62, 2**62]), {}, "larger than the server"),
    (body(datatype="FP31"), {}, "unknown datatype"),
    (body(data=None), {}, "has no data"),
    (body(data=[1, 2]), {}, "another number of values"),
    (body(data=["a"] * 6), {}, "do not fit"),
    (body(data=[None] * 6), {}, "do not fit"),
    (body(data=[1e300] * 6), {}, "do not fit"),
    (body(data=[[1, 2], [3]]), {}, "do not fit"),
    (body(data={"a": 1}), {}, "do not fit"),
    (RAW + bytes(24), {}, "no inference request"),
    (RAW + bytes(20), {"Inference_Header_Content_Length": str(len(RAW))}, "number of raw bytes"),
    (RAW + bytes(30), {"Inference_Header_Content_Length": str(len(RAW))}, "more than the inputs say"),
    (RAW + bytes(24), {"Inference_Header_Content_Length": "99999"}, "number of bytes of JSON"),
    (RAW + bytes(24), {"Inference_Header_Content_Length": "-5"}, "number of bytes of JSON"),
    (body(parameters={"binary_data_size": 24}), {}, "twice"),
    (body(data=None, parameters={"binary_data_size": True}), {}, "number of raw bytes"),
    (body(data=None, parameters={"shared_memory_region": "r"}), {}, "no shared memory"),
    (gzip.compress(body())[:-9], {"Content_Encoding": "gzip"}, "cut off"),
    (b"nothing packed", {"Content_Encoding": "gzip"}, "garbled"),
    (gzip.compress(bytes(1 << 20)), {"Content_Encoding": "gzip"}, "larger than the server"),
    (body(), {"Content_Encoding": "br"}, "gzip or deflate"),
], ids=range(27))
def test_wrong_bodies(server: Addresses, content: bytes, headers: dict[str, str], told: str) -> None:
    status, _, answer = post(server, "/v2/models/scores/infer", content, **headers)
    assert status in (400, 413, 501), answer
    assert told in json.loads(answer)["error"]


def begun(server: Addresses, head: str, model: str = "scores") -> socket.socket:
    """A connection on which the head of an inference was sent."""
    client = socket.create_connection(tuple(server.rest.split(":")), 30)
    client.sendall(f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: here\r\n{head}\r\n\r\n".encode())
    return client


@pytest.mark.parametrize(("head", "part"), [("Content-Length: 2147483648", bytes(1 << 16)),
                                            ("Transfer-Encoding: chunked", b"10000\r\n" + bytes(1 << 16) + b"\r\n")])
def test_bodies_of_gigabytes_are_refused_before_they_are_there(server: Addresses, head: str, part: bytes) -> None:
    with begun(server, head) as client:
        sent, answer = 0, b""
        while not answer and sent < 256 << 20:
            client.sendall(part)
            sent += len(part)
            if select.select([client], [], [], 0.01)[0]:
                answer = client.recv(1 << 16)
    assert answer.split()[1] == b"413" and sent < 8 << 20
    assert post(server, "/v2/models/scores/infer", body())[0] == 200


def test_clients_that_are_slow_or_vanish_keep_nobody_waiting(server: Addresses) -> None:
    slow = begun(server, "Content-Length: 100")
    with begun(server, "Content-Length: 100") as vanished:
        vanished.sendall(b'{"inputs"')
    slow.sendall(b"{")
    assert post(server, "/v2/models/scores/infer", body())[0] == 200
    assert server.service.ongoing == 0
    content = body()
    slow.close()
    with begun(server, f"Content-Length: {len(content)}") as late:
        for at in range(len(content)):
            late.sendall(content[at:at + 1])
        assert late.recv(1 << 16).split()[1] == b"200"
    server.service.limits = replace(LIMITS, upload_s=0.05)
    try:
        with begun(server, "Content-Length: 100") as never:
            answer = b"".join(iter(lambda: never.recv(1 << 16), b""))
    finally:
        server.service.limits = LIMITS
    assert answer.split()[1] == b"408" and b"did not arrive in time" in answer


def test_the_inference_of_a_client_that_vanishes_ends(server: Addresses) -> None:
    content = json.dumps({"inputs": [{"name": "x", "shape": [4], "datatype": "FP32", "data": [0, 0, 0, 0]},
                                     {"name": "n", "shape": [], "datatype": "INT64", "data": [10**9]}]}).encode()
    with begun(server, f"Content-Length: {len(content)}", "counts") as vanished:
        vanished.sendall(content)
        assert until(lambda: server.service.ongoing == 1)
    assert until(lambda: server.service.ongoing == 0)


def test_numbers_in_json(server: Addresses) -> None:
    content = body(data=[[float("nan"), float("inf"), 0.5, 1, 2, 3]])
    status, _, answer = post(server, "/v2/models/scores/infer", content)
    assert status == 200 and np.isnan(json.loads(answer)["outputs"][0]["data"]).all()
    status, _, answer = post(server, "/v2/models/scores/infer", gzip.compress(body()), Content_Encoding="gzip")
    assert status == 200 and len(json.loads(answer)["outputs"][0]["data"]) == 6


def test_raw_texts_that_are_cut_off(server: Addresses) -> None:
    raw = struct.pack("<I", 5) + b"abc"
    head = body(name="texts", shape=[1], datatype="BYTES", data=None, parameters={"binary_data_size": len(raw)})
    status, _, answer = post(server, "/v2/models/texts/infer", head + raw,
                             Inference_Header_Content_Length=str(len(head)))
    assert status == 400 and "cut off" in json.loads(answer)["error"]


def test_metrics(server: Addresses) -> None:
    post(server, "/v2/models/scores/infer", body())
    with urllib.request.urlopen(f"http://{server.rest}/metrics", timeout=30) as response:
        lines = response.read().decode().splitlines()
    counted = next(line for line in lines if line.startswith('clinfer_requests_total{model="scores",outcome="success"'))
    assert float(counted.split()[-1]) >= 1
    assert any(line.startswith('clinfer_request_seconds_bucket{le="+Inf",model="scores"') for line in lines)


def test_top_tells_what_happened_between_two_looks(server: Addresses, capsys: pytest.CaptureFixture[str]) -> None:
    before = take_sample(server.rest)
    for content in (body(), body(), body(name="nobody")):
        post(server, "/v2/models/scores/infer", content)
    now = take_sample(server.rest)
    row = next(row for row in rows_of(before, now) if row.model == "scores")
    old = before.models["scores", "1"]
    assert (row.requests - old.requests, row.failed - old.failed) == (3, 1)
    assert row.requests_per_s == pytest.approx(3 / (now.at - before.at))
    assert row.rows_at_once == 1 and row.device_bytes > 0 and row.ongoing == 0
    assert row.p50_ms is not None and row.p99_ms is not None and 0 < row.p50_ms <= row.p99_ms
    follow(server.rest, 0.01, once=True, as_json=True)
    assert next(each for each in json.loads(capsys.readouterr().out) if each["model"] == "scores")["requests"] >= 3
    with pytest.raises(ClinferError, match="does not answer"):
        take_sample("127.0.0.1:9")


@pytest.mark.parametrize(("latencies", "part", "ms"), [
    ({0.001: 0.0, 0.002: 4.0, math.inf: 0.0}, 0.5, 1.5), ({0.001: 2.0, 0.002: 2.0}, 0.5, 1.0),
    ({0.001: 1.0, math.inf: 9.0}, 0.9, 1.0), ({0.001: 0.0, math.inf: 0.0}, 0.5, None), ({}, 0.5, None)])
def test_quantiles_of_a_histogram(latencies: dict[float, float], part: float, ms: float | None) -> None:
    assert quantile(latencies, part) == (None if ms is None else pytest.approx(ms))


def test_the_end_takes_no_inference(server: Addresses) -> None:
    server.service.is_draining = True
    try:
        assert post(server, "/v2/models/scores/infer", body())[0] == 503
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(f"http://{server.rest}/v2/health/ready", timeout=30)
    finally:
        server.service.is_draining = False
