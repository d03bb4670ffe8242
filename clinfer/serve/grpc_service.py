"""The gRPC side of the Open Inference Protocol v2."""
from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from tritonclient.grpc import service_pb2

from clinfer.serve.errors import ServeError, TooLargeError, UnsupportedRequestError
from clinfer.serve.grpc_messages import SERVICE, message_of, read_infer, read_message, write_infer
from clinfer.serve.service import Service

_INFER, _STREAM = "ModelInfer", "ModelStreamInfer"


def add_service(service: Service, server: grpc.aio.Server) -> None:
    """Add the protocol's service to a gRPC server. Its methods get bytes, whose number is checked before they are
    decoded."""
    methods = _Methods(service)
    handlers = {}
    for method in SERVICE.methods:
        make = (grpc.stream_stream_rpc_method_handler if method.client_streaming
                else grpc.unary_unary_rpc_method_handler)
        handlers[method.name] = make(getattr(methods, method.name), response_serializer=_serialized)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE.full_name, handlers),))


def _serialized(message: Any) -> bytes:
    return bytes(message.SerializeToString())


class _Methods:
    """The methods of the service, each of which gets bytes. An error is told by its status code and details."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def ModelInfer(self, request: bytes, context: Any) -> Any:
        """One inference."""
        try:
            return await self._infer(request)
        except ServeError as error:
            _tell(error, context)
            return service_pb2.ModelInferResponse()

    async def ModelStreamInfer(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[Any]:
        """Inferences one after the other, in the order of the requests; an error ends its request, not the stream."""
        async for request in requests:
            try:
                yield service_pb2.ModelStreamInferResponse(infer_response=await self._infer(request))
            except ServeError as error:
                yield service_pb2.ModelStreamInferResponse(error_message=str(error))

    async def _infer(self, request: bytes) -> Any:
        limits = self._service.limits
        if len(request) > limits.max_body:
            raise TooLargeError("the message is larger than the server admits", values={"limit": limits.max_body})
        message = read_message(f"{_INFER}Request", request)
        wanted = read_infer(message, limits.max_tensor)
        return write_infer(await self._service.infer(message.model_name, message.model_version, wanted))

    async def _answer(self, method: str, request: bytes, context: Any) -> Any:
        """The answer of a method that is not an inference."""
        try:
            answer = _ANSWERS.get(method)
            if answer is None:
                raise UnsupportedRequestError("this server does not have the method", values={"method": method})
            told = await answer(self._service, read_message(f"{method}Request", request))
        except ServeError as error:
            _tell(error, context)
            told = {}
        return message_of(f"{method}Response", told)


def _method(name: str) -> Callable[[_Methods, bytes, Any], Awaitable[Any]]:
    async def method(self: _Methods, request: bytes, context: Any) -> Any:
        return await self._answer(name, request, context)

    return method


for _each in SERVICE.methods:
    if _each.name not in (_INFER, _STREAM):
        setattr(_Methods, _each.name, _method(_each.name))


async def _server_live(service: Service, message: Any) -> dict[str, Any]:
    return {"live": True}


async def _server_ready(service: Service, message: Any) -> dict[str, Any]:
    return {"ready": await service.is_ready()}


async def _server_metadata(service: Service, message: Any) -> dict[str, Any]:
    return service.server_metadata()


async def _model_ready(service: Service, message: Any) -> dict[str, Any]:
    return {"ready": await service.is_model_ready(message.name, message.version)}


async def _model_metadata(service: Service, message: Any) -> dict[str, Any]:
    return await service.model_metadata(message.name, message.version)


async def _model_config(service: Service, message: Any) -> dict[str, Any]:
    return {"config": await service.model_config(message.name, message.version)}


async def _model_statistics(service: Service, message: Any) -> dict[str, Any]:
    return await service.statistics(message.name, message.version)


async def _index(service: Service, message: Any) -> dict[str, Any]:
    return {"models": await service.index(message.ready)}


async def _load(service: Service, message: Any) -> dict[str, Any]:
    await service.load(message.model_name, tuple(message.parameters))
    return {}


async def _unload(service: Service, message: Any) -> dict[str, Any]:
    await service.unload(message.model_name)
    return {}


_ANSWERS = {
    "ServerLive": _server_live, "ServerReady": _server_ready, "ServerMetadata": _server_metadata,
    "ModelReady": _model_ready, "ModelMetadata": _model_metadata, "ModelConfig": _model_config,
    "ModelStatistics": _model_statistics, "RepositoryIndex": _index, "RepositoryModelLoad": _load,
    "RepositoryModelUnload": _unload,
}


def _tell(error: ServeError, context: Any) -> None:
    context.set_code(grpc.StatusCode[error.code])
    context.set_details(str(error))
    if error.retry_after_s is not None:
        context.set_trailing_metadata([("retry-after", str(error.retry_after_s))])
