"""A Mamba: layers of a causal convolution and a selective scan, the scan as a loop over the words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as op

from bench.models.layers import integers, named
from bench.models.transformer import WeightSource, mean_square, product, seeded


@dataclass(frozen=True)
class Size:
    """The sizes of a Mamba; the defaults are those of Mamba-130m with fewer layers and words, and narrower."""

    layers: int = 6
    hidden: int = 256
    states: int = 16
    rank: int = 16
    taps: int = 4
    vocabulary: int = 4000

    @property
    def inside(self) -> int:
        return 2 * self.hidden


TINY = Size(layers=2, hidden=32, states=8, rank=4, vocabulary=300)


@dataclass(frozen=True)
class Mamba:
    """Its parts, in the form in which exporters write them; data is [batch, length, hidden]."""

    size: Size
    weights: WeightSource

    def linear(self, name: str, data: ov.Node, outputs: int, inputs: int) -> ov.Node:
        """data [..., inputs] times the transposed weights [outputs, inputs]."""
        return product(self.weights, name, data, outputs, inputs)

    def normalise(self, name: str, data: ov.Node) -> ov.Node:
        """Over the root of the mean square of the last axis, times a weight for each column."""
        mean = mean_square(data)
        scaled = op.multiply(data, op.power(op.add(mean, np.float32(1e-5)), np.float32(-0.5)))
        return op.multiply(self.weights(f"{name}.LayerNorm.weight", (self.size.hidden,)), scaled)

    def convolve(self, name: str, data: ov.Node) -> ov.Node:
        """Each channel of [batch, inside, length] over the words before: padded on both sides, then cut."""
        inside, taps = self.size.inside, self.size.taps
        weights = self.weights(f"{name}.weight", (inside, 1, 1, taps))
        wide = op.group_convolution(data, weights, [1], [taps - 1], [taps - 1], [1])
        biased = op.add(wide, self.weights(f"{name}.bias", (1, inside, 1)))
        length = op.gather(op.shape_of(data), integers([2]), integers(0))
        return op.swish(op.slice(biased, integers([0]), length, integers([1]), integers([2])))

    def scan(self, decay: ov.Output, fed: ov.Output, read: ov.Output) -> ov.Output:
        """state = decay * state + fed for each word, of [batch, inside, length, states]; what `read` [batch, length,
        states] gives of it, as [batch, inside, length]."""
        inside, states = self.size.inside, self.size.states
        part = [op.parameter([-1, inside, 1, states], np.float32) for _ in range(2)]
        seen = op.parameter([-1, 1, states], np.float32)
        state = op.parameter([-1, inside, states], np.float32)
        kept, new = (op.squeeze(each, integers([2])) for each in part)
        after = op.add(op.multiply(kept, state), new)
        out = op.matmul(after, seen, False, True)
        iterator = op.tensor_iterator()
        iterator.set_function(ov.Model([after, out], [*part, seen, state]))
        for inner, outer, axis in ((part[0], decay, 2), (part[1], fed, 2), (seen, read, 1)):
            iterator.set_sliced_input(inner, outer, 0, 1, 1, -1, axis)
        batch = op.gather(op.shape_of(decay), integers([0]), integers(0))
        start = op.broadcast(np.float32(0), op.concat([batch, integers([inside, states])], 0))
        iterator.set_merged_input(state, start.output(0), after.output(0))
        return iterator.get_concatenated_slices(out.output(0), 0, 1, 1, -1, 2)

    def mix(self, name: str, data: ov.Node) -> ov.Node:
        """One layer's mixer."""
        size = self.size
        both = op.transpose(self.linear(f"{name}.in", data, 2 * size.inside, size.hidden), integers([0, 2, 1]))
        flow, gate = op.split(both, integers(1), 2).outputs()
        flow = self.convolve(f"{name}.convolution", flow)
        words = op.transpose(flow, integers([0, 2, 1]))
        picked = self.linear(f"{name}.pick", words, size.rank + 2 * size.states, size.inside)
        widths = integers([size.rank, size.states, size.states])
        step, put, read = op.variadic_split(picked, integers(2), widths).outputs()
        step = op.add(self.linear(f"{name}.step", step, size.inside, size.rank),
                      self.weights(f"{name}.step.bias", (size.inside,)))
        step = op.softplus(op.transpose(step, integers([0, 2, 1])))
        rates = -np.broadcast_to(np.arange(1, size.states + 1, dtype=np.float32), (size.inside, size.states))
        wide = op.unsqueeze(step, integers([3]))
        decay = op.exp(op.multiply(wide, np.ascontiguousarray(rates[None, :, None])))
        fed = op.multiply(op.multiply(wide, op.unsqueeze(put, integers([1]))), op.unsqueeze(flow, integers([3])))
        skip = op.multiply(flow, self.weights(f"{name}.skip", (1, size.inside, 1)))
        mixed = op.multiply(op.add(self.scan(decay.output(0), fed.output(0), read), skip), op.swish(gate))
        return self.linear(f"{name}.out", op.transpose(mixed, integers([0, 2, 1])), size.hidden, size.inside)


def build(batch: int = -1, length: int = -1, size: Size = Size(), seed: int = 2312) -> ov.Model:
    """Input `tokens` [batch, length] i64, output `scores` [batch, length, vocabulary] f32; -1 leaves a size dynamic."""
    mamba = Mamba(size, seeded(seed))
    tokens = named(op.parameter([batch, length], np.int64, name="tokens"), "tokens")
    table = op.constant(mamba.weights("embedding", (size.vocabulary, size.hidden)))
    data: ov.Node = op.gather(table, tokens, integers(0))
    for number in range(size.layers):
        name = f"layer{number}"
        data = op.add(data, mamba.mix(name, mamba.normalise(name, data)))
    scores = mamba.linear("head", mamba.normalise("last", data), size.vocabulary, size.hidden)
    return ov.Model([named(scores, "scores")], [tokens], "mamba")
