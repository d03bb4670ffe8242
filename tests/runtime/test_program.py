"""Programs and kernels: building, loading, errors and arguments."""
from __future__ import annotations

import gc
import os
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.runtime.engine import Engine
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.memory_types import ALLOCATION_TYPES, AllocationType
from clinfer.runtime.program import entry_names
from clinfer.runtime.stream import Stream

SOURCE = """
typedef struct { int size; float scale; long offset; int pitches[20]; } Params;
kernel void apply(global const float* in, global float* out, Params p) {
    local float scratch[16];
    int i = get_global_id(0), l = get_local_id(0);
    scratch[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i + p.offset] = scratch[get_local_size(0) - 1 - l] * p.scale + p.pitches[i % p.size];
}
"""


def run_apply(engine: Engine, stream: Stream, kernel: Kernel, rng: np.random.Generator, rounds: int = 1,
              source: AllocationType = "cl_mem", target: AllocationType = "cl_mem") -> None:
    data = rng.standard_normal(64).astype(np.float32)
    given = engine.allocate_bytes(256, allocation_type=source)
    taken = engine.allocate_bytes(320, allocation_type=target)
    stream.write(given, data)
    kernel.set_buffer(0, given)
    kernel.set_buffer(1, taken)
    for _ in range(rounds):
        size, scale, offset = int(rng.integers(1, 20)), float(rng.integers(-4, 5)), int(rng.integers(0, 16))
        pitches = rng.integers(-50, 50, 20)
        raw = struct.pack("ifq20i", size, scale, offset, *pitches)
        assert len(raw) == 96
        kernel.set_bytes(2, raw)
        stream.fill(taken, 0xA5)
        stream.enqueue(kernel, (64,), (16,))
        reversed_groups = data.reshape(4, 16)[:, ::-1].reshape(-1)
        expected = reversed_groups * np.float32(scale) + pitches[np.arange(64) % size].astype(np.float32)
        got = stream.read(taken).view(np.float32)
        np.testing.assert_allclose(got[offset:offset + 64], expected, rtol=1e-6, atol=1e-6)
        assert (np.delete(got, slice(offset, offset + 64)).view(np.uint32) == 0xA5A5A5A5).all()


def test_struct_arguments(engine: Engine, stream: Stream, rng: np.random.Generator) -> None:
    kernel = engine.create_kernel(engine.build_program(SOURCE), "apply")
    run_apply(engine, stream, kernel, rng, rounds=20)


def test_a_binary_loads_and_runs(engine: Engine, stream: Stream, rng: np.random.Generator) -> None:
    binary = engine.build_program(SOURCE, "-DUNUSED=1").binary
    start = time.perf_counter()
    program = engine.load_binary(binary)
    print(f"{engine.device}: {len(binary)} bytes loaded in {(time.perf_counter() - start) * 1e3:.2f} ms")
    assert program.kernel_names == ("apply",)
    run_apply(engine, stream, engine.create_kernel(program, "apply"), rng)


NO_HOME = """
from clinfer.runtime.device import available_devices
from clinfer.runtime.engine import Engine
device = available_devices()[0]
engine = Engine(device)
kernel = engine.create_kernel(engine.build_program("kernel void f(int a) {}"), "f")
for value in range(20):
    kernel.set_bytes(0, value.to_bytes(4, "little"))
print(kernel.entry, engine.capabilities.device_type == device.type)
"""


def test_kernels_need_no_cache_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    nowhere = str(tmp_path / "file" / "below")
    environment = {**os.environ, "HOME": nowhere, "XDG_CACHE_HOME": nowhere, "CLINFER_CACHE_DIR": nowhere,
                   "POCL_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", NO_HOME], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("f True\n", 0), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "flipped", "of another driver"])
def test_a_bad_binary_never_reaches_the_driver(engine: Engine, rng: np.random.Generator, damage: str) -> None:
    program = engine.build_program(SOURCE)
    binary = program.binary
    if damage == "of another driver":
        program.device = replace(program.device, driver_version="another")
        binary = program.binary
    elif damage == "flipped":
        place = int(rng.integers(len(binary)))
        binary = binary[:place] + bytes([binary[place] ^ 0x10]) + binary[place + 1:]
    else:
        cut = binary[:int(rng.integers(len(binary)))]
        binary = {"empty": b"", "text": b"not a program", "cut": cut}[damage]
    with pytest.raises(ClinferError, match="damaged, or was made for another"):
        engine.load_binary(binary)


