"""Where the host must wait for the device in the middle of an inference, known before the first one."""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from clinfer.program.program import Program


def host_waits(program: Program, inputs: Mapping[str, str]) -> tuple[str, ...]:
    """The primitives whose results the host reads before it can hand over what follows, those in bodies behind
    `<primitive>/body<number>/`.

    `inputs`: how users call the program's inputs. Of these the host reads only those that it was not given itself:
    `input <name>`; and variables, `state <name>`.
    """
    read = {tensor for segment in program.segments for tensor in segment.values}
    states = {state.input: f"state {state.variable}" for state in program.states}
    own = [states[name] if name in states else f"input {inputs[name]}"
           for name, tensor in program.input_tensors.items() if tensor in read]
    return tuple(dict.fromkeys((*own, *_waits(program))))


def _waits(program: Program) -> Iterator[str]:
    makers = {tensor: node for node in program.nodes if node.kind not in ("input", "host") for tensor in node.outputs}
    for segment in program.segments:
        for tensor in segment.values:
            if tensor in makers:
                yield program.tensors[tensor].port.primitive
    for node in program.nodes:
        if node.kind == "call":
            yield node.primitive.id
        for number, body in enumerate(node.bodies):
            loop = node.primitive.bodies[number].loop
            if loop is not None and loop.condition and _varies(body, loop.condition):
                yield node.primitive.id
            yield from (f"{node.primitive.id}/body{number}/{name}" for name in _waits(body))


def _varies(program: Program, name: str) -> bool:
    """Whether an output is no constant."""
    return program.outputs[name].tensor not in program.constants
