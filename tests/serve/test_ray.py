"""`clinfer serve` as it is used: one server on a Ray of its own, asked by Triton's clients, and what befalls it.

Left out where Ray is not installed (`pip install clinfer[serve]`).
"""
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

pytest.importorskip("ray.serve")
pytest.importorskip("geventhttpclient")

import tritonclient.grpc as triton
import tritonclient.http
from tritonclient.utils import InferenceServerException

from tests.serve.losing_server import LOSSES, NEVER, ROOT

pytestmark = pytest.mark.slow
STARTED_S, ENDED_S, REPLACED_S, STUCK_S = 180, 60, 120, 300


class Server:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str], rest: str, grpc: str, losses: Path) -> None:
        self.process, self.rest, self.grpc, self.losses = process, rest, grpc, losses
        self.client = triton.InferenceServerClient(grpc)

    def scores(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(self.client.infer("scores", [given("x", values, "FP32")]).as_numpy("y"))

    def count(self, times: int) -> float:
        inputs = [given("x", np.zeros(4, np.float32), "FP32"), given("n", np.array(times), "INT64")]
        return float(self.client.infer("counts", inputs).as_numpy("y")[0])

    def processes(self, application: str) -> list[Any]:
        """Those of a Serve application, the oldest first."""
        import psutil  # Ray brings it along.

        found = []
        for each in psutil.Process(self.process.pid).children(recursive=True):
            # Some end meanwhile.
            with suppress(psutil.Error):
                if each.name().startswith("ray::ServeRepli") and application in "".join(each.cmdline()):
                    found.append(each)
        return sorted(found, key=lambda each: each.create_time())

    def lose(self, status: int, process: int = 0) -> None:
        """Let the device be lost for one process, or for all; see losing_server.py."""
        new = self.losses.with_suffix(".new")
        new.write_text(f"{status} {process}")
        new.replace(self.losses)

    def statistics(self, model: str) -> dict[str, Any]:
        return dict(self.client.get_inference_statistics(model, as_json=True)["model_stats"][0])

    def failures(self, model: str) -> int:
        return int(self.statistics(model)["inference_stats"]["fail"].get("count", 0))


def given(name: str, values: np.ndarray, datatype: str) -> Any:
    tensor = triton.InferInput(name, list(values.shape), datatype)
    tensor.set_data_from_numpy(values)
    return tensor


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(is_so: Callable[[], bool], patience_s: float) -> bool:
    end = time.monotonic() + patience_s
    while not is_so() and time.monotonic() < end:
        time.sleep(0.1)
    return is_so()


@pytest.fixture(scope="module")
def server(models: Path, tmp_path_factory: pytest.TempPathFactory, first_device: str) -> Iterator[Server]:
    repository = tmp_path_factory.mktemp("repository")
    (repository / "broken.onnx").write_bytes(b"nonsense")
    for file in models.glob("centred.*"):
        (repository / file.name).write_bytes(file.read_bytes())
    rest, grpc = free_port(), free_port()
    losses = tmp_path_factory.mktemp("losses") / "losses"
    command = [sys.executable, "-m", "tests.serve.losing_server", "serve", f"{models}/scores.xml",
               f"{models}/counts.xml", "--repository", str(repository), "--port", str(rest), "--grpc-port", str(grpc),
               "--device", first_device, "--replicas", "2", "--queue", "8", "--precision", "f32"]
    log = tmp_path_factory.mktemp("log") / "out.txt"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, text=True, start_new_session=True,
                                   env={**os.environ, "PYTHONPATH": str(ROOT), LOSSES: str(losses)})
    try:
        assert until(lambda: "clinfer: serving" in log.read_text() or process.poll() is not None, STARTED_S)
        assert process.poll() is None, log.read_text()
        yield Server(process, f"127.0.0.1:{rest}", f"127.0.0.1:{grpc}", losses)
    finally:
        process.terminate()
        assert process.wait(ENDED_S) == 0, log.read_text()