def test_build_failure_says_everything(engine: Engine) -> None:
    source = "kernel void ok(global int* x) { *x = 1; }\nkernel void broken(global int* x) { x = nonsense; }"
    with pytest.raises(ClinferError) as caught:
        engine.build_program(source, "-DSPECIAL=3")
    text = str(caught.value)
    for part in ("ok, broken", engine.device.full_name, "-DSPECIAL=3", "nonsense", "CLINFER_DEBUG=4"):
        assert part in text
    with pytest.raises(ClinferError, match="refused conv_ref of layer 7"):
        engine.build_program(source, what="conv_ref of layer 7")


def test_long_logs_are_cut(engine: Engine) -> None:
    wrong = "\n".join(f"x[{i}] = unknown_{i};" for i in range(15))
    with pytest.raises(ClinferError) as caught:
        engine.build_program(f"kernel void broken(global int* x) {{\n{wrong}\n}}")
    assert len(str(caught.value).splitlines()) < 60


def test_an_unknown_kernel_lists_those_that_exist(engine: Engine) -> None:
    program = engine.build_program(SOURCE)
    with pytest.raises(ClinferError, match="no usable kernel absent") as caught:
        engine.create_kernel(program, "absent")
    assert "apply" in str(caught.value)


def test_a_wrong_argument_is_an_error(engine: Engine) -> None:
    kernel = engine.create_kernel(engine.build_program(SOURCE), "apply")
    with pytest.raises(ClinferError, match="argument 9 of kernel apply: INVALID_ARG_INDEX"):
        kernel.set_bytes(9, bytes(4))
    for _ in range(20):
        kernel.set_bytes(2, bytes(96))
    with pytest.raises(ClinferError, match="argument 9 of kernel apply: INVALID_ARG_INDEX"):
        kernel.set_bytes(9, bytes(4))


def test_arguments_are_buffers_and_pointers_in_turn(engine: Engine, stream: Stream, rng: np.random.Generator) -> None:
    kernel = engine.create_kernel(engine.build_program(SOURCE), "apply")
    for source in (*ALLOCATION_TYPES, *reversed(ALLOCATION_TYPES)):
        for target in ALLOCATION_TYPES:
            run_apply(engine, stream, kernel, rng, source=source, target=target)


def test_a_kernel_keeps_its_arguments_alive(engine: Engine, stream: Stream) -> None:
    own = Engine(engine.device, engine.capabilities)
    kernel = own.create_kernel(own.build_program("kernel void f(global int* x) { x[0] = 7; }"), "f")
    kernel.set_buffer(0, own.allocate_bytes(4))
    gc.collect()
    assert own.ledger.current == 4
    own_stream = own.create_stream()
    own_stream.enqueue(kernel, (1,))
    own_stream.finish()
    del kernel
    assert own.ledger.current == 0


def test_kernels_of_one_program_are_independent(engine: Engine, stream: Stream) -> None:
    program = engine.build_program("kernel void f(global int* x, int v) { x[0] = v; }")
    first, second = (engine.create_kernel(program, "f") for _ in range(2))
    memories = [engine.allocate_bytes(4), engine.allocate_bytes(4)]
    for kernel, memory, value in ((first, memories[0], 11), (second, memories[1], 22)):
        kernel.set_buffer(0, memory)
        kernel.set_bytes(1, np.int32(value).tobytes())
    stream.enqueue(first, (1,))
    stream.enqueue(second, (1,))
    assert [int(stream.read(m).view(np.int32)[0]) for m in memories] == [11, 22]


def test_create_kernel_cost(engine: Engine) -> None:
    """Shows what a kernel object costs."""
    program = engine.build_program(SOURCE)
    start = time.perf_counter()
    kernels = [engine.create_kernel(program, "apply") for _ in range(100)]
    print(f"{engine.device}: {(time.perf_counter() - start) * 1e4:.1f} us per kernel object")
    assert len({kernel.handle.value for kernel in kernels}) == 100


def test_entry_names() -> None:
    source = "__kernel void a(int x){}\nkernel __attribute__((reqd_work_group_size(1,1,1)))\nvoid b ()"
    assert entry_names(source) == ["a", "b"]
    assert entry_names("void helper(); // kernel\nKERNEL(name)(int x)") == []
