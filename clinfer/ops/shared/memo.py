"""A memo for what a kernel table works out several times in a row from the same parameters."""
from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from clinfer.kernels.spec import KernelParams

P = ParamSpec("P")
R = TypeVar("R")


def remember_last(function: Callable[Concatenate[KernelParams, P], R]) -> Callable[Concatenate[KernelParams, P], R]:
    """Keep the results of a pure function for the last parameters object that it was given.

    Further arguments must be positional and hashable.
    """
    memory: list[tuple[KernelParams | None, dict[tuple[object, ...], R]]] = [(None, {})]

    @wraps(function)
    def remembered(params: KernelParams, /, *args: P.args, **kwargs: P.kwargs) -> R:
        # One assignment replaces the whole entry, so that threads that interleave only forget.
        known, results = memory[0]
        if known is not params:
            results = {}
            memory[0] = (params, results)
        if args not in results:
            results[args] = function(params, *args, **kwargs)
        return results[args]
    return remembered
