"""Operations of random models whose shapes follow from values: of inputs, or of what the device computes."""
from __future__ import annotations

import numpy as np
from openvino import opset13 as ops

from tests.oracle import ov
from tests.sequences.drafts import CHANNELS, Draft, Tensor, bounded_by, i64, operation, size_of

# -- values of inputs ---------------------------------------------------------------------------


@operation
def cut_in_two(draft: Draft, x: Tensor, number: int) -> bool:
    """VariadicSplit at a place that comes by value."""
    if not x.rank:
        return False
    axis = number % x.rank
    at = bounded_by(draft.value(), size_of(x, axis))
    lengths = ops.concat([at, i64(-1)], 0) if number // 4 % 2 else ops.concat(
        [at, ops.subtract(size_of(x, axis), at)], 0)
    made = ops.variadic_split(x.node, np.int64(axis), lengths)
    for part in range(2):
        draft.add(made.output(part), (*x.dims[:axis], draft.new_size(), *x.dims[axis + 1:]), x.exact)
    return True


@operation
def sliced(draft: Draft, x: Tensor, number: int) -> bool:
    """A slice with bounds that come by value, forwards or backwards."""
    if not x.rank:
        return False
    axis = number % x.rank
    first, last, step = ((i64(0), draft.value(), 1), (draft.value(), i64(10000), 2),
                         (draft.value(), i64(-10000), -1))[number // 4 % 3]
    made = ops.slice(x.node, first, last, i64(step), i64(axis))
    draft.add(made, (*x.dims[:axis], draft.new_size(), *x.dims[axis + 1:]), x.exact)
    return True


@operation
def strided(draft: Draft, x: Tensor, number: int) -> bool:
    if x.rank < 2:
        return False
    last = draft.value()
    made = ops.strided_slice(x.node, i64(0, 0), ops.concat([i64(0), last], 0), i64(1, 1), [0, 0], [1, 0])
    draft.add(made, (x.dims[0], draft.new_size(), *x.dims[2:]), x.exact)
    return True


@operation
def gathered(draft: Draft, x: Tensor, number: int) -> bool:
    """Rows in the order of a range that comes by value, repeated: 0, 1, .. modulo 1 or a static size."""
    if not x.rank:
        return False
    axis = number % x.rank
    if x.dims[axis] != CHANNELS:
        return False
    count = ops.squeeze(ops.maximum(draft.value(), i64(0)), i64(0))
    places = ops.mod(ops.range(np.int64(0), count, np.int64(1), "i64"), i64(CHANNELS))
    made = ops.gather(x.node, places, np.int64(axis))
    draft.add(made, (*x.dims[:axis], draft.new_size(), *x.dims[axis + 1:]), x.exact)
    return True


@operation
def tiled(draft: Draft, x: Tensor, number: int) -> bool:
    """As often as a value says (not 0, after which OpenVINO gives old shapes for tensors without elements)."""
    if not x.rank:
        return False
    axis = number % x.rank
    times = [i64(1)] * x.rank
    times[axis] = bounded_by(draft.value(), i64(3), 1)
    made = ops.tile(x.node, ops.concat(times, 0) if x.rank > 1 else times[0])
    draft.add(made, (*x.dims[:axis], draft.new_size(), *x.dims[axis + 1:]), x.exact)
    return True


@operation
def stretched(draft: Draft, x: Tensor, number: int) -> bool:
    """Broadcast with a new first axis whose size comes by value (not 0, for which OpenVINO's fusion is wrong)."""
    if x.rank > 4:
        return False
    count = bounded_by(draft.value(), i64(3), 1)
    target = ops.concat([count, ops.shape_of(x.node, "i64")], 0)
    draft.add(ops.broadcast(x.node, target), (draft.new_size(), *x.dims), x.exact)
    return True


@operation
def padded(draft: Draft, x: Tensor, number: int) -> bool:
    if not x.rank:
        return False
    axis = number % x.rank
    zeros = [i64(0)] * x.rank
    begin = list(zeros)
    begin[axis] = bounded_by(draft.value(), i64(3))
    made = ops.pad(x.node, ops.concat(begin, 0), ops.concat(zeros, 0), "constant", np.float32(0.25))
    draft.add(made, (*x.dims[:axis], draft.new_size(), *x.dims[axis + 1:]), x.exact)
    return True


@operation
def best(draft: Draft, x: Tensor, number: int) -> bool:
    """TopK along an axis, as many as a value says."""
    if not x.rank or not x.exact:
        return False
    axis = number % x.rank
    limit = bounded_by(bounded_by(draft.value(), i64(5), 1), size_of(x, axis))
    made = ops.topk(x.node, ops.squeeze(limit, i64(0)), axis, "max", "value")
    draft.add(made.output(0), (*x.dims[:axis], draft.new_size(), *x.dims[axis + 1:]), True)
    return True


# -- decided by data ----------------------------------------------------------------------------


@operation
def kept(draft: Draft, x: Tensor, number: int) -> bool:
    """The elements above a limit, found by NonZero."""
    if not x.rank or not x.exact:
        return False
    flat = ops.reshape(x.node, i64(-1), False)
    places = ops.reshape(ops.non_zero(ops.greater(flat, np.float32(0.2)), "i64"), i64(-1), False)
    draft.add(ops.gather(flat, places, np.int64(0)), (draft.new_size(),), True)
    return True


@operation
def counted(draft: Draft, x: Tensor, number: int) -> bool:
    """As many rows as there are elements above a limit: a size that the device computes."""
    if not x.rank or not x.exact:
        return False
    axes = np.arange(x.rank, dtype=np.int64)
    above = ops.reduce_sum(ops.convert(ops.greater(x.node, np.float32(0.6)), "i64"), axes, False)
    count = ops.reshape(above, i64(1), False)
    made = ops.slice(x.node, i64(0), count, i64(1), i64(0))
    draft.add(made, (draft.new_size(), *x.dims[1:]), True)
    return True


@operation
def either(draft: Draft, x: Tensor, number: int) -> bool:
    """If: both bodies give other shapes."""
    if not x.rank:
        return False
    condition = ops.greater(draft.value(), i64(0))
    one, two = (ops.parameter(x.node.get_partial_shape(), np.float32) for _ in range(2))
    axis = number % x.rank
    doubled = ops.result(ops.concat([one, ops.tanh(one)], axis))
    summed = ops.result(ops.reduce_sum(two, i64(axis), True) if number // 4 % 2 else two)
    made = ops.if_op(condition.output(0))
    made.set_then_body(ov.Model([doubled], [one]))
    made.set_else_body(ov.Model([summed], [two]))
    made.set_input(x.node, one, two)
    output = made.set_output(doubled, summed)
    draft.add(output, (*x.dims[:axis], draft.new_size(), *x.dims[axis + 1:]))
    return True


@operation
def repeated(draft: Draft, x: Tensor, number: int) -> bool:
    """Loop: as many runs as a value says (not 0, for which OpenVINO gives old results); the state halves, the sums of
    each run are joined."""
    if not x.rank:
        return False
    trips = ops.squeeze(bounded_by(draft.value(), i64(3), 1), i64(0))
    state = ops.parameter(x.node.get_partial_shape(), np.float32)
    new = ops.multiply(ops.add(state, np.float32(0.25)), np.float32(0.5))
    part = ops.unsqueeze(ops.reduce_sum(new, i64(number % x.rank), True), i64(0))
    loop = ops.loop(trips, ops.constant(True))
    loop.set_function(ov.Model([ops.constant(True).output(0), new.output(0), part.output(0)], [state]))
    loop.set_special_body_ports([-1, 0])
    loop.set_merged_input(state, x.node, new.output(0))
    last = loop.get_iter_value(new.output(0), -1)
    sums = loop.get_concatenated_slices(part.output(0), 0, 1, 1, -1, 0)
    axis = number % x.rank
    draft.add(last, x.dims)
    draft.add(sums, (draft.new_size(), *x.dims[:axis], 1, *x.dims[axis + 1:]))
    return True


@operation
def uniques(draft: Draft, x: Tensor, number: int) -> bool:
    """The distinct elements, sorted (never of nothing, for which OpenVINO gives one)."""
    if not x.rank or not x.exact:
        return False
    flat = ops.concat([np.ones(1, np.float32), ops.reshape(x.node, i64(-1), False)], 0)
    made = ops.unique(ops.floor(ops.multiply(flat, np.float32(4))), sorted=True)
    draft.add(made.output(0), (draft.new_size(),), True)
    return True


@operation
def swept(draft: Draft, x: Tensor, number: int) -> bool:
    """TensorIterator over the slices of one axis, forwards or backwards. There is one more along each axis, because
    OpenVINO crashes where there are none."""
    if not x.rank:
        return False
    axis, backwards = number % x.rank, bool(number // 4 % 2)
    longer = ops.pad(x.node, i64(*[0] * x.rank), i64(*[1] * x.rank), "constant", np.float32(0.75))
    dims = tuple(size + 1 if isinstance(size, int) else f"({size}+1)" for size in x.dims)
    shape = longer.get_output_partial_shape(0)
    shape[axis] = 1
    start = ops.multiply(ops.reduce_sum(longer, i64(axis), True), np.float32(0.125))
    part, state = (ops.parameter(shape, np.float32) for _ in range(2))
    new = ops.tanh(ops.add(part, state))
    made = ops.tensor_iterator()
    made.set_function(ov.Model([new], [part, state]))
    taken = (-1, -1, 0) if backwards else (0, 1, -1)
    made.set_sliced_input(part, longer.output(0), taken[0], taken[1], 1, taken[2], axis)
    made.set_merged_input(state, start.output(0), new.output(0))
    draft.add(made.get_iter_value(new.output(0), -1), (*dims[:axis], 1, *dims[axis + 1:]))
    draft.add(made.get_concatenated_slices(new.output(0), taken[0], taken[1], 1, taken[2], axis), dims)
    return True


@operation
def until(draft: Draft, x: Tensor, number: int) -> bool:
    """Loop that ends when data says so, with an If inside."""
    if not x.rank or not x.exact:
        return False
    shape = x.node.get_partial_shape()
    state, count = ops.parameter(shape, np.float32), ops.parameter([], np.int64)
    chosen = ops.if_op(ops.equal(ops.mod(count, np.int64(2)), np.int64(0)).output(0))
    one, two = (ops.parameter(shape, np.float32) for _ in range(2))
    halved, less = ops.result(ops.multiply(one, np.float32(0.5))), ops.result(ops.negative(two))
    chosen.set_then_body(ov.Model([halved], [one]))
    chosen.set_else_body(ov.Model([less], [two]))
    chosen.set_input(state.output(0), one, two)
    new = chosen.set_output(halved, less)
    axes = np.arange(x.rank, dtype=np.int64)
    goes_on = ops.greater(ops.reduce_sum(ops.convert(ops.greater(new, np.float32(0.26)), "i64"), axes, False),
                          np.int64(0))
    loop = ops.loop(ops.constant(np.int64(5)), ops.constant(True))
    loop.set_function(ov.Model([goes_on.output(0), new], [count, state]))
    loop.set_special_body_ports([0, 0])
    loop.set_merged_input(state, x.node, new)
    draft.add(loop.get_iter_value(new, -1), x.dims, True)
    return True


@operation
def resized(draft: Draft, x: Tensor, number: int) -> bool:
    """Interpolation to a height that comes by value (of data with a border, since OpenVINO makes up what is not
    there)."""
    if x.rank != 4:
        return False
    framed = ops.pad(x.node, i64(0, 0, 0, 0), i64(0, 0, 1, 0), "constant", np.float32(0.25))
    height = bounded_by(draft.value(), i64(7), 1)
    made = ops.interpolate(framed, height, ("nearest", "linear")[number % 2], "sizes", axes=i64(2))
    draft.add(made, (*x.dims[:2], draft.new_size(), x.dims[3]))
    return True


@operation
def marked(draft: Draft, x: Tensor, number: int) -> bool:
    """Scatter of a constant to where NonZero found something (never nothing, for which OpenVINO crashes)."""
    if not x.rank or not x.exact:
        return False
    flat = ops.concat([np.ones(1, np.float32), ops.reshape(x.node, i64(-1), False)], 0)
    places = ops.transpose(ops.non_zero(ops.greater(flat, np.float32(0.4)), "i64"), i64(1, 0))
    updates = ops.broadcast(np.float32(-0.5), ops.slice(ops.shape_of(places, "i64"), i64(0), i64(1), i64(1)))
    written = ops.slice(ops.scatter_nd_update(flat, places, updates), i64(1), i64(2**31), i64(1))
    made = ops.reshape(written, ops.shape_of(x.node, "i64"), False)
    draft.add(made, x.dims, True)
    return True
