"""Lets one package's submodules be found under another name: `clinfer.opset13` is the module `openvino.opset13`."""
from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType

_OURS, _THEIRS, _FORMER = "clinfer", "openvino", "openvino.runtime"


def alias_submodules() -> None:
    """Look for `clinfer.<name>` here first, then in OpenVINO; again is harmless."""
    _install(_AliasFinder(_OURS))


def alias_former_package() -> None:
    """Let `openvino.runtime`, which OpenVINO had until 2025, stand for `openvino`; again is harmless."""
    _install(_AliasFinder(_FORMER))


def _install(finder: _AliasFinder) -> None:
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)


class _AliasFinder(MetaPathFinder):
    """Finds `<alias>.<name>` as the very module `openvino.<name>`; what clinfer has itself comes first.

    It stands before the path finder, which would load files below an aliased package a second time.
    """

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _AliasFinder) and other._alias == self._alias

    def __hash__(self) -> int:
        return hash(self._alias)

    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname == _FORMER == self._alias:
            return ModuleSpec(fullname, _AliasLoader(_THEIRS))
        if not fullname.startswith(f"{self._alias}."):
            return None
        parent = sys.modules.get(fullname.rpartition(".")[0])
        if self._alias == _OURS and (parent is None or parent.__name__.partition(".")[0] == _OURS):
            own = PathFinder.find_spec(fullname, path, target)
            if own is not None:
                return own
        theirs = f"{_THEIRS}{fullname[len(self._alias):]}"
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
