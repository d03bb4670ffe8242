"""Bodies of REST inference requests and their answers: JSON, with raw tensors behind it (the binary extension)."""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, NonNegativeInt, StrictStr, ValidationError

from clinfer.serve.errors import BadRequestError
from clinfer.serve.messages import InferenceRequest, InferenceResponse, Tensor
from clinfer.serve.parameters import check_tensor_parameters, timeout_of
from clinfer.serve.tensors import from_binary, from_json, to_binary, to_json

HEADER_LENGTH = "Inference-Header-Content-Length"
"""The HTTP header that says how many bytes of a body are JSON; what follows are raw tensors."""


class _Input(BaseModel):
    name: StrictStr
    shape: list[NonNegativeInt]
    datatype: StrictStr
    parameters: dict[str, Any] = {}
    data: Any = None


class _Output(BaseModel):
    name: StrictStr
    parameters: dict[str, Any] = {}


class _Request(BaseModel):
    id: StrictStr = ""
    inputs: list[_Input]
    outputs: list[_Output] = []
    parameters: dict[str, Any] = {}


@dataclass(frozen=True)
class Wishes:
    """Which outputs are to be raw: those of `named`, and of the others all or none."""

    named: Mapping[str, bool]
    others: bool

    def is_binary(self, name: str) -> bool:
        return self.named.get(name, self.others)


def read_request(body: bytes, header_length: str | None, max_tensor: int) -> tuple[InferenceRequest, Wishes]:
    """The request of a body, and how the answer is to be written. `header_length` is that HTTP header's text.

    Errors: BadRequestError, TooLargeError, UnsupportedRequestError.
    """
    split = _json_length(header_length, len(body))
    try:
        told = _Request.model_validate_json(body[:split])
    except ValidationError as error:
        raise BadRequestError("the body is no inference request", values=_first_error(error)) from None
    raw = memoryview(body)[split:]
    tensors, offset = [], 0
    for each in told.inputs:
        values, taken = _values(each, raw[offset:], max_tensor)
        tensors.append(Tensor(each.name, each.datatype, values))
        offset += taken
    if offset != len(raw):
        raise BadRequestError("behind the JSON there is more than the inputs say",
                              values={"bytes": len(raw), "expected": offset})
    for output in told.outputs:
        check_tensor_parameters(output.name, output.parameters)
    named = {output.name: bool(output.parameters.get("binary_data", False)) for output in told.outputs}
    wishes = Wishes(named, bool(told.parameters.get("binary_data_output", False)))
    return InferenceRequest(tuple(tensors), tuple(named), told.id, timeout_of(told.parameters)), wishes


def write_response(response: InferenceResponse, wishes: Wishes) -> tuple[bytes, int | None]:
    """The body of an answer, and how many bytes of it are JSON (None: all, no raw tensor follows).

    Errors: BadRequestError.
    """
    outputs, raw = [], []
    for output in response.outputs:
        told: dict[str, Any] = {"name": output.name, "datatype": output.datatype, "shape": list(output.values.shape)}
        if wishes.is_binary(output.name):
            raw.append(to_binary(output.datatype, output.values))
            told["parameters"] = {"binary_data_size": len(raw[-1])}
        else:
            told["data"] = to_json(output.datatype, output.values)
        outputs.append(told)
    answer = {"model_name": response.model, "model_version": response.version, "outputs": outputs}
    if response.id:
        answer["id"] = response.id
    head = json.dumps(answer, separators=(",", ":")).encode()
    return b"".join((head, *raw)), len(head) if raw else None


def _json_length(header: str | None, size: int) -> int:
    if header is None:
        return size
    if not header.isascii() or not header.isdecimal() or int(header) > size:
        raise BadRequestError(f"{HEADER_LENGTH} is the number of bytes of JSON in the body",
                              values={"header": header, "bytes of the body": size})
    return int(header)


def _first_error(error: ValidationError) -> dict[str, object]:
    first = error.errors(include_url=False, include_input=False)[0]
    return {"at": ".".join(map(str, first["loc"])) or "the whole", "reason": first["msg"]}


def _values(told: _Input, raw: memoryview, max_tensor: int) -> tuple[np.ndarray, int]:
    """The values of an input, and how many raw bytes they took."""
    check_tensor_parameters(told.name, told.parameters)
    size = told.parameters.get("binary_data_size")
    if size is None:
        if told.data is None:
            raise BadRequestError("an input has no data", values={"tensor": told.name})
        return from_json(told.name, told.datatype, told.shape, told.data, max_tensor), 0
    if told.data is not None:
        raise BadRequestError("an input has its data twice, in JSON and raw", values={"tensor": told.name})
    if type(size) is not int or not 0 <= size <= len(raw):
        raise BadRequestError("binary_data_size is the number of raw bytes of an input",
                              values={"tensor": told.name, "binary_data_size": size, "bytes left": len(raw)})
    return from_binary(told.name, told.datatype, told.shape, raw[:size], max_tensor), size
