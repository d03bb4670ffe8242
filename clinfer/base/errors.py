"""The exceptions that users of clinfer see."""
from __future__ import annotations

from collections.abc import Mapping


class ClinferError(RuntimeError):
    """What went wrong, where, with which values, and what to try.

    `where` names the stage, the primitive and the model's layer as far as they are known.
    """

    def __init__(self, what: str, *, where: str = "", values: Mapping[str, object] | None = None,
                 hint: str = "") -> None:
        self.what = what
        self.where = where
        self.values = dict(values or {})
        self.hint = hint
        super().__init__(self._render())

    def _render(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        lines += [f"  {name}: {value}" for name, value in self.values.items()]
        if self.hint:
            lines.append(f"  try: {self.hint}")
        return "\n".join(lines)

    def beside(self, values: Mapping[str, object]) -> ClinferError:
        """The same error with more values."""
        return type(self)(self.what, where=self.where, values={**self.values, **values}, hint=self.hint)

    def at(self, where: str) -> ClinferError:
        """The same error with an outer location put before the present one."""
        joined = f"{where} > {self.where}" if self.where else where
        return type(self)(self.what, where=joined, values=self.values, hint=self.hint)


class WrongTypeError(ClinferError, TypeError):
    """An argument, a key or a value is of a type that is not taken, or is given by no name or by two."""


class UnsupportedError(ClinferError):
    """The model has an operation or an element type that clinfer does not have."""


class OpenRankError(ClinferError):
    """The rank of a tensor does not follow from what is known of the inputs."""


class OutOfMemoryError(ClinferError):
    """Memory was not to be had. What the inference or compilation took is given back; a smaller one may succeed."""


class DeviceUnavailableError(ClinferError):
    """The device takes no commands: it was lost, or another process has it to itself. What was made on it is of no
    use any more."""


class CancelledError(ClinferError):
    """The inference was ended by `InferRequest.cancel`."""


class HiddenMemoryError(ClinferError, BufferError):
    """The host does not see the memory of a tensor, and a copy is never made silently."""


CONTRADICTIONS = (ClinferError, ArithmeticError, LookupError, TypeError, ValueError)
"""What shape rules, evaluations and costs raise for shapes and values that do not fit together, or are not known."""
