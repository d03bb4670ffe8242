"""What stands for something on a device, of which a copy would be a second owner."""
from __future__ import annotations

from typing import NoReturn

from clinfer.base.errors import WrongTypeError


class OneOfAKind:
    """An object that `copy` and `pickle` refuse, as they do OpenVINO's."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise WrongTypeError(f"{type(self).__name__} objects can be neither copied nor pickled", hint=(
            "let threads share it; another process compiles the model itself, or imports what export_model() gives"))
