"""A model with everything that a profile tells apart: kernels, a fused bias, a view, host arithmetic, bodies."""
from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clinfer.frontend.openvino_import import openvino as ov

WEIGHTS = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
BIAS = np.array([[1, -2, 3, -4]], np.float32)


def branching_model() -> ov.Model:
    """Inputs `x` [?,5] and `deep` (boolean); outputs `soft_result`, `where_result` (coordinates), `shape_result`."""
    op = ov.opset13
    x = op.parameter([-1, 5], np.float32, name="x")
    deep = op.parameter([], np.bool_, name="deep")
    product = op.matmul(x, op.constant(WEIGHTS), False, False, name="product")
    pairs = op.reshape(op.relu(op.add(product, op.constant(BIAS), name="biased"), name="positive"),
                       np.array([-1, 2]), False, name="pairs")
    branch = op.if_op(deep)
    branch.set_friendly_name("branch")
    then_body, then_in, then_out = _body(lambda p: op.exp(op.tanh(p, name="tanh"), name="exp"))
    else_body, else_in, else_out = _body(lambda p: op.sin(p, name="sin"))
    branch.set_then_body(then_body)
    branch.set_else_body(else_body)
    branch.set_input(pairs.output(0), then_in, else_in)
    chosen = branch.set_output(then_out, else_out)
    soft = op.softmax(op.reshape(chosen, np.array([-1, 4]), False, name="back"), -1, name="soft")
    where = op.non_zero(op.greater(soft, op.constant(np.float32(0.25))), name="where")
    results = {"soft": soft, "where": where, "shape": op.shape_of(x, name="shape_of")}
    return ov.Model([op.result(node, name=f"{name}_result") for name, node in results.items()], [x, deep], "branching")


def _body(compute: object) -> tuple[ov.Model, ov.op.Parameter, ov.op.Result]:
    op = ov.opset13
    inner = op.parameter([-1, 2], np.float32, name="inner")
    result = op.result(compute(inner), name="inner_result")  # type: ignore[operator]
    return ov.Model([result], [inner], "body"), inner, result


def branching(x: np.ndarray, deep: bool) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The expected softmax and coordinates, in double precision."""
    positive = np.maximum(x.astype(np.float64) @ WEIGHTS + BIAS, 0)
    chosen = np.exp(np.tanh(positive)) if deep else np.sin(positive)
    soft = np.exp(chosen) / np.exp(chosen).sum(-1, keepdims=True)
    return soft, np.stack(np.nonzero(soft > 0.25))
