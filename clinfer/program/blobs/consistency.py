"""Whether a program from outside is one that can be run: what one part of it says of another.

What each part must be by itself, its annotations say (`base/schema.py`).
"""
from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.host_function import HostFunction
from clinfer.base.layout import Layout
from clinfer.base.schema import indices_in
from clinfer.program.program import AliasedTensor, Program, ProgramNode
from clinfer.topology import Primitive
from clinfer.topology.loop_ports import LoopPorts


def check_program(program: Program) -> None:
    """Raise ClinferError unless every index is one and parts agree about each other; bodies too."""
    tables = {"tensors": len(program.tensors), "nodes": len(program.nodes), "segments": len(program.segments),
              "slots": len(program.dependencies)}
    for field, index, number in indices_in(program):
        _demand(number == index.none or 0 <= number < tables[index.table], f"an index into {index.table} is none",
                field=field, index=number, entries=tables[index.table])
    for slot, others in enumerate(program.dependencies):
        _demand(slot not in others and all(slot in program.dependencies[other] for other in others),
                "dependencies of slots are not mutual", slot=slot)
    for number, tensor in enumerate(program.tensors):
        _demand(program.tensors[tensor.root].root == tensor.root, "a tensor's root is a view", tensor=number)
        _demand(tensor.root != number or (tensor.slot >= 0) == (tensor.storage in ("slot", "output")),
                "a tensor has no slot, or one that it does not use", tensor=number, storage=tensor.storage)
        _demand(tensor.layout.format.fits(tensor.layout.rank), "a tensor's format does not fit", tensor=number)
    _check_ends(program)
    _check_order(program)
    _check_states(program)
    for node in program.nodes:
        _check_node(program, node)
        for body in node.bodies:
            check_program(body)


def _check_ends(program: Program) -> None:
    """Inputs, outputs and constants."""
    _demand(program.inputs.keys() == program.input_tensors.keys(), "inputs differ from their tensors",
            inputs=list(program.inputs), tensors=list(program.input_tensors))
    for name, tensor in program.input_tensors.items():
        declared, layout = program.inputs[name], program.tensors[tensor].layout
        _demand((declared.id, declared.shape, declared.element_type) == (name, layout.shape, layout.element_type),
                "an input is not what its tensor is", input=name)
    for name, output in program.outputs.items():
        layout = program.tensors[output.tensor].layout
        _demand((output.layout.rank, output.layout.element_type) == (layout.rank, layout.element_type),
                "an output is not what its tensor is", output=name)
    for tensor, constant in program.constants.items():
        array, layout = constant.array, constant.layout
        fits = array is None or (array.shape, array.dtype) == (layout.shape, layout.element_type.numpy)
        _demand(fits and layout == program.tensors[tensor].layout, "a constant is not what its tensor is",
                tensor=tensor)
    for tensor, memory in program.constant_memory.items():
        held = program.constants.get(tensor)
        _demand(held is not None and held.memory is memory and memory.nbytes >= held.layout.byte_size,
                "the memory of a constant is another's", tensor=tensor)


def _check_states(program: Program) -> None:
    """Variables stand for inputs and outputs of their types, and their first values are made of the same inputs."""
    initial, variables = program.initial, {state.variable for state in program.states}
    for state in program.states:
        declared, output = program.inputs.get(state.input), program.outputs.get(state.output)
        _demand(declared is not None and declared.element_type == state.stored_type
                and (output is not None or not state.output), "a variable has no input or output of its own",
                variable=state.variable)
        _demand(sorted(state.order) in ([], [*range(len(state.shape))]), "a variable is stored in no order",
                variable=state.variable)
        _demand(len(state.sizes) in (0, len(state.shape)), "a variable has names of other sizes than its own",
                variable=state.variable)
        _demand(variables.issuperset(state.begins_with),
                "a variable begins with one that is not there", variable=state.variable)
        _demand(not state.selected_by or state.selected_by in program.inputs, "a variable is selected by nothing",
                variable=state.variable)
        _demand(not state.selected_by or state.order[1:2] == (0,), "a variable is selected along another axis",
                variable=state.variable)
        _demand(not state.table or (state.grows and bool(state.selected_by) and state.table in program.inputs),
                "a variable lies by a table that is not there", variable=state.variable)
        _demand(not state.initial or (initial is not None and state.initial in initial.outputs),
                "a variable has no first value", variable=state.variable)
    if initial is not None:
        _demand(initial.inputs.keys() <= program.inputs.keys(), "first values are made of other inputs",
                inputs=list(initial.inputs))
        check_program(initial)


def _check_order(program: Program) -> None:
    """Every node in one segment, in order, behind the nodes that make what it reads; each tensor is made once, and what
    the host reads it knows."""
    listed = [number for segment in program.segments for number in segment.nodes]
    _demand(listed == [number for number, node in enumerate(program.nodes) if node.kind != "input"],
            "segments do not hold all nodes in order", nodes=listed[:20])
    made = {*program.constants, *program.input_tensors.values()}
    for number, segment in enumerate(program.segments):
        outside = made - program.constants.keys()
        nodes = [program.nodes[index] for index in segment.nodes]
        on_host = {*program.constants, *segment.values}
        for node in nodes:
            _demand(node.segment == number, "a node is of another segment", node=node.primitive.id)
            _demand(made.issuperset(node.inputs), "a node reads what nobody made", node=node.primitive.id)
            _demand(made.isdisjoint(node.outputs) and len({*node.outputs}) == len(node.outputs),
                    "a tensor is made twice", node=node.primitive.id)
            _demand(on_host.issuperset(node.inputs[i] for i in node.read_on_host if i < len(node.inputs)),
                    "a node reads a value that the host does not know", node=node.primitive.id)
            on_host.update(node.outputs if node.kind == "host" else ())
            made.update(node.outputs)
        incoming = outside.intersection(tensor for node in nodes for tensor in node.inputs)
        needed = outside.intersection(node.inputs[i] for node in nodes for i in node.read_on_host)
        _demand(incoming == {*segment.incoming} and needed <= {*segment.values} <= incoming
                and made.issuperset(segment.fetched), "a segment takes or gives something else", segment=number)


