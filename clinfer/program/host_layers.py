"""What OpenVINO computes on the host in the middle of a program, and what goes to and fro for it."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clinfer.topology import HostOperation

if TYPE_CHECKING:
    from clinfer.program.program import Program, ProgramNode


def host_layers(program: Program) -> Iterator[str]:
    """One text per layer, those of bodies included."""
    for node in program.nodes:
        if isinstance(node.primitive, HostOperation):
            yield f"{node.primitive.origin} ({node.primitive.operation}) {transfers(program, node)}"
        for body in node.bodies:
            yield from host_layers(body)


def transfers(program: Program, node: ProgramNode) -> str:
    """The bytes that a node of the host reads from the device and writes to it each time."""
    inputs = [tensor for tensor in node.inputs if tensor not in program.constants]
    return f"reads {_bytes(program, inputs)}, writes {_bytes(program, node.outputs)}"


def _bytes(program: Program, tensors: Sequence[int]) -> str:
    layouts = [program.tensors[tensor].layout for tensor in tensors if program.tensors[tensor].storage != "host"]
    if all(layout.is_static for layout in layouts):
        return f"{sum(layout.byte_size for layout in layouts)} bytes"
    return " and ".join(map(str, layouts))
