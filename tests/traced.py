"""The function that a trace is."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from clinfer.symbolic.trace import Trace, spell, symbols_in


def function_of(trace: Trace, result: Any, missed: Any) -> Callable[..., Any]:
    """What gives `result`, nested tuples of symbols and numbers, for the trace's free numbers; `missed` where a guard
    does not hold."""
    lines = [f"{name} = {text}" if name else f"if not ({text}): return {missed!r}"
             for name, text in trace.steps(symbols_in(result))]
    space: dict[str, Any] = {**trace.helpers, "ceil": math.ceil, "floor": math.floor}
    exec("\n    ".join([f"def made({', '.join(trace.names)}):", *lines, f"return {spell(result)}"]), space)
    made: Callable[..., Any] = space["made"]
    return made
