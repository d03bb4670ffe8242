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
from ray.serve.config import ProxyLocation
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from clinfer.base.errors import ClinferError
from clinfer.serve import applications
from clinfer.serve.devices import served_devices
from clinfer.serve.front_end import FrontEnd
from clinfer.serve.listening import Address
from clinfer.serve.options import ModelOptions, ServerOptions
from clinfer.serve.sources import check_sources

APPLICATION, _FRONT_END = "clinfer", "front-end"
_HERE = 1e-3
"""How much of the resource that stands for a node is asked for, so that a process is on that node."""
_LOOKED_AFTER_S = 1.0
"""How often Ray Serve asks whether the front end is there: while it is not, nobody is answered."""


@contextmanager
def serving(options: ServerOptions) -> Iterator[ModelOptions]:
    """A server that answers while the context lasts. Its end takes no further inference, computes those under way,
    and lets go of everything.

    Errors: ClinferError where a model cannot be loaded or a port is taken.
    """
    check_sources(options.models)
    for port in (options.port, options.grpc_port):
        _check_free(options.host, port)
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    _join_ray(options)
    try:
        found = _on_devices(options)
        was_there = _start_serve(options)
        try:
            applications.deploy(options.models, found)
            _deploy_front_end(options, found)
            yield found
            _drain(options.drain_s)
        finally:
            _leave_serve(was_there)
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
    # The processes of this Ray inherit these.
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


def _start_serve(options: ServerOptions) -> bool:
    """Start Ray Serve without proxies; whether it was there already, with whatever it serves, which stays as it is."""
    status = serve.status()
    if APPLICATION in status.applications:
        raise ClinferError("clinfer serves on this cluster already", where="serving",
                           values={"address": options.address}, hint="--repository lets a server take further models")
    serve.start(ProxyLocation.Disabled, logging_config={"log_level": "WARNING", "enable_access_log": False})
    return bool(status.proxies or status.applications)


def _deploy_front_end(options: ServerOptions, found: ModelOptions) -> None:
    """Deploy the front end on this node, and wait until it answers."""
    here = ray.get_runtime_context().get_node_id()
    node = next(each for each in ray.nodes() if each["NodeID"] == here)
    deployment = serve.deployment(
        FrontEnd, name=_FRONT_END, num_replicas=1, graceful_shutdown_timeout_s=options.drain_s,
        health_check_period_s=_LOOKED_AFTER_S,
        ray_actor_options={"num_cpus": 0, "resources": {f"node:{node['NodeManagerAddress']}": _HERE}})
    address = Address(options.host, options.port, options.grpc_port)
    bound = deployment.bind(options.models, found, options.repository, options.limits, address)
    serve.run(bound, name=APPLICATION, route_prefix=None).started.remote().result()


def _drain(patience_s: float) -> None:
    """Wait until no inference is under way; none begins any more. Then nobody listens."""
    front_end = serve.get_deployment_handle(_FRONT_END, APPLICATION)
    deadline = time.monotonic() + patience_s
    while any(front_end.broadcast("drain").results()) and time.monotonic() < deadline:
        time.sleep(0.1)
    front_end.broadcast("close").results()


def _leave_serve(was_there: bool) -> None:
    """Delete what is ours; where nothing else was there and nothing else came, end Ray Serve."""
    ours = {APPLICATION, *(each.application for each in applications.deployed())}
    others = [name for name in serve.status().applications if name not in ours]
    if was_there or others:
        serve.delete(APPLICATION)
        applications.delete(applications.deployed())
    else:
        serve.shutdown()
