"""Parameters of requests and tensors: those of the protocol's extensions that are known, and those refused."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clinfer.serve.errors import BadRequestError, UnsupportedRequestError

_REFUSED = {"shared_memory_region": "shared memory", "classification": "classification of outputs",
            "sequence_id": "sequences of requests"}


def check_tensor_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Raise UnsupportedRequestError where a tensor asks for an extension that is not there."""
    _check(parameters, {"tensor": name})


def timeout_of(parameters: Mapping[str, Any]) -> float | None:
    """The seconds that a request allows, of its parameter `timeout` in microseconds; None without one.

    Errors: BadRequestError, UnsupportedRequestError.
    """
    _check(parameters, {})
    timeout = parameters.get("timeout")
    if timeout is None:
        return None
    if type(timeout) is not int or timeout < 0:
        raise BadRequestError("timeout is a number of microseconds", values={"timeout": timeout})
    return timeout / 1e6 if timeout else None


def _check(parameters: Mapping[str, Any], values: dict[str, object]) -> None:
    for parameter, meaning in _REFUSED.items():
        if parameters.get(parameter):
            raise UnsupportedRequestError(f"this server has no {meaning}", values={**values, "parameter": parameter})
