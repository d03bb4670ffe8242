"""Small OpenVINO models for the front end's tests."""
from __future__ import annotations

import numpy as np
from openvino import opset13 as op

from clinfer.frontend.openvino_import import openvino as ov

Rng = np.random.Generator


def parameter(name: str, shape: list[int], kind: str = "f32") -> ov.op.Parameter:
    node = op.parameter(ov.PartialShape(shape), getattr(ov.Type, kind))
    node.set_friendly_name(name)
    node.output(0).set_names({name})
    return node


def result(node: ov.Node | ov.Output, name: str) -> ov.op.Result:
    port = node if isinstance(node, ov.Output) else node.output(0)
    port.set_names({name})
    return op.result(port)


def normal(rng: Rng, *shape: int) -> np.ndarray:
    return rng.normal(0, 0.3, shape).astype(np.float32)


def compressed(values: np.ndarray, kind: str) -> ov.Node:
    """Weights stored in another type, behind the Convert to f32."""
    constant = op.constant(values, getattr(ov.Type, kind))
    constant.set_friendly_name(f"weights_{kind}")
    return op.convert(constant, "f32")


def convolution_model(rng: Rng, weights: ov.Node | None = None) -> ov.Model:
    """x [?,8,?,?] -> convolution, bias, Relu, mean over the picture."""
    x = parameter("x", [-1, 8, -1, -1])
    filters = op.constant(normal(rng, 16, 8, 3, 3)) if weights is None else weights
    y = op.convolution(x, filters, [1, 1], [1, 1], [1, 1], [1, 1])
    y = op.relu(op.add(y, op.constant(normal(rng, 1, filters.get_output_shape(0)[0], 1, 1))))
    pooled = op.reduce_mean(y, op.constant(np.array([2, 3])), True)
    return ov.Model([result(y, "features"), result(pooled, "pooled")], [x], "convolution")


def branch(rng: Rng, scale: float) -> tuple[ov.Model, ov.op.Parameter, ov.op.Parameter]:
    p, q = op.parameter([-1, 64], np.float32), op.parameter([-1, 64], np.float32)
    product = op.matmul(p, compressed(normal(rng, 64, 64).astype(np.float16), "f16"), False, False)
    outputs = [op.result(op.multiply(product, op.constant(np.float32(scale)))), op.result(op.relu(q))]
    return ov.Model(outputs, [p, q], f"branch{scale}"), p, q


def if_model(rng: Rng) -> ov.Model:
    """(condition, a, b): one of two branches that multiply a with f16 weights; b goes through Relu."""
    condition, a, b = parameter("condition", [], "boolean"), parameter("a", [-1, 64]), parameter("b", [-1, 64])
    (then_body, then_p, then_q), (else_body, else_p, else_q) = branch(rng, 2.0), branch(rng, -3.0)
    node = op.if_op(condition)
    node.set_then_body(then_body)
    node.set_else_body(else_body)
    node.set_input(b.output(0), then_q, else_q)
    node.set_input(a.output(0), then_p, else_p)
    outputs = [node.set_output(t, e) for t, e in zip(then_body.results, else_body.results, strict=True)]
    node.set_friendly_name("choice")
    return ov.Model([result(outputs[1], "rectified"), result(outputs[0], "product")], [condition, a, b], "if")


class OnlyStatic(ov.Op):  # type: ignore[misc]
    """Passes its input on; refuses dynamic shapes, as Col2Im does."""

    def __init__(self, inputs: list[ov.Output] | None = None) -> None:
        super().__init__(self)
        if inputs is not None:
            self.set_arguments(inputs)
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        if self.get_input_partial_shape(0).is_dynamic:
            raise RuntimeError("static shapes only")
        self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

    def clone_with_new_inputs(self, new_inputs: list[ov.Output]) -> OnlyStatic:
        return OnlyStatic(new_inputs)
