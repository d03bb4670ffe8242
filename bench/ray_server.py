"""The server that `bench.serve` asks: `clinfer serve`'s application, on clinfer or on OpenVINO's CPU plugin.

Usage: python -m bench.ray_server clinfer|openvino FILE... --port 8100 [--precision f32]. Without a precision it is the
engine's own choice. Says `ready` and ends with its standard input. Behind Ray Serve's own proxy, on the second port
after `--port`, `/bare` is a deployment of the first model without anything of clinfer.serve around it: raw f32 of shape
[1, n] in, raw outputs out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import ray
from ray import serve
from ray.serve.config import HTTPOptions
from starlette.requests import Request
from starlette.responses import Response

import clinfer.serve.compiled
from clinfer.serve.options import ModelOptions, ServerOptions
from clinfer.serve.server import serving
from clinfer.serve.sources import parse_source


class _Compiled:
    """A compiled model of OpenVINO's with what clinfer.serve asks of one besides OpenVINO's own interface."""

    states = ()

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self.engine = self

    def memory_statistics(self) -> dict[str, int]:
        """Nobody counts it."""
        return {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)


class _OpenVinoCore:
    """OpenVINO's Core with its CPU plugin, whatever the device is called."""

    def compile_model(self, path: Path, _device: str, config: dict[str, object]) -> _Compiled:
        return _Compiled(openvino.Core().compile_model(path, "CPU", config))


def use_openvino() -> None:
    """Let the replicas of this process compute with OpenVINO; run in each of Ray's processes when it starts."""
    vars(clinfer.serve.compiled)["Core"] = _OpenVinoCore
    vars(clinfer.serve.compiled)["ServedModel"].check_device = lambda _: None


class _Bare:
    """The model and nothing else."""

    def __init__(self, engine: str, path: Path, precision: str) -> None:
        core = _OpenVinoCore() if engine == "openvino" else clinfer.Core()
        config: dict[str, object] = {"INFERENCE_PRECISION_HINT": precision} if precision else {}
        self._request = core.compile_model(path, "CPU", config).create_infer_request()

    async def __call__(self, request: Request) -> Response:
        given = np.frombuffer(await request.body(), np.float32).reshape(1, -1)
        return Response(b"".join(array.tobytes() for array in self._request.infer([given]).values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=("clinfer", "openvino"))
    parser.add_argument("files", nargs="+")
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--precision", default="")
    given = parser.parse_args()
    if given.engine == "openvino":
        start = ray.init
        ray.init = lambda *where, **how: start(*where, **how, runtime_env={"worker_process_setup_hook": use_openvino})
    start_serve = serve.start
    serve.start = lambda *_, **how: start_serve("HeadOnly", HTTPOptions(port=given.port + 2), **how)
    sources = tuple(map(parse_source, given.files))
    options = ServerOptions(sources, port=given.port, grpc_port=given.port + 1,
                            model=ModelOptions("CPU.0", precision=given.precision))
    with serving(options):
        bare = serve.deployment(_Bare, name="bare", num_replicas=1, ray_actor_options={"num_cpus": 0})
        serve.run(bare.bind(given.engine, sources[0].path, given.precision), name="bare", route_prefix="/bare")
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    # Ray's processes find what they run under the name of its module.
    from bench.ray_server import main as run

    run()
