"""Lets `import clinfer.properties.hint` and the like find OpenVINO's submodule of that name."""
from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType

_OURS, _THEIRS = "clinfer", "openvino"


def install() -> None:
    """Look for `clinfer.<name>` here first, then in OpenVINO; again is harmless."""
    if not any(isinstance(finder, _SubmoduleFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _SubmoduleFinder())


class _SubmoduleFinder(MetaPathFinder):
    """Aliases OpenVINO's submodules: `clinfer.opset13` is the very module `openvino.opset13`.

    It stands before the path finder, which would load files below an aliased package a second time.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        package, _, below = fullname.partition(".")
        if package != _OURS or not below:
            return None
        parent = sys.modules.get(fullname.rpartition(".")[0])
        if parent is None or parent.__name__.partition(".")[0] == _OURS:
            own = PathFinder.find_spec(fullname, path, target)
            if own is not None:
                return own
        theirs = f"{_THEIRS}.{below}"
        return ModuleSpec(fullname, _AliasLoader(theirs)) if _exists(theirs) else None


class _AliasLoader(Loader):
    def __init__(self, theirs: str) -> None:
        self._theirs = theirs

    def exec_module(self, module: ModuleType) -> None:
        # The import system takes what stands in sys.modules after this call.
        sys.modules[module.__name__] = import_module(self._theirs)


def _exists(module: str) -> bool:
    import_module("clinfer.frontend.openvino_import")
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
