"""Errors in what stands on the command line: they end with exit status 2, everything else with 1."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clinfer.base.errors import ClinferError


class UsageError(ClinferError):
    """An option, a name, a shape or an input file that cannot be meant."""

    def __init__(self, what: str, *, values: dict[str, object] | None = None, hint: str = "") -> None:
        super().__init__(what, where="command line", values=values, hint=hint)


@contextmanager
def told_as_usage(hint: str = "") -> Iterator[None]:
    """Errors of the API that are about what the user wrote, told as such; with another hint, if one is given."""
    try:
        yield
    except ClinferError as error:
        raise UsageError(error.what, values=error.values, hint=hint or error.hint) from None
