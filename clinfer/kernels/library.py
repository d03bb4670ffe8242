"""The seam for kernels of a third party, which are an implementation type of their own."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clinfer.base.errors import ClinferError
from clinfer.kernels.spec import CPU, OCL, KernelSpec
from clinfer.runtime.capabilities import Capabilities
from clinfer.topology.primitive import Primitive


@dataclass(frozen=True)
class Library:
    """Kernels under the implementation type `name`: by primitive class, rows like those of the rooms' tables.

    They compete with the rooms' by their scores. Each row says `type=name`; each stage names in `package` the Python
    package that holds its .cl file. `refusal`: why the library cannot be used on a device at all, or None.
    """

    name: str
    kernels: Mapping[type[Primitive], tuple[KernelSpec, ...]]
    refusal: Callable[[Capabilities], str | None] = lambda capabilities: None

    def __post_init__(self) -> None:
        wrong = sorted({spec.name for rows in self.kernels.values() for spec in rows if spec.type != self.name})
        if wrong or self.name in ("", OCL, CPU):
            raise ClinferError("a library's kernels need an implementation type of their own, its name",
                               where=f"library {self.name!r}", values={"of another type": ", ".join(wrong) or "none"})
