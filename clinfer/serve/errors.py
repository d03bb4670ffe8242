"""What a request may be answered with instead of a result: an HTTP status and a gRPC code for each."""
from __future__ import annotations

from clinfer.base.errors import ClinferError


class ServeError(ClinferError):
    """A request that is not answered by a result.

    `status` is the HTTP status, `code` the name of the gRPC status. `retry_after_s`: the client may try again after
    so many seconds; None: trying the same again is of no use.
    """

    status = 500
    code = "INTERNAL"
    retry_after_s: int | None = None


class BadRequestError(ServeError):
    """The request cannot be meant: names, types, shapes, lengths, JSON."""

    status, code = 400, "INVALID_ARGUMENT"


class UnknownModelError(ServeError):
    """There is no model of that name and version."""

    status, code = 404, "NOT_FOUND"


class SlowClientError(ServeError):
    """The client takes too long to send its request."""

    status, code = 408, "DEADLINE_EXCEEDED"


class TooLargeError(ServeError):
    """A body or a tensor is larger than the server admits."""

    status, code = 413, "RESOURCE_EXHAUSTED"


class UnsupportedRequestError(ServeError):
    """An extension of the protocol that this server does not have."""

    status, code = 501, "UNIMPLEMENTED"


class OverloadedError(ServeError):
    """As many requests wait as the server admits, or it ends."""

    status, code, retry_after_s = 503, "UNAVAILABLE", 1


class NotReadyError(OverloadedError):
    """The model is there, and no replica of it is ready."""


class LostDeviceError(NotReadyError):
    """The device of the replica takes no commands; another replica may answer."""


class TimedOutError(ServeError):
    """The time that the request or the server allows is over; the inference was cancelled."""

    status, code = 504, "DEADLINE_EXCEEDED"
