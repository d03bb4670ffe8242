"""Products, attention and convolutions of f16 by kernels for tensor cores, against NumPy."""
from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.quantisation import Quantisation
from clinfer.base.shape import ANY
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.ops.mvn import MVN
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Port, Topology
from tests.ops.case_runner import execute
from tests.ops.compressed import Weights
from tests.oracle import assert_close

TOLERANCE = 2e-3
"""Operands and results of f16, sums in float: what rounding the result takes, and a little."""
Shape = tuple[int, ...]
ATTENTION = ("", ""), ("causal", ""), *((masked, walk) for masked in ("added", "boolean", "hidden")
                                        for walk in ("", "_by_blocks"))
"""How attention is masked (`check_attention`), with the ways of `sdpa_mma` to walk through its keys."""
PICTURES: tuple[Shape, ...] = (1, 9, 14), (3, 12, 11), (2, 20, 32)


def network_of(engine: Engine, model: ov.Model, kernel: str = "") -> Network:
    """The network of a model; `kernel` is forced for the layer named "tiled"."""
    options = BuildOptions({"tiled": ("", kernel)} if kernel else {})
    program = compile_topology(engine, to_topology(model).topology, OpenVinoShapeInference(), options)
    return Network(program, engine.create_stream(), OpenVinoShapeInference())


def kernels_of(program: Program) -> set[str]:
    """The names of all that it may launch."""
    return {implementation.name for node in program.nodes for implementation in node.implementations}