def test_many_at_once(server: Server) -> None:
    def ask(seed: int) -> None:
        values = np.random.default_rng(seed).standard_normal((1 + seed % 3, 6)).astype(np.float32)
        exponentials = np.exp(values.astype(np.float64))
        expected = exponentials / exponentials.sum(1, keepdims=True)
        np.testing.assert_allclose(server.scores(values), expected, rtol=0, atol=1e-5)

    before = server.statistics("scores")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(150)))
    after = server.statistics("scores")
    done = {key: int(after[key]) - int(before.get(key, 0)) for key in ("inference_count", "execution_count")}
    assert done["inference_count"] == 300 and done["execution_count"] < 150
    with tritonclient.http.InferenceServerClient(server.rest) as client:
        assert client.is_server_ready() and client.is_model_ready("scores")


def test_only_this_machine_is_listened_to(server: Server) -> None:
    front_end, = server.processes(":front-end")
    ports = {int(each.rpartition(":")[2]) for each in (server.rest, server.grpc)}
    # gRPC's socket is one of IPv6 that takes IPv4.
    found = {(each.laddr.ip.removeprefix("::ffff:"), each.laddr.port) for each in front_end.net_connections()
             if each.laddr.port in ports and each.status == "LISTEN"}
    assert found == {("127.0.0.1", port) for port in ports}


def test_models_come_and_go(server: Server) -> None:
    client = server.client
    client.load_model("centred")
    assert client.is_model_ready("centred")
    with pytest.raises(InferenceServerException, match=r"(?s)could not be loaded.*cannot read the model"):
        client.load_model("broken")
    for name in ("../broken", "/etc/passwd", "..", "centred/../centred"):
        with pytest.raises(InferenceServerException):
            client.load_model(name)
    client.unload_model("centred")
    assert not client.is_model_ready("centred") and client.is_model_ready("scores")
    with pytest.raises(InferenceServerException, match="no such model"):
        client.infer("centred", [given("x", np.zeros((1, 6), np.float32), "FP32")])


def test_a_client_that_vanishes(server: Server) -> None:
    before = server.failures("counts")
    inputs = [given("x", np.zeros(4, np.float32), "FP32"), given("n", np.array(10**9), "INT64")]
    with pytest.raises(InferenceServerException, match="Deadline"):
        server.client.infer("counts", inputs, client_timeout=1.0)
    assert until(lambda: server.failures("counts") == before + 1, 20)
    assert server.count(5) == 5.0


def test_too_many_requests(server: Server) -> None:
    def ask(patience_s: int) -> str:
        inputs = [given("x", np.zeros(4, np.float32), "FP32"), given("n", np.array(10**9), "INT64")]
        try:
            server.client.infer("counts", inputs, timeout=patience_s * 1_000_000)
        except InferenceServerException as error:
            return str(error.status())
        return "answered"

    outcomes: set[str] = set()
    # On a machine that is busy otherwise, the time of the first ones is up before the last ones are there.
    for patience_s in (4, 30):
        if "StatusCode.UNAVAILABLE" not in outcomes:
            with ThreadPoolExecutor(200) as threads:
                outcomes.update(threads.map(ask, [patience_s] * 200))
    assert outcomes == {"StatusCode.UNAVAILABLE", "StatusCode.DEADLINE_EXCEEDED"}
    assert server.count(5) == 5.0


def test_a_replica_that_is_killed(server: Server) -> None:
    replicas = server.processes(":scores:")
    assert len(replicas) == 2
    with _asked(server) as asked:
        replicas[0].kill()
        _check_answers(asked)
    assert until(lambda: len(server.processes(":scores:")) == 2, REPLACED_S)


def test_a_front_end_that_is_killed(server: Server) -> None:
    """Its clients are told so, and it comes back with all models."""
    front_end, = server.processes(":front-end")
    with ThreadPoolExecutor(1) as threads:
        under_way = threads.submit(server.count, 10**9)
        time.sleep(0.5)
        front_end.kill()
        with pytest.raises(InferenceServerException, match="UNAVAILABLE"):
            under_way.result()
    assert until(lambda: _is_answered(server), REPLACED_S)
    with tritonclient.http.InferenceServerClient(server.rest) as client:
        assert client.is_server_ready() and client.is_model_ready("scores")
    assert server.processes(":front-end") != [front_end]
    assert server.count(5) == 5.0


