"""The REST side of the Open Inference Protocol v2, with its extensions, as an ASGI application."""
from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clinfer.serve.errors import BadRequestError, ServeError, SlowClientError, TooLargeError
from clinfer.serve.exposition import exposition
from clinfer.serve.messages import InferenceResponse
from clinfer.serve.rest_bodies import HEADER_LENGTH, read_request, write_response
from clinfer.serve.service import Service

_WINDOW = {"gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
Endpoint = Callable[[Request], Awaitable[Response]]


def rest_app(service: Service) -> Starlette:
    """The application that answers for a service."""
    rest = _Rest(service)
    models = ("/v2/models/{model}", "/v2/models/{model}/versions/{version}")
    routes = [
        _route("/v2", rest.server), _route("/v2/health/live", rest.live), _route("/v2/health/ready", rest.ready),
        _route("/v2/models/stats", rest.statistics), _route("/metrics", rest.metrics),
        _route("/v2/repository/index", rest.index, "POST"),
        _route("/v2/repository/models/{model}/load", rest.load, "POST"),
        _route("/v2/repository/models/{model}/unload", rest.unload, "POST"),
        *(_route(f"{path}{end}", endpoint, method) for path in models for end, endpoint, method in (
            ("", rest.model, "GET"), ("/ready", rest.model_ready, "GET"), ("/config", rest.model_config, "GET"),
            ("/stats", rest.statistics, "GET"), ("/infer", rest.infer, "POST"))),
    ]
    return Starlette(routes=routes, middleware=[Middleware(GZipMiddleware, minimum_size=1000, compresslevel=1)],
                     exception_handlers={ServeError: _tell, HTTPException: _tell_http, ClientDisconnect: _tell_http})


class _Rest:
    """The endpoints."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def live(self, request: Request) -> Response:
        return JSONResponse({"live": True})

    async def ready(self, request: Request) -> Response:
        is_ready = await self._service.is_ready()
        return JSONResponse({"ready": is_ready}, 200 if is_ready else 503)

    async def model_ready(self, request: Request) -> Response:
        name, version = _named(request)
        is_ready = await self._service.is_model_ready(name, version)
        return JSONResponse({"name": name, "ready": is_ready}, 200 if is_ready else 503)

    async def server(self, request: Request) -> Response:
        return JSONResponse(self._service.server_metadata())

    async def model(self, request: Request) -> Response:
        return JSONResponse(await self._service.model_metadata(*_named(request)))

    async def model_config(self, request: Request) -> Response:
        return JSONResponse(await self._service.model_config(*_named(request)))

    async def statistics(self, request: Request) -> Response:
        return JSONResponse(await self._service.statistics(*_named(request)))

    async def metrics(self, request: Request) -> Response:
        found = await self._service.all_statistics()
        return Response(exposition(found), media_type=CONTENT_TYPE_LATEST)

    async def index(self, request: Request) -> Response:
        wanted = _json_object(await self._body(request))
        return JSONResponse(await self._service.index(wanted.get("ready") is True))

    async def load(self, request: Request) -> Response:
        wanted = _json_object(await self._body(request))
        await self._service.load(_named(request)[0], list(wanted.get("parameters") or ()))
        return JSONResponse({})

    async def unload(self, request: Request) -> Response:
        await self._service.unload(_named(request)[0])
        return JSONResponse({})

    async def infer(self, request: Request) -> Response:
        limits = self._service.limits
        body = await self._body(request)
        wanted, wishes = read_request(body, request.headers.get(HEADER_LENGTH), limits.max_tensor)
        response = await _while_there(request, self._service.infer(*_named(request), wanted))
        content, json_length = write_response(response, wishes)
        if json_length is None:
            return Response(content, media_type="application/json")
        return Response(content, headers={HEADER_LENGTH: str(json_length)}, media_type="application/octet-stream")

    async def _body(self, request: Request) -> bytes:
        limits = self._service.limits
        try:
            return await asyncio.wait_for(_body(request, limits.max_body), limits.upload_s)
        except asyncio.TimeoutError:
            raise SlowClientError("the body did not arrive in time", values={"seconds": limits.upload_s}) from None


def _route(path: str, endpoint: Endpoint, method: str = "GET") -> Route:
    return Route(path, endpoint, methods=[method])


def _named(request: Request) -> tuple[str, str]:
    """The model and the version of a path; "" where there is none."""
    return request.path_params.get("model", ""), request.path_params.get("version", "")


async def _body(request: Request, limit: int) -> bytes:
    """The body, unpacked. Nothing is read of one that says it is too large. Errors: TooLargeError, BadRequestError."""
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > limit:
        raise _too_large(limit)
    encoding = request.headers.get("content-encoding", "identity")
    if encoding not in (*_WINDOW, "identity"):
        raise BadRequestError("a body is packed by gzip or deflate", values={"Content-Encoding": encoding})
    unpacker = zlib.decompressobj(_WINDOW[encoding]) if encoding in _WINDOW else None
    parts, size = [], 0
    async for part in request.stream():
        if unpacker is not None:
            part = _unpacked(unpacker, part, limit - size)
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
    if unpacker is not None and not unpacker.eof:
        raise BadRequestError("the packed body is cut off")
    return b"".join(parts)


def _unpacked(unpacker: Any, part: bytes, left: int) -> bytes:
    """What a part of a body unpacks to; one byte more than is `left` at most."""
    try:
        return bytes(unpacker.decompress(part, left + 1))
    except zlib.error as error:
        raise BadRequestError("the packed body is garbled", values={"reason": error}) from None


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError("the body is larger than the server admits", values={"limit": limit})


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        told = json.loads(body or b"{}")
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise BadRequestError("the body is no JSON object")
    return told


async def _while_there(request: Request, answering: Coroutine[Any, Any, InferenceResponse]) -> InferenceResponse:
    """What is computed for a client whose body was read, unless the client goes: then the computing is cancelled.

    Errors: ClientDisconnect, those of the computing.
    """
    computing, leaving = asyncio.create_task(answering), asyncio.create_task(_leaving(request))
    try:
        await asyncio.wait((computing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not computing.done():
            raise ClientDisconnect
        return computing.result()
    finally:
        computing.cancel()
        leaving.cancel()


async def _leaving(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _tell(request: Request, error: Exception) -> Response:
    assert isinstance(error, ServeError)
    headers = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    if isinstance(error, SlowClientError):
        headers["Connection"] = "close"
    return JSONResponse({"error": str(error)}, error.status, headers)


async def _tell_http(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)
    return JSONResponse({"error": "the client has gone"}, 499)
