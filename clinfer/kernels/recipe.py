"""Recipes: how the code of a stage is built, where the usual way will not do.

Kernels of one recipe share programs; a recipe is part of a kernel's identity, so that each is kept on disk by it.
"""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.runtime.capabilities import Capabilities
from clinfer.runtime.program import BuildJob, Rewrite

BUILD_OPTIONS = "-cl-mad-enable"
"""The compiler's options for every program."""


@dataclass(frozen=True)
class Recipe:
    """How a program of OpenCL C is built.

    `options`: the compiler's, besides those of every program. `rewrites`: what is changed in the binary of the driver,
    in order; it is then built again of the text that this makes. `requires`: the capabilities without which
    it is not tried, by the names of their fields.

    A recipe may be wrong for a driver: what cannot be built is passed over (`program/build.py`).
    """

    options: tuple[str, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    requires: tuple[str, ...] = ()

    @property
    def load_options(self) -> str:
        """The options with which a binary is loaded: drivers that keep an intermediate text compile it only then."""
        return " ".join(self.options)

    def job(self, source: str) -> BuildJob:
        """The building of a program."""
        return BuildJob(source, " ".join([BUILD_OPTIONS, *self.options]), self.rewrites)

    def refusal(self, device: Capabilities) -> str | None:
        """None, or which of the capabilities a device lacks: what `Kernel.targets` of its kernels says."""
        missing = [name for name in self.requires if not getattr(device, name)]
        return f"the device has no {', '.join(missing)}" if missing else None


USUAL = Recipe()
ALIGNED = Recipe(("-DCLINFER_ALL_ALIGNED",))
"""All vectors start at multiples of their length, so that loads do not look first where they do."""


def with_sub_groups(device: Capabilities) -> Recipe:
    """The recipe of kernels that reduce over a work-group (`include/subgroup.cl`): that with the option that the
    device's sub-groups want, if it has them."""
    return Recipe((device.subgroup_option,)) if device.subgroup_option else USUAL
