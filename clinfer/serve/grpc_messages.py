"""gRPC messages of inference, and answers that are JSON in REST, as messages."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError
from tritonclient.grpc import service_pb2

from clinfer.serve.errors import BadRequestError
from clinfer.serve.messages import InferenceRequest, InferenceResponse, Tensor
from clinfer.serve.parameters import check_tensor_parameters, timeout_of
from clinfer.serve.tensors import check_size, from_binary, from_json, shaped, to_binary

SERVICE = service_pb2.DESCRIPTOR.services_by_name["GRPCInferenceService"]
_CONTENTS = {
    "BOOL": "bool_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
    "UINT64": "uint64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents",
}


def read_message(kind: str, data: bytes) -> Any:
    """The message of that name. Errors: BadRequestError."""
    try:
        return getattr(service_pb2, kind).FromString(data)
    except DecodeError:
        raise BadRequestError("the message cannot be decoded", values={"expected": kind}) from None


def message_of(kind: str, answer: Mapping[str, Any]) -> Any:
    """The message of that name, with the fields that a REST answer has."""
    return ParseDict(dict(answer), getattr(service_pb2, kind)())


def read_infer(message: Any, max_tensor: int) -> InferenceRequest:
    """The request of a ModelInferRequest. Errors: BadRequestError, TooLargeError, UnsupportedRequestError."""
    for each in (*message.inputs, *message.outputs):
        check_tensor_parameters(each.name, parameters_of(each.parameters))
    raw = message.raw_input_contents
    if raw and len(raw) != len(message.inputs):
        raise BadRequestError("raw_input_contents has one entry for each input",
                              values={"inputs": len(message.inputs), "entries": len(raw)})
    tensors = tuple(Tensor(each.name, each.datatype, _values(each, raw[index] if raw else None, max_tensor))
                    for index, each in enumerate(message.inputs))
    return InferenceRequest(tensors, tuple(output.name for output in message.outputs), message.id,
                            timeout_of(parameters_of(message.parameters)))


def write_infer(response: InferenceResponse) -> Any:
    """The ModelInferResponse of a response; its tensors are raw."""
    message = service_pb2.ModelInferResponse(model_name=response.model, model_version=response.version,
                                             id=response.id)
    for output in response.outputs:
        message.outputs.add(name=output.name, datatype=output.datatype, shape=output.values.shape)
        message.raw_output_contents.append(to_binary(output.datatype, output.values))
    return message


def parameters_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The values of InferParameter or ModelRepositoryParameter messages."""
    return {name: getattr(value, value.WhichOneof("parameter_choice") or "string_param")
            for name, value in parameters.items()}


def _values(told: Any, raw: bytes | None, max_tensor: int) -> np.ndarray:
    if raw is not None:
        if told.HasField("contents"):
            raise BadRequestError("an input has its data twice, typed and raw", values={"tensor": told.name})
        return from_binary(told.name, told.datatype, told.shape, raw, max_tensor)
    check_size(told.name, told.datatype, told.shape, max_tensor)
    field = _CONTENTS.get(told.datatype)
    if field is None:
        raise BadRequestError("tensors of this datatype are sent raw",
                              values={"tensor": told.name, "datatype": told.datatype})
    contents = list(getattr(told.contents, field))
    if told.datatype != "BYTES":
        return from_json(told.name, told.datatype, told.shape, contents, max_tensor)
    values = np.empty(len(contents), np.object_)
    values[:] = contents
    return shaped(told.name, values, told.shape)
