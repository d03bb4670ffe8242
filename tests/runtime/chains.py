"""Launches that can be joined on any device, and what they compute."""
from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pytest

from clinfer.runtime import megakernels
from clinfer.runtime.body_key import Launch, key_of
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import Launches, WorkSize
from clinfer.runtime.memory import Memory
from clinfer.runtime.program import Program
from clinfer.runtime.ptx_kernel import Parameter, PtxKernel
from clinfer.runtime.ptx_megakernel import STAGE, Body, Megakernel
from clinfer.runtime.stage_table import exchange_job
from clinfer.runtime.staged_launches import Joined
from clinfer.runtime.stream import Stream

SOURCE = """
#ifdef __NV_CL_C_VERSION
#define AWAIT_OTHERS() asm volatile("// awaits others, has read" ::: "memory")
#else
#define AWAIT_OTHERS()
#endif
kernel void open(global const int* restrict in, global int* out, int n) {
    int i = get_global_id(0) + get_global_id(1) * n;
    out[i] = in[n * 3 - 1 - i] + i;
}
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void turn(global const int* in, global int* out, int n) {
    local int items[64];
    int i = get_local_id(0);
    AWAIT_OTHERS();
    items[63 - i] = get_group_id(0) * 64 + i < n ? in[get_group_id(0) * 64 + i] : n;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_group_id(0) * 64 + i < n) out[get_group_id(0) * 64 + i] = items[i] ^ n;
}
"""
BY_ITSELF = """
kernel void megakernel(global const uchar* table, global uint* counter, uint first, uint stages, uint met) {
    if (get_global_id(0) || *counter != met) return;
    for (uint s = 0; s < stages; ++s) {
        global const uint* stage = (global const uint*)(table + (first + s) * STAGE_BYTES);
        global const int* in = (global const int*)*(global const ulong*)(stage + 8);
        global int* out = (global int*)*(global const ulong*)(stage + 10);
        const int n = *(global const int*)(stage + 12);
        if (stage[0]) {
            for (uint i = 0; i < stage[3] * 64 && i < n; ++i) {
                const uint other = i / 64 * 64 + 63 - i % 64;
                out[i] = (other < n ? in[other] : n) ^ n;
            }
        } else {
            for (uint y = 0; y < stage[2]; ++y)
                for (uint x = 0; x < stage[4]; ++x) out[x + y * n] = in[n * 3 - 1 - (x + y * n)] + (int)(x + y * n);
        }
        *counter += s + 1 < stages && stage[STAGE_BYTES / 4 + 5] ? UNITS : 0;
    }
}
"""
EARLY = {"open": "// awaits others, has read\n", "turn": "// awaits others, has read 0\n"}
"""What kernels do before they await others; the second one may not, since others write there."""
PARAMETERS = (Parameter("in", 0, 8, True), Parameter("out", 8, 8, True), Parameter("n", 16, 4, False))
ROUNDS = 3
Array = np.ndarray