def _check_node(program: Program, node: ProgramNode) -> None:
    primitive = node.primitive
    counts = {"inputs": (len(node.inputs), len(primitive.inputs)),
              "outputs": (len(node.outputs), primitive.output_count)}
    for what, (have, want) in counts.items():
        _demand(have == want, f"a node has other {what} than its primitive", node=primitive.id, node_has=have,
                primitive_has=want)
    _demand(bool(node.implementations) == (node.kind == "kernel") and bool(node.bodies) == (node.kind == "body"),
            "a node is not of its kind", node=primitive.id, kind=node.kind)
    _demand(len(node.built_for) in (0, len(node.implementations)), "a node tells of other implementations than it has",
            node=primitive.id)
    for aliased in node.aliases:
        _check_alias(node, aliased)
    _check_bodies(program, node)
    inputs = tuple(program.tensors[i].layout for i in node.inputs)
    outputs = tuple(program.tensors[i].layout for i in node.outputs)
    if primitive.stands_for is not None:
        _check_function(primitive, *primitive.stands_for, inputs, outputs)
    for implementation in node.implementations:
        problem = implementation.problem
        # Value inputs are read on the host, in whichever format they lie.
        hidden = primitive.value_inputs
        _demand(_is_like(problem.primitive, primitive) and problem.outputs == outputs
                and len(problem.all_inputs) == len(inputs) and all(
                    i in hidden or have == want
                    for i, (have, want) in enumerate(zip(problem.all_inputs, inputs, strict=False))),
                "a kernel was made for other tensors", node=primitive.id, kernel=implementation.name)
        available = {"input": len(inputs), "output": len(outputs), "scratch": len(node.scratch_slots), "counters": 1}
        for part in implementation.stages:
            for buffer in part.buffers:
                _demand(0 <= buffer.index < available[buffer.kind], "a kernel takes a buffer that is not there",
                        node=primitive.id)


def _check_function(primitive: Primitive, function: HostFunction | None, given: tuple[int, ...],
                    inputs: tuple[Layout, ...], outputs: tuple[Layout, ...]) -> None:
    """Whether an operation of another engine takes and gives the tensors of its primitive."""
    declared = primitive.output_types(tuple(x.element_type for x in inputs))
    _demand(function is not None and all(0 <= i < len(inputs) for i in given)
            and function.input_types == tuple(inputs[i].element_type for i in given)
            and function.output_types == tuple(x.element_type for x in outputs) == declared,
            "an operation of another engine is of other tensors", node=primitive.id)


def _check_alias(node: ProgramNode, aliased: AliasedTensor) -> None:
    alias = aliased.alias
    moves = min((len(each.candidate.lower(each.problem).moves) for each in node.implementations), default=0)
    known = (0 <= alias.move < moves and 0 <= alias.input < len(node.inputs)
             and 0 <= alias.output < len(node.outputs))
    _demand(known and {aliased.moved, aliased.within} >= {node.outputs[alias.output]}, "a copy is of other tensors",
            node=node.primitive.id)


def _check_bodies(program: Program, node: ProgramNode) -> None:
    """Whether the program of each body takes and gives what the primitive says of that body."""
    _demand(len(node.bodies) == (len(node.primitive.bodies) if node.kind == "body" else 0),
            "bodies are missing", node=node.primitive.id)
    for source, body in zip(node.primitive.bodies, node.bodies, strict=False):
        loop = source.loop or LoopPorts()
        takes = {*loop.sliced, *loop.carried, *filter(None, [loop.counter])}
        gives = {*loop.carried.values(), *filter(None, [loop.condition]), *source.outputs}
        known = {*source.inputs, *filter(None, [loop.counter])}
        _demand(body.inputs.keys() == known and takes <= known and gives <= body.outputs.keys(),
                "a body takes or gives something else", node=node.primitive.id)
        _demand(all(0 <= index < len(node.inputs) for index in source.inputs.values())
                and all(0 <= index < len(node.outputs) for index in loop.joined)
                and len(source.outputs) == len(node.outputs),
                "a body is of a node with other inputs or outputs", node=node.primitive.id)
        cut = [(node.inputs[source.inputs[name]], slicing.axis) for name, slicing in loop.sliced.items()]
        joined = [(node.outputs[index], joining.axis) for index, joining in loop.joined.items()]
        for tensor, axis in (*cut, *joined):
            rank = program.tensors[tensor].layout.rank
            _demand(-rank <= axis < rank, "a loop cuts or joins along an axis that is not there",
                    node=node.primitive.id, axis=axis, rank=rank)


def _is_like(one: Any, other: Primitive) -> bool:
    """Whether two primitives are the same but for whom they read. (Arrays that are the same one were written once.)"""
    return type(one) is type(other) and all(
        mine is theirs or (not isinstance(mine, np.ndarray) and mine == theirs)
        for mine, theirs in ((getattr(one, f.name), getattr(other, f.name)) for f in fields(other)
                             if f.name != "inputs"))


def _demand(holds: bool, otherwise: str, **values: object) -> None:
    if not holds:
        raise ClinferError(f"the program of the compiled blob is inconsistent: {otherwise}", where="compiled blob",
                           values=values)
