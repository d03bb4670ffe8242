"""What kernels say that they cost."""
from __future__ import annotations

from dataclasses import replace

import pytest

from clinfer.kernels.cost import time_of
from clinfer.ops import all_operations, kernels_of
from clinfer.runtime.engine import Engine
from clinfer.symbolic.trace import APPLIED, Trace
from tests.deferring import Selection
from tests.ops.case_runner import Variant, needs, topology_of
from tests.ops.test_cases import ROWS

_LAUNCH_NS = 1e15
_FEW = 3


def test_what_computes_nothing_takes_the_time_of_moving(engine: Engine) -> None:
    ceilings, trace = engine.capabilities.ceilings, Trace()
    nothing, hardly = (time_of(ceilings, flops=flops, nbytes=3e6, bandwidth=0.5) for flops in (0.0, 1e-30))
    assert nothing == pytest.approx(hardly)
    found = time_of(ceilings, nbytes=trace.free(3_000_000))
    applied = [line for line in trace.lines([found.name]) if line.sign == APPLIED]  # type: ignore[attr-defined]
    assert len(applied) == 1, "computing is not looked for behind what is moved"


@pytest.mark.parametrize("op", [op.name for op in all_operations() if op.kernels])
def test_costs_count_the_launches_that_there_are(engine: Engine, op: str) -> None:
    """Nothing but launches counts where one takes eleven days."""
    capabilities = replace(engine.capabilities, ceilings=replace(engine.capabilities.ceilings, launch=_LAUNCH_NS))
    selection, wrong = Selection(engine), set()
    able = [case for name, case in ROWS if name == op and needs(case, engine)]
    for case in able[::max(1, len(able) // _FEW)]:
        program = selection.program(topology_of(case, Variant()), Variant().options())
        for node in program.nodes:
            if not node.implementations:
                continue
            problem = replace(node.implementations[0].problem, capabilities=capabilities)
            for candidate in kernels_of(node.primitive).candidates(problem):
                own = candidate.in_own_formats(problem)
                if (own.is_decided and candidate.kernel.targets(capabilities) is None
                        and candidate.supports(own) is None and candidate.accepts(own) is None):
                    counted, stages = candidate.estimate(own) / _LAUNCH_NS, len(candidate.lower(own).stages)
                    if abs(counted - stages) > 0.01:
                        wrong.add((candidate.name, round(counted, 3), stages))
    assert not wrong, "(kernel, launches that it counts, launches): " + str(sorted(wrong))
