"""Whether the kernel of a custom operation keeps to its tensors, and writes all of them."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clinfer.api.config import CompileConfig
from clinfer.api.custom_operations import converters_of, registered_kernels
from clinfer.api.device_choice import choose_device
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import Dim, StaticShape, admits, is_static, show
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.states import read_source
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Primitive, Topology

_GUARD = 1 << 14
"""Bytes in front of a tensor and behind it: writes that miss it by less are found."""
_PATTERNS = (0xA5, 0x5A)


def check_op(model: ov.Model, inputs: Sequence[np.ndarray], device_name: str = "AUTO") -> list[np.ndarray]:
    """Run a model of one custom operation between its inputs and outputs, and look at what its kernel touches.

    The kernel runs twice, on tensors among guard bytes, whose outputs hold other bytes before each run. `inputs`: an
    array for each Parameter. Returns the outputs, for a comparison with what is expected.
    Errors: ClinferError for a kernel that writes outside its outputs or into its inputs, that leaves elements of an
    output as they were (so that the shape rule promises more than there is) or whose results depend on them, and for a
    shape rule that says of open sizes what does not hold for these.
    """
    config = CompileConfig(precision="f32", registered=registered_kernels())
    source = read_source(model, "f32", converters=converters_of(config))
    operation, arrays = _only_operation(source.topology), dict(zip(source.inputs, inputs, strict=True))
    shapes = _output_shapes(operation, source.topology, arrays)
    engine = Engine(choose_device(device_name))
    program = compile_topology(engine, source.topology, OpenVinoShapeInference())
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    taken = {name: _Guarded(network, f"input {name!r}", operation.where,
                            Layout.planar(array.shape, program.inputs[name].element_type))
             for name, array in arrays.items()}
    made = {name: _Guarded(network, f"output {name!r}", operation.where,
                           Layout.planar(shapes[port.index], program.outputs[name].layout.element_type))
            for name, port in source.topology.outputs.items()}
    runs = [_run(network, arrays, taken, made, pattern) for pattern in _PATTERNS]
    return [_compared(made[name], [run[name] for run in runs]) for name in source.outputs]


def _only_operation(topology: Topology) -> Primitive:
    found = [primitive for primitive in topology if not isinstance(primitive, Input | Constant)]
    if len(found) != 1 or found[0].stands_for is None:
        raise ClinferError("the model to check is not one custom operation between inputs and outputs", values={
            "operations": ", ".join(primitive.where for primitive in found) or "none"},
            hint="register its kernel by register_op, and put nothing else into the model")
    return found[0]


def _output_shapes(operation: Primitive, topology: Topology, arrays: Mapping[str, np.ndarray]) -> list[StaticShape]:
    """What the shape rule tells of these inputs, which its answer for open sizes must admit."""
    values = {**{p.id: p.value for p in topology if isinstance(p, Constant)}, **arrays}
    exact: tuple[StaticShape, ...] = tuple(values[port.primitive].shape for port in operation.inputs)
    made = operation.infer_shapes(exact, {}) or ()
    told = operation.infer_shapes(tuple((Dim(),) * len(shape) for shape in exact), {}) or ()
    shapes = []
    for index, (general, shape) in enumerate(zip(told, made, strict=True)):
        found = () if shape is None else tuple(size for size in shape if isinstance(size, int))
        if not is_static(shape) or not admits(general, found):
            raise ClinferError("the shape rule contradicts itself, or leaves sizes open", where=operation.where,
                               values={"output": index, "for open sizes": show(general), "for these": show(shape)})
        shapes.append(found)
    return shapes


class _Guarded:
    """Memory of a tensor with guard bytes on both sides; `what` and `where` name it in errors."""

    def __init__(self, network: Network, what: str, where: str, layout: Layout) -> None:
        self.what = f"{what}, {layout}"
        self.where = where
        self.layout = layout
        self._stream, engine = network.stream, network.program.engine
        self._whole = engine.allocate_bytes(2 * _GUARD + layout.byte_size)
        self.memory = self._whole.part(_GUARD, max(layout.byte_size, 1)).reinterpret(layout)

    def prepare(self, pattern: int, content: np.ndarray | None = None) -> None:
        """Fill all with a byte; then the tensor with its values."""
        self._stream.fill(self._whole, pattern)
        if content is not None:
            self._stream.write(self.memory, self.layout.pack(content), blocking=True)
        self._stream.finish()

    def checked(self, pattern: int) -> np.ndarray:
        """The bytes of the tensor. Errors: ClinferError where a guard byte is another."""
        raw = self._stream.read(self._whole)
        end = _GUARD + self.layout.byte_size
        changed = np.flatnonzero(raw != pattern)
        before, behind = changed[changed < _GUARD], changed[changed >= end]
        if before.size or behind.size:
            raise ClinferError("the kernel writes outside a tensor", where=self.where, values={
                "tensor": self.what, "bytes in front of it": before.size, "bytes behind it": behind.size,
                "farthest behind": f"{max(int(behind[-1]) - end + 1, 0)} bytes" if behind.size else "none"},
                hint="compare the work sizes and indices of the kernel with the shapes, and the shape rule with both")
        return raw[_GUARD:end].copy()


def _run(network: Network, arrays: Mapping[str, np.ndarray], taken: Mapping[str, _Guarded],
         made: Mapping[str, _Guarded], pattern: int) -> dict[str, np.ndarray]:
    """The bytes of the outputs of one run."""
    for name, guarded in taken.items():
        guarded.prepare(pattern, arrays[name])
        network.set_input(name, guarded.memory, guarded.layout.static_shape)
    for name, guarded in made.items():
        guarded.prepare(pattern)
        network.set_output(name, guarded.memory)
    network.execute()
    network.stream.finish()
    for name, guarded in taken.items():
        packed = np.ascontiguousarray(guarded.layout.pack(arrays[name])).reshape(-1).view(np.uint8)
        if not np.array_equal(guarded.checked(pattern), packed):
            raise ClinferError("the kernel writes into an input", where=guarded.where, values={"tensor": guarded.what})
    return {name: guarded.checked(pattern) for name, guarded in made.items()}


def _compared(made: _Guarded, runs: Sequence[np.ndarray]) -> np.ndarray:
    """The values of an output, which both runs gave."""
    layout = made.layout
    first, second = (run.reshape(layout.count, -1) if layout.count else run.reshape(0, 1) for run in runs)
    unwritten = (first == _PATTERNS[0]).all(axis=1) & (second == _PATTERNS[1]).all(axis=1)
    different = (first != second).any(axis=1) & ~unwritten
    for places, what in ((unwritten, "the kernel leaves elements of an output unwritten"),
                         (different, "what the kernel gives depends on what was in memory before")):
        if places.any():
            at = np.unravel_index(int(np.flatnonzero(places)[0]), layout.static_shape)
            raise ClinferError(what, where=made.where, values={
                "tensor": made.what, "elements": int(places.sum()), "first at": tuple(map(int, at))},
                hint="compare the work sizes of the kernel with the shape, and the shape rule with both")
    return layout.unpack(runs[0])
