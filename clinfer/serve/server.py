"""Starting and ending a server: Ray, Ray Serve, the models and the front end."""
from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import ray
from ray import serve
from ray.serve.config import BackpressureConfig, HTTPOptions, gRPCOptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from clinfer.base.errors import ClinferError
from clinfer.serve import applications
from clinfer.serve.devices import served_devices
from clinfer.serve.front_end import FrontEnd
from clinfer.serve.options import ModelOptions, ServerOptions
from clinfer.serve.sources import check_sources

APPLICATION, _FRONT_END = "clinfer", "front-end"
_MESSAGE_MARGIN = 1 << 20
"""Bytes by which Ray's limit of gRPC messages is above ours, so that ours is the one that tells."""
_UPLOAD_S = 30.0
"""What a request may take besides its inference: above all a slow client's sending."""
_ONGOING = 1000
"""Requests that the front end reads or waits for at a time."""


@contextmanager
def serving(options: ServerOptions) -> Iterator[ModelOptions]:
    """A server that answers while the context lasts. Its end takes no further inference, computes those under way,
    and lets go of everything.

    Errors: ClinferError where a model cannot be loaded, a port is taken, or the cluster serves something else.
    """
    check_sources(options.models)
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    _join_ray(options)
    try:
        found = _on_devices(options)
        _start_serve(options)
        try:
            applications.deploy(options.models, found)
            _deploy_front_end(options, found)
            yield found
            _drain(options.drain_s)
        finally:
            _leave_serve()
    finally:
        ray.shutdown()


def _join_ray(options: ServerOptions) -> None:
    if options.address:
        _check_reachable(options.address)
        try:
            ray.init(options.address, log_to_driver=False, logging_level=logging.WARNING)
        except (ConnectionError, ValueError) as error:
            raise ClinferError("the Ray cluster cannot be joined", where="serving", values={
                "address": options.address, "reason": error.__cause__ or error},
                hint="the address that `ray start --head` printed; RAY_AUTH_MODE=token where it asks for a token"
            ) from None
        return
    for port in (options.port, options.grpc_port):
        _check_free(options.host, port)
    # The processes of this Ray inherit them.
    os.environ["RAY_SERVE_GRPC_MAX_MESSAGE_SIZE"] = str(options.limits.max_body + _MESSAGE_MARGIN)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray takes what it runs for work in the background; a server's processes are what others wait for.
    os.environ.setdefault("RAY_worker_niceness", "0")
    ray.init("local", include_dashboard=False, log_to_driver=False, logging_level=logging.WARNING)


def _check_reachable(address: str) -> None:
    """Raise ClinferError where nobody listens at an address of the form HOST:PORT: Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and "/" not in host and port.isdecimal():
        try:
            socket.create_connection((host.strip("[]"), int(port)), 10.0).close()
        except (OSError, OverflowError) as error:
            raise ClinferError("the Ray cluster cannot be reached", where="serving", values={
                "address": address, "reason": error}, hint="the address that `ray start --head` printed") from None


def _check_free(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ClinferError("the server cannot listen there", where="serving", values={
                "address": f"{host}:{port}", "reason": error}, hint="another --host, --port or --grpc-port") from None


def _on_devices(options: ServerOptions) -> ModelOptions:
    """The options of models with the number of replicas: one for each device of each node, if it is not given."""
    ask: Any = ray.remote(num_cpus=0)(served_devices)
    asked = [ask.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote(
        options.model.device) for node in ray.nodes() if node["Alive"]]
    counts, problem = [], None
    for one in asked:
        try:
            counts.append(len(ray.get(one)))
        except ray.exceptions.RayTaskError as error:
            problem = error.cause
    if not counts:
        raise ClinferError("no node has the device", where="serving", values={
            "device": options.model.device, "reason": problem})
    replicas = options.replicas or sum(counts)
    return replace(options.model, replicas=replicas, replicas_per_node=max(max(counts), -(-replicas // len(counts))))


def _start_serve(options: ServerOptions) -> None:
    if serve.status().proxies:
        raise ClinferError("Ray Serve runs on this cluster already, with ports of its own", where="serving",
                           values={"address": options.address}, hint="`serve shutdown` ends it")
    patience = options.limits.timeout_s + _UPLOAD_S
    serve.start("EveryNode" if options.address else "HeadOnly",
                HTTPOptions(host=options.host, port=options.port, request_timeout_s=patience),
                gRPCOptions(port=options.grpc_port, request_timeout_s=patience,
                            grpc_servicer_functions=["clinfer.serve.grpc_service.add_service"]),
                logging_config={"log_level": "WARNING", "enable_access_log": False})


def _deploy_front_end(options: ServerOptions, found: ModelOptions) -> None:
    deployment = serve.deployment(
        FrontEnd, name=_FRONT_END, num_replicas=1, max_ongoing_requests=_ONGOING, max_queued_requests=_ONGOING,
        backpressure_config=BackpressureConfig(retry_after_s=1), ray_actor_options={"num_cpus": 0},
        graceful_shutdown_timeout_s=options.drain_s)
    serve.run(deployment.bind(options.models, found, options.repository, options.limits, options.is_local),
              name=APPLICATION, route_prefix="/")


def _drain(patience_s: float) -> None:
    """Wait until no inference is under way; none begins any more."""
    front_end = serve.get_deployment_handle(_FRONT_END, APPLICATION)
    deadline = time.monotonic() + patience_s
    while any(front_end.broadcast("drain").results()) and time.monotonic() < deadline:
        time.sleep(0.1)


def _leave_serve() -> None:
    """Delete what is ours; where nothing else is served, end Ray Serve."""
    ours = {APPLICATION, *(each.application for each in applications.deployed())}
    others = [name for name in serve.status().applications if name not in ours]
    if others:
        serve.delete(APPLICATION)
        applications.delete(applications.deployed())
    else:
        serve.shutdown()
