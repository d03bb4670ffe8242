"""What a program is made of beyond plain data: the device, kernels and their binaries, constants in device memory.

A kernel holds functions; it is written as the name of its candidate in the kernel table of its primitive, and the
problem of the build is lowered again. So nothing of a new operation has to be known here.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.schema import check_fields
from clinfer.base.version import VERSION, code_digest
from clinfer.kernels.contract import KernelTable, Problem
from clinfer.kernels.implementation import Implementation, stage_with_code
from clinfer.kernels.jitter import StageCode
from clinfer.kernels.kernel_cache import LoadedKernels, kernel_cache_of
from clinfer.kernels.recipe import BUILD_OPTIONS
from clinfer.ops import kernels_of
from clinfer.program.alike import identity_of
from clinfer.program.blobs.consistency import check_program
from clinfer.program.blobs.container import Blob, Opened, making_sense, refusal, seal
from clinfer.program.blobs.records import Reader, Special, Writer, maker_of
from clinfer.program.constants import ConstantData
from clinfer.program.program import Program
from clinfer.runtime.capabilities import Capabilities
from clinfer.runtime.engine import Engine
from clinfer.runtime.mapped_file import MappedFile
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream
from clinfer.topology import Topology

_HOST_CAPABILITIES = ("global_mem_size", "max_alloc_size", "ceilings")
"""What decides nothing about whether a program is right: the machine's memory, and how fast it was when that was
measured."""


def made_with(engine: Engine) -> dict[str, str]:
    """All that a program depends on besides the model: clinfer's code, the device, its driver and abilities.

    The abilities are compared one by one, because kernels bake some of them in and read others again at run time.
    """
    device = engine.device
    abilities = {name: str(value) for name, value in asdict(engine.capabilities).items()
                 if name not in _HOST_CAPABILITIES}
    return {"clinfer": VERSION, "clinfer's code": code_digest(), "device": device.full_name,
            "platform": f"{device.platform_name}, {device.platform_version}", "driver": device.driver_version,
            "processor": " ".join(device.processor),
            "build options": BUILD_OPTIONS, **abilities}


def save_program(program: Program, extra: object, also_made_with: Mapping[str, str],
                 specials: Sequence[Special] = ()) -> Blob:
    """A blob of a program and some plain data. Reads the constants back from the device (blocking). `specials`: how
    parts are written that only the caller knows."""
    stream = program.engine.create_stream()
    writer = Writer((*_specials(program.engine, stream), *specials))
    records = writer.write((tuple(_binaries(program)), program, extra))
    return seal({**made_with(program.engine), **also_made_with}, {"records": [records], "data": writer.data})


def load_program(content: memoryview, engine: Engine, also_made_with: Mapping[str, str],
                 specials: Sequence[Special] = (), mapped: MappedFile | None = None) -> tuple[Program, Any]:
    """The program of a blob, ready on the device, and what was saved with it.

    `content` may be released afterwards. `mapped`: the file in which it lies, if constants may stay there. Errors:
    ClinferError that says why the blob cannot be used.
    """
    opened = Opened(content)
    opened.check_made_with({**made_with(engine), **also_made_with})
    stream = engine.create_stream()
    reader = Reader((*_specials(engine, stream, mapped), *specials), opened.section("data"))
    try:
        loaded = reader.read(opened.section("records"))
    finally:
        stream.finish()
    if not (isinstance(loaded, tuple) and len(loaded) == 3 and isinstance(loaded[1], Program)):
        raise refusal("the compiled blob holds no program", {"it holds": type(loaded).__name__})
    binaries, program, extra = loaded
    with making_sense():
        check_program(program)
        codes = _codes(program)
        kernels = program.kernels
        kernels.hold(kernels.cache.adopt([(codes[kernel_id], binary) for kernel_id, binary in binaries]))
        _check_kernels(program)
    return program, extra


def _implementations(program: Program) -> Iterator[Implementation]:
    for node in program.nodes:
        yield from node.implementations
        for body in node.bodies:
            yield from _implementations(body)
    if program.initial is not None:
        yield from _implementations(program.initial)


def _codes(program: Program) -> dict[str, StageCode]:
    return {s.code.kernel_id: s.code for i in _implementations(program) for s in i.stages}


def _binaries(program: Program) -> list[tuple[str, bytes]]:
    """The binary of each built program, with the id of one of its kernels."""
    built = {id(held): (each, held) for each in _codes(program) for held in [program.kernels.program(each)]}
    return [(kernel_id, held.binary) for kernel_id, held in built.values()]


def _check_kernels(program: Program) -> None:
    for kernel_id in _codes(program):
        try:
            program.kernels.program(kernel_id)
        except KeyError:
            raise refusal("the compiled blob lacks a kernel", {"kernel": kernel_id}) from None


def _specials(engine: Engine, stream: Stream, mapped: MappedFile | None = None) -> tuple[Special, ...]:
    """`stream` reads constants (blocking) and writes them (the caller finishes it), unless they lie in `mapped`."""
    kernels = LoadedKernels(kernel_cache_of(engine))

    def write(layout: Layout | None, raw: memoryview) -> Memory:
        if layout is not None and len(raw) != layout.byte_size:
            raise ValueError(f"{len(raw)} bytes for a constant of {layout.byte_size}")
        memory = mapped.memory(engine, raw, layout) if mapped else None
        if memory is not None:
            return memory
        memory = engine.allocate_bytes(len(raw), "constant") if layout is None else engine.allocate_memory(
            layout, what="constant")
        stream.write(memory, np.frombuffer(raw, np.uint8))
        return memory

    return (
        Special(Engine, lambda _: (), lambda: engine),
        Special(LoadedKernels, lambda _: (), lambda: kernels),
        Special(Capabilities, lambda _: (), lambda: engine.capabilities),
        Special(ElementType, lambda kind: (kind.name,), ElementType.of),
        Special(Format, lambda fmt: (fmt.name,), Format.of),
        Special(Topology, lambda t: (tuple(t), t.outputs), lambda ps, outputs: Topology(*ps, outputs=outputs)),
        Special(Memory, lambda memory: (memory.layout, stream.read(memory).data), write),
        Special(ConstantData, lambda c: (c.layout, c.array, c.memory), maker_of(ConstantData)),
        Special(Implementation, _take_implementation, _Implementations().make),
    )


def _take_implementation(implementation: Implementation) -> Sequence[object]:
    problem = implementation.problem
    given = (problem.primitive, problem.inputs, problem.outputs, problem.capabilities, problem.values,
             problem.fused_inputs, problem.is_large)
    return implementation.name, given, tuple(part.code for part in implementation.stages)


class _Implementations:
    """Those that a blob names; what a candidate makes of a problem holds for all that are alike."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Implementation] = {}

    def make(self, name: str, given: tuple[Any, ...], codes: tuple[StageCode, ...]) -> Implementation:
        """The candidate of that name for a problem of these fields, with code that was generated before."""
        table = kernels_of(given[0])
        check_fields(table.problem, dict(zip((f.name for f in fields(table.problem)), given, strict=True)))
        problem = table.problem(*given)
        identity = identity_of(problem)
        if identity is None:
            return _implementation(table, name, problem, codes)
        key = name, identity, codes
        if key not in self._made:
            self._made[key] = _implementation(table, name, problem, codes)
        return replace(self._made[key], problem=problem)


def _implementation(table: KernelTable, name: str, problem: Problem, codes: tuple[StageCode, ...]) -> Implementation:
    candidate = next((each for each in table.candidates(problem) if each.name == name), None)
    if candidate is None:
        raise refusal("the compiled blob names a kernel that does not exist", {"kernel": name})
    stages = tuple(stage_with_code(stage, code, problem)
                   for stage, code in zip(candidate.lower(problem).stages, codes, strict=True))
    return Implementation(candidate, problem, stages)