def random_halves(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Numbers of -1 to 1."""
    return rng.uniform(-1, 1, shape).astype(np.float16)


def random_size(rng: np.random.Generator, most: int, aligned: bool) -> int:
    """A size; aligned: one of rows that are copied in chunks."""
    return 8 * int(rng.integers(1, most // 8 + 1)) if aligned else int(rng.integers(1, most + 1))


def check_product(engine: Engine, rng: np.random.Generator, kernel: str, left: Shape, sizes: tuple[int, int],
                  along_k: bool, rows: Iterable[int]) -> None:
    """relu(x @ w + bias) + other for so many rows in turn, in one network; `left`: the axes of x before the last one,
    -1 that of the rows; `sizes`: the depth and the columns of w, in which its columns (`along_k`) or rows lie
    together."""
    from openvino import opset13 as op
    depth, columns = sizes
    weights = random_halves(rng, (columns, depth) if along_k else sizes)
    bias = random_halves(rng, (columns,))
    x = op.parameter([*left, depth], ov.Type.f16)
    other = op.parameter([*left, columns], ov.Type.f16)
    product = op.add(op.matmul(x, op.constant(weights), False, along_k, name="tiled"), op.constant(bias))
    network = network_of(engine, ov.Model([op.add(op.relu(product), other)], [x, other], "product"), kernel)
    assert kernel in kernels_of(network.program)
    right = (weights.T if along_k else weights).astype(np.float64)
    for count in rows:
        there = tuple(count if size < 0 else size for size in left)
        given = [random_halves(rng, (*there, depth)), random_halves(rng, (*there, columns))]
        expected = np.maximum(given[0].astype(np.float64) @ right + bias, 0) + given[1]
        assert_close(execute(network, given)[0].astype(np.float64), expected, TOLERANCE,
                     f"{given[0].shape} by {right.shape}")


def check_normalised_products(engine: Engine, rng: np.random.Generator, depth: int, columns: int) -> None:
    """Two products of x / sqrt(mean(x^2) + eps) * weight, one with compressed weights, for few rows in turn with many,
    in one network; rows are as small and as large as halves allow."""
    eps, weight = 10.0 ** rng.uniform(-6, -2), rng.uniform(-30, 30, depth).astype(np.float16)
    plain = random_halves(rng, (columns, depth))
    packed = Weights.random(rng, "u4", (depth, 24), depth // 32, True, zero_point="u4", bias=True)
    program = compile_topology(engine, _normalised_products(eps, weight, plain, packed), OpenVinoShapeInference(),
                               BuildOptions())
    assert kernels_of(program) >= {"matmul_few_8", "mvn_left_to_readers"}
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    for batch, rows in ((1, 1), (2, 3), (1, 8), (1, 9), (int(rng.integers(1, 4)), int(rng.integers(1, 40))), (2, 4)):
        data = random_halves(rng, (batch, rows, depth)).astype(np.float64)
        given = [(data * 10.0 ** rng.uniform(-4, 4.8, (batch, rows, 1))).astype(np.float16),
                 random_halves(rng, (batch, rows, columns))]
        left = given[0].astype(np.float64)
        left = left / np.sqrt((left ** 2).mean(-1, keepdims=True) + eps) * weight
        wanted = {"sum": left @ plain.T.astype(np.float64) + given[1],
                  "two": left @ packed.unpacked(True) + packed.arrays["bias"]}
        for name, found in zip(program.outputs, execute(network, given), strict=True):
            assert_close(found.astype(np.float64), wanted[name], TOLERANCE, f"{name} of {batch} x {rows} rows")


def _normalised_products(eps: float, weight: np.ndarray, plain: np.ndarray, packed: Weights) -> Topology:
    f16, depth = ElementType.of("f16"), len(weight)
    return Topology(
        Input("x", shape=(ANY, ANY, depth), element_type=f16),
        Constant("axes", value=np.array([-1]), element_type=ElementType.of("i64")),
        Constant("weight", value=weight, element_type=f16), Constant("plain", value=plain, element_type=f16),
        *packed.constants(), Input("other", shape=(ANY, ANY, len(plain)), element_type=f16),
        MVN("norm", ("x", "axes"), eps=eps, centre=False),
        Eltwise("rows", (Port("weight"), Port("norm")), mode="Multiply"),
        MatMul("one", ("rows", "plain"), transpose_b=True),
        MatMul("two", ("rows", *packed.arrays), transpose_b=True, quantisation=Quantisation(2, 3)),
        Eltwise("sum", (Port("one"), Port("other")), mode="Add"))


def check_attention(engine: Engine, rng: np.random.Generator, widths: tuple[int, int], masked: str,
                    sizes: Iterable[tuple[int, int, int]], kernel: str = "") -> None:
    """Three heads of so many batches, queries and keys in turn, in one network; `widths`: those of a key and of a
    value; `masked`: "", "causal", "added", "boolean" or "hidden", which is added and hides what is behind a query."""
    from openvino import opset13 as op
    depth, width = widths
    inputs = [op.parameter([-1, 3, -1, size], ov.Type.f16) for size in (depth, depth, width)]
    if masked in ("added", "boolean", "hidden"):
        inputs.append(op.parameter([-1, 1, -1, -1], ov.Type.boolean if masked == "boolean" else ov.Type.f16))
    attention = op.scaled_dot_product_attention(*inputs, causal=masked == "causal", name="tiled")
    network = network_of(engine, ov.Model([attention], inputs, "attention"), kernel)
    assert any(name.startswith(kernel or "sdpa_mma") for name in kernels_of(network.program))
    for batch, queries, keys in sizes:
        keys = queries if masked == "causal" else keys
        given = [random_halves(rng, (batch, 3, rows, size)) * 3
                 for rows, size in ((queries, depth), (keys, depth), (keys, width))]
        if len(inputs) == 4:
            given.append(_mask(rng, masked, (batch, 1, queries, keys)))
        expected = _attention(*given[:3], given[3] if len(given) == 4 else None, masked == "causal")
        assert_close(execute(network, given)[0].astype(np.float64), expected, TOLERANCE,
                     f"{batch} x {queries} queries x {keys} keys")


def _mask(rng: np.random.Generator, masked: str, shape: Shape) -> np.ndarray:
    """One that hides the first key of no query; one that hides what is behind a query may add nothing else."""
    mask = rng.random(shape) < 0.7 if masked == "boolean" else random_halves(rng, shape)
    if masked == "hidden":
        mask *= rng.integers(2)
        mask[np.broadcast_to(np.arange(shape[3]) > np.arange(shape[2])[:, None], shape)] = -np.inf
    mask[..., 0] = mask.dtype == bool
    return mask


def _attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None,
               causal: bool) -> np.ndarray:
    query, key, value = (x.astype(np.float64) for x in (query, key, value))
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    elif mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ value


def check_convolution(engine: Engine, rng: np.random.Generator, kernel: str, channels: int, filters: Shape,
                      stride: int, dilations: Shape, pictures: Iterable[Shape] = PICTURES) -> None:
    """relu(conv(x) + bias) + other over so many pictures of such sizes in turn, in one network."""
    from openvino import opset13 as op
    outputs = random_size(rng, 150, False)
    weights, bias = random_halves(rng, (outputs, channels, *filters)), random_halves(rng, (outputs,))
    pad = [size // 2 for size in filters]
    x = op.parameter([-1, channels, *(-1 for _ in filters)], ov.Type.f16)
    convolved = op.convolution(x, op.constant(weights), [stride] * len(filters), pad, pad, list(dilations),
                               name="tiled")
    _check_convolved(engine, rng, kernel, convolved, (weights[None], bias), (stride, pad, dilations), pictures)


def check_group_convolution(engine: Engine, rng: np.random.Generator, kernel: str, groups: Shape, filters: Shape,
                            stride: int, pictures: Iterable[Shape] = PICTURES) -> None:
    """The same of `groups` (their number, the outputs and the inputs of each) of channels."""
    from openvino import opset13 as op
    number, outputs, inputs = groups
    weights, bias = random_halves(rng, (*groups, *filters)), random_halves(rng, (number * outputs,))
    pad, ones = [size // 2 for size in filters], [1 for _ in filters]
    x = op.parameter([-1, number * inputs, *(-1 for _ in filters)], ov.Type.f16)
    convolved = op.group_convolution(x, op.constant(weights), [stride] * len(filters), pad, pad, ones, name="tiled")
    _check_convolved(engine, rng, kernel, convolved, (weights, bias), (stride, pad, ones), pictures)


def _check_convolved(engine: Engine, rng: np.random.Generator, kernel: str, convolved: ov.Node,
                     constants: tuple[np.ndarray, np.ndarray], steps: tuple[int, Shape, Shape],
                     pictures: Iterable[Shape]) -> None:
    from openvino import opset13 as op
    weights, bias = constants
    channels, along = len(bias), (1,) * (weights.ndim - 3)
    other = op.parameter([-1, channels, *(-1 for _ in along)], ov.Type.f16)
    result = op.add(op.relu(op.add(convolved, op.constant(bias.reshape(1, -1, *along)))), other)
    x = convolved.input_value(0).get_node()
    network = network_of(engine, ov.Model([result], [x, other], "convolution"), kernel)
    assert any(name.startswith(kernel) for name in kernels_of(network.program))
    for batch, *sizes in pictures:
        data = random_halves(rng, (batch, weights.shape[0] * weights.shape[2], *sizes))
        parts = np.split(data, len(weights), 1)
        expected = np.concatenate([_convolution(*each, *steps) for each in zip(parts, weights, strict=True)], 1)
        expected += bias.reshape(-1, *along)
        added = random_halves(rng, expected.shape)
        assert_close(execute(network, [data, added])[0].astype(np.float64), np.maximum(expected, 0) + added, TOLERANCE,
                     f"{data.shape} by {weights.shape}")


def _convolution(data: np.ndarray, weights: np.ndarray, stride: int, pad: Shape, dilations: Shape) -> np.ndarray:
    """PyTorch's formula."""
    _, _, *filters = weights.shape
    data = np.pad(data.astype(np.float64), ((0, 0), (0, 0), *((size, size) for size in pad)))
    sizes = [(size - dilation * (taps - 1) - 1) // stride + 1
             for size, taps, dilation in zip(data.shape[2:], filters, dilations, strict=True)]
    result = np.zeros((len(data), len(weights), *sizes))
    for tap in np.ndindex(*filters):
        seen = tuple(slice(at * dilation, at * dilation + (size - 1) * stride + 1, stride)
                     for at, dilation, size in zip(tap, dilations, sizes, strict=True))
        result += np.moveaxis(np.tensordot(weights[(..., *tap)].astype(np.float64), data[(..., *seen)], (1, 1)), 0, 1)
    return result
