"""A case as a Python program that stands alone."""
from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.case import Case
from tests.fuzz.graph import ELSEWHERE, OPSET, Graph, Input, Ref, Step

_HEAD = f'''"""{{title}}"""
import numpy as np
import openvino as ov
from openvino import {OPSET} as ops
from openvino.utils.node_factory import NodeFactory

import clinfer

create = NodeFactory("{OPSET}").create


def const(values, kind, shape):
    return ov.op.Constant(np.array(values, kind).reshape(shape)).output(0)


'''
_TAIL = '''
if __name__ == "__main__":
    compiled = clinfer.Core().compile_model(main(), {device!r}, {{"INFERENCE_PRECISION_HINT": "f32"}})
    request = compiled.create_infer_request()
    for inputs, expected in SEQUENCE:
        request.reset_state()
        results = request.infer(inputs)
        for number, wanted in enumerate(expected):
            assert results[number].shape == wanted.shape, (results[number].shape, wanted.shape)
            np.testing.assert_allclose(results[number], wanted, rtol={tolerance}, atol={tolerance} * max(
                np.abs(wanted.astype(float)).max(initial=0), 1e-6))
'''


def source(case: Case, title: str, device: str) -> str:
    """The program: builds the model, runs the sequence and compares."""
    text = _HEAD.format(title=title) + _function("main", case.graph) + "\n\nSEQUENCE = [\n"
    for setting in range(case.settings):
        feed, expected = (", ".join(map(_array, arrays)) for arrays in (case.feed(setting), case.expected(setting)))
        text += f"    ([{feed}],\n     [{expected}]),\n"
    return text + "]\n" + _TAIL.format(device=device, tolerance=case.tolerance)


def _array(values: np.ndarray) -> str:
    return f"np.array({values.ravel().tolist()}, {values.dtype.name!r}).reshape({list(values.shape)})"


def _function(name: str, graph: Graph) -> str:
    """A function that builds a graph, after those of its bodies."""
    before = "".join(_function(f"{step.name}_body{n}", body) + "\n\n"
                     for step in graph.steps for n, body in enumerate(step.bodies))
    lines = [f"def {name}():", *(_input(source) for source in graph.inputs)]
    for step in graph.steps:
        lines += _step(step)
    results = ", ".join(f"ov.op.Result({_operand(ref)})" for ref in graph.outputs)
    written = ", ".join(f"ops.assign(ops.concat([{step.name}, {step.name}], {step.attributes['axis']}), {step.name!r})"
                        for step in graph.steps if step.op == "Remember")
    lines.append(f"return ov.Model([{results}], [{written}], [{', '.join(i.name for i in graph.inputs)}], {name!r})")
    return before + "\n    ".join(lines) + "\n"


def _input(given: Input) -> str:
    shape = "ov.PartialShape.dynamic()" if given.dims is None else "ov.PartialShape([{}])".format(", ".join(
        f"ov.Dimension{d}" if isinstance(d, tuple) else f"ov.Dimension({d})" for d in given.dims))
    return f"{given.name} = ov.op.Parameter(ov.Type.{given.type}, {shape})"


def _operand(operand: Any) -> str:
    if isinstance(operand, Ref):
        return f"{operand.name}.output({operand.port})"
    return f"const({operand.ravel().tolist()}, {operand.dtype.name!r}, {list(operand.shape)})"


def _step(step: Step) -> list[str]:
    given = [_operand(o) for o in step.operands]
    if step.op == "Constant":
        values = np.asarray(step.attributes["values"])
        return [f"{step.name} = ov.op.Constant(ov.Type.{step.attributes['type']}, ov.Shape({list(values.shape)}), "
                f"{values.ravel().tolist()})"]
    if step.op == "Remember":
        return [f"{step.name}_shape = {given[0]}.get_partial_shape()",
                f"{step.name}_shape[{step.attributes['axis']}] = ov.Dimension()",
                f"{step.name} = ops.read_value({given[0]}, {step.name!r}, {given[0]}.get_element_type(), "
                f"{step.name}_shape)"]
    if step.op == "If":
        return _branches(step, given)
    if step.bodies:
        return _loop(step, given)
    if step.op == "BinaryConvolution":
        bits = np.asarray(step.operands[1])
        given[1] = f"ov.op.Constant(ov.Type.u1, ov.Shape({list(bits.shape)}), {bits.ravel().tolist()}).output(0)"
    create = f"NodeFactory({ELSEWHERE[step.op]!r}).create" if step.op in ELSEWHERE else "create"
    return [f"{step.name} = {create}({step.op!r}, [{', '.join(given)}], {dict(step.attributes)!r})"]


def _branches(step: Step, given: list[str]) -> list[str]:
    name = step.name
    lines = [f"{name} = ops.if_op({given[0]})",
             f"{name}_then, {name}_else = {name}_body0(), {name}_body1()",
             f"{name}.set_then_body({name}_then)", f"{name}.set_else_body({name}_else)"]
    lines += [f"{name}.set_input({port}, {name}_then.get_parameters()[{n}], {name}_else.get_parameters()[{n}])"
              for n, port in enumerate(given[1:])]
    lines += [f"{name}.set_output({name}_then.get_results()[{n}], {name}_else.get_results()[{n}])"
              for n in range(len(step.bodies[0].outputs))]
    return lines


def _loop(step: Step, given: list[str]) -> list[str]:
    name = step.name
    first = f"ops.loop({given[0]}, {given[1]})" if step.op == "Loop" else "ops.tensor_iterator()"
    lines = [f"{name} = {first}", f"{name}_made = {name}_body0()", f"{name}.set_function({name}_made)",
             f"{name}_in = {name}_made.get_parameters()",
             f"{name}_out = [r.input_value(0) for r in {name}_made.get_results()]"]
    calls = {"ports": "set_special_body_ports([{0}, {1}])",
             "merged": "set_merged_input({name}_in[{1}], {given}, {name}_out[{2}])",
             "kept": "set_invariant_input({name}_in[{1}], {given})",
             "sliced": "set_sliced_input({name}_in[{1}], {given}, {2}, {3}, 1, {4}, {5})",
             "last": "get_iter_value({name}_out[{0}], -1)",
             "joined": "get_concatenated_slices({name}_out[{0}], {1}, {2}, 1, {3}, {4})"}
    for kind, *numbers in step.wiring:
        port = given[numbers[0]] if kind in ("merged", "kept", "sliced") else ""
        lines.append(f"{name}." + calls[kind].format(*numbers, name=name, given=port))
    return [*lines, f"{name}.validate_and_infer_types()"]
