"""Where a server listens: REST by uvicorn and gRPC by grpc.aio, both in one event loop."""
from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass

import grpc
import uvicorn

from clinfer.serve.grpc_service import add_service
from clinfer.serve.rest import rest_app
from clinfer.serve.service import Service

_MESSAGE_MARGIN = 1 << 20
"""Bytes by which gRPC's own limit of messages is above ours, so that ours is the one that tells."""
_ONGOING = 1000
"""Connections of REST and requests of gRPC that are taken at a time."""
_WRITING_S = 5.0
"""How long the end waits until clients have read their answers."""


@dataclass(frozen=True)
class Address:
    """Where to listen; a port 0 is any that is free."""

    host: str = "127.0.0.1"
    port: int = 8000
    grpc_port: int = 8001


class Listeners:
    """Answer for a service. To be made, started and closed in the event loop in which they answer.

    `ports`: of REST and gRPC. Errors of the constructor: OSError, RuntimeError where the address is taken.
    """

    def __init__(self, service: Service, address: Address) -> None:
        self._socket = _bound(address.host, address.port)
        self._rest = uvicorn.Server(uvicorn.Config(
            rest_app(service), lifespan="off", log_level="critical", access_log=False, limit_concurrency=_ONGOING,
            timeout_graceful_shutdown=int(_WRITING_S)))
        self._grpc = grpc.aio.server(maximum_concurrent_rpcs=_ONGOING, options=[
            ("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", service.limits.max_body + _MESSAGE_MARGIN),
            ("grpc.max_send_message_length", -1)])
        add_service(service, self._grpc)
        host = f"[{address.host}]" if ":" in address.host else address.host
        grpc_port = self._grpc.add_insecure_port(f"{host}:{address.grpc_port}")
        self.ports: tuple[int, int] = (self._socket.getsockname()[1], grpc_port)
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to answer."""
        await self._grpc.start()
        self._serving = asyncio.create_task(self._rest.serve([self._socket]))

    @property
    def are_open(self) -> bool:
        """Whether they listen."""
        return self._serving is not None and not self._serving.done()

    async def close(self) -> None:
        """Take no further request, and end when those that were taken are answered."""
        self._rest.should_exit = True
        await self._grpc.stop(_WRITING_S)
        if self._serving is not None:
            await self._serving


def _bound(host: str, port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError:
        found.close()
        raise
    return found
