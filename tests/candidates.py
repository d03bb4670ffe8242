"""The kernels that tests force: those in an operation's tables, and each configuration in which one may compute a
node."""
from __future__ import annotations

from collections.abc import Iterable

from clinfer.kernels.selector import ACCEPTS_NONE_OF_THEM
from clinfer.ops import all_operations
from clinfer.program.program import Program
from clinfer.runtime.capabilities import Capabilities


def candidates_of_op(name: str, capabilities: Capabilities | None = None) -> list[str]:
    """The names of the kernels in an operation's tables: all, or those that are made for a device."""
    op = next(op for op in all_operations() if op.name == name)
    return sorted({kernel.name for table in op.kernels.values() for kernel in table.kernels
                   if capabilities is None or kernel.targets(capabilities) is None})


def candidates_of(program: Program | Exception, node: str = "node", kernel: str = "") -> list[str]:
    """The names of a node's candidates, those that do not support it included: all, or those of one kernel."""
    if isinstance(program, Exception):
        return []
    found = dict.fromkeys(name for each in program.nodes if each.primitive.id == node
                          for name in (*(x.name for x in each.implementations), *dict(each.rejected)))
    return of_kernel(found, kernel)


def refusals_of(program: Program | Exception, node: str = "node") -> dict[str, str]:
    """Why candidates do not support a node, whichever is demanded, by their names."""
    if isinstance(program, Exception):
        return {}
    return {name: reason for each in program.nodes if each.primitive.id == node for name, reason in each.rejected
            if name not in dict(each.costs) and reason != ACCEPTS_NONE_OF_THEM}


def of_kernel(candidates: Iterable[str], kernel: str) -> list[str]:
    """Those that are configurations of a kernel; of any, if it is empty."""
    return [name for name in candidates if name == kernel or name.startswith(f"{kernel}_" if kernel else "")]


def reaches(program: Program | Exception) -> set[str]:
    """The kernels that a program runs."""
    if isinstance(program, Exception):
        return set()
    return {each.candidate.kernel.name for node in program.nodes for each in node.implementations}
