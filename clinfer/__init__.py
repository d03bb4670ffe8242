"""clinfer: runs models that OpenVINO reads on any OpenCL device.

`import clinfer as ov` is a drop-in for `import openvino as ov`: every public name and submodule is there,
ours in place of theirs. They are loaded when they are first asked for.
"""
from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from clinfer.api.submodules import alias_submodules
from clinfer.base.collector import collects_later
from clinfer.base.version import VERSION

if TYPE_CHECKING:
    from clinfer.api.names import *  # noqa: F403

__version__ = VERSION

alias_submodules()


@collects_later
def _names() -> ModuleType:
    """What holds the public names; loading it, and OpenVINO with it, makes some 60,000 objects."""
    return import_module("clinfer.api.names")


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return list(_names().PUBLIC)
    names = None if name.startswith("_") else _names()
    if names is None or name not in names.PUBLIC:
        raise AttributeError(f"module 'clinfer' has no attribute {name!r}")
    globals()[name] = value = getattr(names, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_names().PUBLIC})
