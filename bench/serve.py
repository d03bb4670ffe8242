"""Serving under load: clinfer beside OpenVINO's CPU plugin in the same Ray Serve application, asked by Locust.

Each engine has a server of its own, and they are loaded in turn, beginning with a model that was never asked: the
figures of round 1 are those of new shapes. Closed loop, `--rounds` times: as many users as `--users`, each of whom
waits for its answer. Open loop: requests at a rate of `--share` of what OpenVINO's server answered in the closed loop
(0: it is left out), whether or not earlier ones are answered. Then one client asks for a small model, by the protocol
and of a bare Ray Serve deployment. Engines compute in the precision that is their own choice, unless one is given.
Usage: python -m bench.serve [ppocr_rec minilm] [--seconds 30] [--rounds 1] [--users 4] [--share 0.8]
       [--precision f32] [--running ENGINE=URL ...] [--json FILE]
Needs `pip install clinfer[serve,bench]`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as op

from bench.models import FILES, MODELS
from bench.serve_load import bodies

ENGINES = ("openvino", "clinfer")
_ROOT = Path(__file__).parents[1]
"""From where Ray's processes import `bench`."""
_PORTS = {"openvino": 18200, "clinfer": 18300}
OPEN_USERS = 64
_SMALL_ROUNDS = 300


@dataclass(frozen=True)
class Row:
    """One load of one server: requests per second that were answered, those that failed, milliseconds."""

    model: str
    engine: str
    loop: str
    asked_per_s: float
    per_s: float
    failed: int
    p50_ms: float
    p99_ms: float
    most_ms: float


def write_models(names: list[str], folder: Path) -> list[Path]:
    """Files of the models, and of a small one, which comes first."""
    x = op.parameter([-1, 6], np.float32, name="x")
    x.output(0).set_names({"x"})
    ov.save_model(ov.Model([op.softmax(x, 1)], [x], "small"), folder / "small.xml")
    paths = [folder / "small.xml"]
    for name in names:
        target = folder / (f"{name}.onnx" if name in FILES else f"{name}.xml")
        if name in FILES:
            target.write_bytes(FILES[name]().read_bytes())
        else:
            ov.save_model(MODELS[name].build(), target, compress_to_fp16=False)
        paths.append(target)
    return paths


@contextmanager
def server(engine: str, paths: list[Path], precision: str = "") -> Iterator[str]:
    """A server while the context lasts; its address."""
    port = _PORTS[engine]
    command = [sys.executable, "-m", "bench.ray_server", engine, *map(str, paths), "--port", str(port),
               "--precision", precision]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, env={**os.environ, "PYTHONPATH": str(_ROOT)}) as process:
        assert process.stdout is not None and process.stdin is not None
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"the server of {engine} did not start")
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.stdin.close()


def load(address: str, model: str, users: int, seconds: int, rate: float = 0.0) -> dict[str, Any]:
    """What Locust measured, as fields of `Row`; `rate`: requests per second of all users together, 0: a closed loop.
    Why requests failed goes to the standard error."""
    environment = {**os.environ, "BENCH_MODEL": model, "BENCH_RATE": str(rate / users)}
    done = subprocess.run([sys.executable, "-m", "locust", "-f", "bench/serve_load.py", "--headless", "--users",
                           str(users), "--spawn-rate", str(users), "--run-time", f"{seconds}s", "--host", address,
                           "--json", "--loglevel", "ERROR"], env=environment, capture_output=True, text=True)
    if not done.stdout.strip():
        raise RuntimeError(f"Locust did not run: {done.stderr}")
    for line in filter(lambda each: each.startswith("failed: "), done.stderr.splitlines()):
        print(line, file=sys.stderr)
    found = json.loads(done.stdout)[0]
    times = np.repeat([float(ms) for ms in found["response_times"]], list(found["response_times"].values()))
    answered = found["num_requests"] - found["num_failures"]
    return {"per_s": answered / (found["last_request_timestamp"] - found["start_time"]),
            "failed": found["num_failures"], "p50_ms": float(np.percentile(times, 50)),
            "p99_ms": float(np.percentile(times, 99)), "most_ms": found["max_response_time"]}


def closed(addresses: dict[str, str], model: str, users: int, seconds: int, rounds: int) -> list[Row]:
    """The closed loop on all servers by turns, each round in the other order."""
    return [Row(model, engine, f"round {number}", 0.0, **load(addresses[engine], model, users, seconds))
            for number in range(1, rounds + 1) for engine in sorted(addresses, reverse=number % 2 == 0)]


def open_loop(addresses: dict[str, str], model: str, rate: float, seconds: int) -> list[Row]:
    """The open loop on all servers."""
    return [Row(model, engine, "open", rate, **load(address, model, OPEN_USERS, seconds, rate))
            for engine, address in addresses.items()]


def _bare(address: str) -> str:
    """Where the bare deployment is asked."""
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + 2}"


def small_request(address: str) -> tuple[float, float]:
    """Median milliseconds of a small request by one client: by the protocol, and of the bare deployment, in turn."""
    body, length = bodies("small", 0)[0]
    asked = [urllib.request.Request(f"{address}/v2/models/small/infer", body, {
        "Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(length)}),
        urllib.request.Request(f"{_bare(address)}/bare", np.zeros((1, 6), np.float32).tobytes())]
    times: list[list[float]] = [[], []]
    for round in range(_SMALL_ROUNDS):
        for number in (0, 1) if round % 2 else (1, 0):
            start = time.perf_counter()
            with urllib.request.urlopen(asked[number], timeout=60) as answer:
                answer.read()
            times[number].append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["ppocr_rec", "minilm"])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--running", nargs="+", default=[], metavar="ENGINE=URL",
                        help="servers of bench.ray_server that run already, with `small` and the models")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--precision", default="")
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--share", type=float, default=0.8)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        addresses = dict(each.split("=", 1) for each in given.running)
        if not addresses:
            paths = write_models(given.models, Path(folder))
            addresses = {engine: servers.enter_context(server(engine, paths, given.precision))
                         for engine in given.engines}
        for model in given.models:
            rows += closed(addresses, model, given.users, given.seconds, given.rounds)
            if given.share:
                answered = [row.per_s for row in rows if (row.model, row.engine) == (model, "openvino")] or [10.0]
                rows += open_loop(addresses, model, given.share * statistics.median(answered), given.seconds)
        small = {engine: small_request(address) for engine, address in addresses.items()}
    for row in rows:
        print(f"{row.model:10} {row.engine:9} {row.loop:7} {row.per_s:7.1f} requests/s  p50 {row.p50_ms:7.1f} ms  "
              f"p99 {row.p99_ms:7.1f} ms  most {row.most_ms:7.1f} ms  failed {row.failed:.0f}")
    for engine, (protocol, bare) in small.items():
        print(f"small request, {engine}: {protocol:.2f} ms, bare deployment {bare:.2f} ms, {protocol - bare:+.2f}")
    if given.json:
        given.json.write_text(json.dumps({"rows": [asdict(row) for row in rows], "small": small}, indent=1))


if __name__ == "__main__":
    main()
