"""Rates of a device are measured again by later processes, because what else runs on a machine makes them too low.

The first process that meets a driver measures, and the next two that come an hour or more after the last measurement.
A rate counts anew where it is much better than what is known: little differences would only change which kernels are
chosen, and what was built of them.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_MEASUREMENTS = 3
_INTERVAL_S = 3600.0
_MUCH_BETTER = 1.25
_TIMES = ("launch", "wait")
SINGLE_RATES = ("half_rate", "tensor_rate", "pair_rate", "tile_rate")


def is_due(measured: Sequence[float], now: float) -> bool:
    """Whether rates that were measured at these times (seconds since 1970) are to be measured again."""
    return len(measured) < _MEASUREMENTS and now - measured[-1] >= _INTERVAL_S


def with_better(known: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """The answers of all probes, with those rates of `found` that are much better; what was not measured is None."""
    better = {name: found[name] for name in SINGLE_RATES if _is_better(known[name], found[name])}
    if found["rates"] is None:
        return {**known, **better}
    rates = {name: found["rates"][name] if _is_better(rate, found["rates"][name], name in _TIMES) else rate
             for name, rate in known["rates"].items()}
    return {**known, **better, "rates": rates}


def _is_better(known: float | None, found: float | None, is_time: bool = False) -> bool:
    if not known or not found:
        return False
    return (known / found if is_time else found / known) >= _MUCH_BETTER