@pytest.mark.parametrize("status", [cl.status_code.INVALID_COMMAND_QUEUE, cl.status_code.DEVICE_NOT_AVAILABLE])
def test_a_device_that_disappears_under_a_replica(server: Server, status: int) -> None:
    """Its requests are computed by another replica, and a new one takes its place."""
    assert until(lambda: len(server.processes(":scores:")) == 2, REPLACED_S)
    lost, _ = server.processes(":scores:")
    with _asked(server) as asked:
        server.lose(int(status), lost.pid)
        _check_answers(asked)
    assert until(lambda: lost not in server.processes(":scores:") and len(server.processes(":scores:")) == 2,
                 REPLACED_S)
    server.losses.unlink()


def test_a_driver_that_never_answers(server: Server) -> None:
    """Requests that it holds end when their time is up, others are computed, and the replica is replaced."""
    assert until(lambda: len(server.processes(":scores:")) == 2, REPLACED_S)
    stuck, _ = server.processes(":scores:")
    server.lose(NEVER, stuck.pid)
    x = given("x", np.zeros((1, 6), np.float32), "FP32")
    with pytest.raises(InferenceServerException, match="too long"):
        while True:
            y = server.client.infer("scores", [x], timeout=2_000_000).as_numpy("y")
            np.testing.assert_allclose(y, np.full((1, 6), 1 / 6), rtol=0, atol=1e-5)
    assert until(lambda: stuck not in server.processes(":scores:") and len(server.processes(":scores:")) == 2, STUCK_S)
    server.losses.unlink()
    with _asked(server) as asked:
        _check_answers(asked)


def test_a_device_that_disappears_under_all_replicas(server: Server) -> None:
    """Requests end with a clear error, the model is not ready, and is again when the device is back."""
    server.lose(int(cl.status_code.DEVICE_NOT_AVAILABLE))
    x = given("x", np.zeros((1, 6), np.float32), "FP32")
    codes = set()
    while "StatusCode.UNAVAILABLE" not in codes:
        with pytest.raises(InferenceServerException, match=r"not ready|were lost|too long") as error:
            server.client.infer("scores", [x], timeout=5_000_000, client_timeout=30.0)
        codes.add(error.value.status())
    assert codes <= {"StatusCode.UNAVAILABLE", "StatusCode.DEADLINE_EXCEEDED"}
    assert not server.client.is_model_ready("scores") and not server.client.is_server_ready()
    server.losses.unlink()
    assert until(server.client.is_server_ready, REPLACED_S)
    assert _is_answered(server) and server.count(5) == 5.0


def test_the_end(server: Server) -> None:
    """The last test of the server: what is under way is computed, what comes is refused, and it ends by itself."""
    with ThreadPoolExecutor(1) as threads:
        under_way = threads.submit(server.count, 40_000)
        time.sleep(0.5)
        server.process.send_signal(signal.SIGTERM)
        refused = until(lambda: not _is_answered(server), 20)
        assert refused and under_way.result() == 40_000.0
    assert server.process.wait(ENDED_S) == 0


@contextmanager
def _asked(server: Server) -> Iterator[list[Future[np.ndarray]]]:
    """Requests that are under way."""
    with ThreadPoolExecutor(4) as threads:
        yield [threads.submit(server.scores, np.zeros((1, 6), np.float32)) for _ in range(300)]


def _check_answers(asked: list[Future[np.ndarray]]) -> None:
    for each in asked:
        np.testing.assert_allclose(each.result(), np.full((1, 6), 1 / 6), rtol=0, atol=1e-5)


def _is_answered(server: Server) -> bool:
    try:
        server.scores(np.zeros((1, 6), np.float32))
    except InferenceServerException:
        return False
    return True
