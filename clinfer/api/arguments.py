"""Arguments of public methods: those to which OpenVINO's overloads give different names, and checks of the others."""
from __future__ import annotations

from typing import Any

from clinfer.base.errors import ClinferError, WrongTypeError


def only(method: str, **given: Any) -> Any:
    """The value of the only argument that was given; None without any. Errors: WrongTypeError for more than one."""
    found = {name: value for name, value in given.items() if value is not None}
    if len(found) > 1:
        raise WrongTypeError(f"{method} was given arguments that stand for each other", where=method,
                             values=found, hint=f"give one of {', '.join(given)}")
    return next(iter(found.values()), None)


def check_callback(callback: object, where: str) -> None:
    """Raise unless it can be called."""
    if not callable(callback):
        raise WrongTypeError("a callback must be callable", where=where, values={"given": type(callback).__name__})


def seconds(timeout: Any) -> float:
    """A time to wait, given in milliseconds. Errors: what is no number, or below 0."""
    if not isinstance(timeout, int | float):
        raise WrongTypeError("a time to wait is a number of milliseconds", where="infer request",
                             values={"given": repr(timeout)})
    if timeout < 0:
        raise ClinferError("a time to wait begins at 0 milliseconds", where="infer request",
                           values={"timeout": timeout})
    return timeout / 1e3