class Chain:
    """Launches from one memory to another and back, every `stride`-th of all, and the same in NumPy."""

    stride = 1

    def __init__(self, engine: Engine, wide: int, program: Program | None = None) -> None:
        self.engine, self.launches = engine, Launches()
        self.memories = [engine.allocate_bytes(4 * 3 * 5000, "numbers", zero=True) for _ in range(2)]
        program = program or engine.build_program(SOURCE)
        self.kernels = [engine.create_kernel(program, name, frozenset({0}))
                        for _ in range(ROUNDS) for name in ("open", "turn")]
        self.bind()
        self.wide = wide
        self.launches.extend(zip(self.kernels, self._sizes(wide), strict=True))

    def _sizes(self, wide: int) -> list[WorkSize]:
        for kernel in self.kernels:
            kernel.set_bytes(2, np.int32(wide if kernel.entry == "open" else 3 * wide).tobytes())
        return [WorkSize((wide, 3)), WorkSize((-(-3 * wide // 64) * 64,), (64,))] * ROUNDS

    def resize(self, wide: int) -> None:
        self.wide = wide
        for position, size in enumerate(self._sizes(wide)):
            self.launches.exchange(position * self.stride, (self.kernels[position], size))

    def resize_one(self, rng: np.random.Generator) -> None:
        """Let one launch be smaller, or whole again."""
        position = 2 * int(rng.integers(ROUNDS)) + 1
        whole = -(-3 * self.wide // 64)
        size = WorkSize((64 * int(rng.choice([whole, max(1, whole // 2)])),), (64,))
        self.launches.exchange(position, (self.kernels[position], size))

    def move(self) -> None:
        """Let another memory take the place of the first one, which is given back at once."""
        before, self.memories[0] = self.memories[0], self.engine.allocate_bytes(4 * 3 * 5000, "numbers", zero=True)
        self.bind()
        before.release()

    def go_by(self, other: Memory) -> None:
        """Let the first launch write to another memory, from which the second one reads."""
        self.kernels[0].set_buffer(1, other)
        self.kernels[1].set_buffer(0, other)

    def bind(self) -> None:
        """Give the kernels the memories that they lack."""
        for number, kernel in enumerate(self.kernels):
            kernel.set_buffer(0, self.memories[number % 2])
            kernel.set_buffer(1, self.memories[1 - number % 2])

    def run(self, stream: Stream, values: Array) -> None:
        stream.write(self.memories[0], values)
        stream.enqueue_all(self.launches)

    def result(self, stream: Stream) -> Array:
        return stream.read(self.memories[0], 4 * 3 * self.wide).view(np.int32)

    def expected(self, values: Array) -> Array:
        count = 3 * self.wide
        places = np.arange(count, dtype=np.int32)
        for _ in range(ROUNDS):
            values = values[::-1] + places
            padded = np.concatenate([values, np.full(-count % 64, count, np.int32)]).reshape(-1, 64)
            values = padded[:, ::-1].reshape(-1)[:count] ^ np.int32(count)
        return values

    def check(self, stream: Stream, rng: np.random.Generator) -> None:
        values = rng.integers(-1000, 1000, 3 * self.wide, np.int32)
        self.run(stream, values)
        np.testing.assert_array_equal(self.result(stream), self.expected(values))

    def join(self, stream: Stream, rng: np.random.Generator) -> None:
        """Run until the launches are stages."""
        for _ in range(megakernels.AGAIN):
            self.check(stream, rng)
        until = time.monotonic() + 60
        while self.launches.staged is None and time.monotonic() < until:
            time.sleep(0.05)
            self.check(stream, rng)
        assert self.launches.staged is not None


class Braid(Chain):
    """The launches of several chains, in turn; what it writes and expects is of the first one."""

    def __init__(self, engine: Engine, wide: int, count: int) -> None:
        super().__init__(engine, wide)
        self.stride = count
        self.others = [Chain(engine, wide + 7 * number, self.kernels[0].program) for number in range(1, count)]
        mixed = Launches()
        for launches in zip(self.launches, *(other.launches for other in self.others), strict=True):
            mixed.extend(launches)
        self.launches = mixed

    def check(self, stream: Stream, rng: np.random.Generator) -> None:
        others = [rng.integers(-1000, 1000, 3 * other.wide, np.int32) for other in self.others]
        for other, values in zip(self.others, others, strict=True):
            stream.write(other.memories[0], values)
        super().check(stream, rng)
        for other, values in zip(self.others, others, strict=True):
            np.testing.assert_array_equal(other.result(stream), other.expected(values))


class OneByOne(megakernels.Megakernels):
    """Megakernels of any device whose pointers are numbers: one work-item does all."""

    def _join(self, engine: Engine, launches: Sequence[Launch]) -> Joined:
        keys = dict.fromkeys(map(key_of, launches))
        bodies = tuple(Body(PtxKernel(key.entry, PARAMETERS, EARLY[key.entry], ""), key.local, False) for key in keys)
        built = Megakernel("", bodies, 256, STAGE.size + 32)
        program = engine.build_program(
            BY_ITSELF, f"-DSTAGE_BYTES={built.stage_bytes} -DUNITS={engine.capabilities.compute_units}u")
        exchange = engine.build(exchange_job(engine))
        return Joined(program, exchange, built, {key: number for number, key in enumerate(keys)},
                      frozenset(range(len(launches))))


def joinable_chain(engine: Engine, monkeypatch: pytest.MonkeyPatch, count: int = 1) -> Chain:
    """A chain on a device that has megakernels, or with a program that does one by one what a table says; or several,
    whose launches come in turn."""
    if engine.megakernels is None:
        monkeypatch.setitem(engine.__dict__, "megakernels", OneByOne(engine.capabilities.compute_units))
    return Chain(engine, 300) if count == 1 else Braid(engine, 300, count)
