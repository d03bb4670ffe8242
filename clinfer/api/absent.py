"""What OpenVINO's classes have and clinfer's do not: asking for it says why."""
from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from clinfer.base.errors import ClinferError


class AbsentError(ClinferError, AttributeError):
    """A name of OpenVINO's that clinfer does not have; to `hasattr` it is missing like any other."""


@dataclass(frozen=True)
class Absent:
    """Stands in a class for a name that it does not have: `what` is missing, `instead` is what to try."""

    what: str
    instead: str

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AbsentError(f"clinfer has no {self.what}", where=owner.__name__, hint=self.instead)


NO_PLUGINS = Absent("plugins", "available_devices lists the OpenCL devices; one is closed when nobody uses it any more")
