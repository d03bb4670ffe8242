"""Makes plans: shape inference, host arithmetic, kernel choice and argument blocks of one segment."""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import StaticShape, admits, is_static, show
from clinfer.base.shape_inference import ShapeInference, ShapeRule, Values
from clinfer.kernels.implementation import StageLaunch, bind
from clinfer.kernels.spec import KernelParams
from clinfer.network.plan import Launch, Plan, RunBody, Step, Upload
from clinfer.program.program import Program, ProgramNode
from clinfer.runtime.stream import Stream, WorkSize


class Planner:
    """Plans segments of one program; belongs to one network, because shape rules are not shareable."""

    def __init__(self, program: Program, stream: Stream, shape_inference: ShapeInference,
                 kernel_index: Mapping[tuple[int, int, int], int],
                 observe: Callable[[int, int], None] | None = None) -> None:
        """`observe` is told (node, nanoseconds) of the planning of each node."""
        self._program = program
        self._stream = stream
        self._shape_inference = shape_inference
        self._kernel_index = kernel_index
        self._observe = observe
        self._rules: dict[int, ShapeRule] = {}

    def plan(self, segment: int, shapes: Mapping[int, StaticShape], values: Mapping[int, np.ndarray]) -> Plan:
        """The plan of a segment for the shapes and values of what comes in."""
        draft = _Draft(self._program, shapes, values)
        for index in self._program.segments[segment].nodes:
            node = self._program.nodes[index]
            start = time.perf_counter_ns()
            try:
                self._plan_node(draft, index, node)
            except ClinferError as error:
                raise error if node.primitive.where in error.where else error.at(node.primitive.where) from None
            if self._observe is not None:
                self._observe(index, time.perf_counter_ns() - start)
        return draft.finish()

    def _plan_node(self, draft: _Draft, index: int, node: ProgramNode) -> None:
        if node.kind == "host":
            self._plan_host(draft, node)
        elif node.kind == "body":
            values = self._values(draft, node)
            draft.steps.append(RunBody(index, node.primitive.body_to_run(values), node.primitive.run_limit(values)))
        else:
            values = self._values(draft, node)
            for tensor, shape in zip(node.outputs, self._infer(draft, index, node, values), strict=True):
                draft.set_shape(tensor, shape, node)
            if node.kind == "kernel":
                self._plan_kernel(draft, index, node, values)

    # -- host -----------------------------------------------------------------------------------

    def _plan_host(self, draft: _Draft, node: ProgramNode) -> None:
        primitive = node.primitive
        inputs: tuple[np.ndarray, ...] = ()
        if not primitive.reads_shapes_only:
            inputs = tuple(self._value(draft, t) for t in node.inputs)
        shapes = tuple(draft.layout(t).static_shape for t in node.inputs)
        try:
            results = primitive.evaluate(inputs, shapes)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ClinferError("the host cannot compute this primitive", where=primitive.where, values={
                "reason": error, "shapes": ", ".join(map(show, shapes)),
                "values": ", ".join(np.array2string(x, threshold=16) for x in inputs)}) from None
        for tensor, value in zip(node.outputs, results, strict=True):
            draft.set_shape(tensor, tuple(value.shape), node)
            draft.values[tensor] = value
            if self._program.tensors[tensor].storage != "host":
                draft.steps.append(Upload(tensor, draft.layout(tensor).pack(value)))

    def _values(self, draft: _Draft, node: ProgramNode) -> Values:
        return {i: self._value(draft, node.inputs[i]) for i in node.primitive.value_inputs}

    def _value(self, draft: _Draft, tensor: int) -> np.ndarray:
        constant = self._program.constants.get(tensor)
        if constant is not None:
            return constant.on_host(self._stream)
        return draft.values[tensor]

    # -- shapes ---------------------------------------------------------------------------------

    def _infer(self, draft: _Draft, index: int, node: ProgramNode, values: Values) -> tuple[StaticShape, ...]:
        shapes = tuple(draft.layout(t).static_shape for t in node.inputs[:node.primitive.own_input_count])
        found = self._rule(index, node)(shapes, values)
        for shape in found:
            if not is_static(shape):
                raise ClinferError("shape inference left a dimension open", values={
                    "inputs": ", ".join(map(show, shapes)), "output": show(shape)})
        return found  # type: ignore[return-value]

    def _rule(self, index: int, node: ProgramNode) -> ShapeRule:
        rule = self._rules.get(index)
        if rule is None:
            signature = node.primitive.signature()
            own = node.inputs[:node.primitive.own_input_count]
            types = tuple(self._program.tensors[t].layout.element_type for t in own)
            rule = node.primitive.infer_shapes if signature is None else self._shape_inference.rule(signature, types)
            self._rules[index] = rule
        return rule

    # -- kernels --------------------------------------------------------------------------------

    def _plan_kernel(self, draft: _Draft, index: int, node: ProgramNode, values: Values) -> None:
        params = KernelParams.of(
            node.primitive, tuple(draft.layout(t) for t in node.inputs), tuple(draft.layout(t) for t in node.outputs),
            self._program.engine.capabilities, values)
        if all(layout.count == 0 for layout in params.outputs):
            return
        choice = _choose(node, params)
        implementation = node.implementations[choice]
        for number, launch in enumerate(bind(implementation, params)):
            draft.launch(self._kernel_index[index, choice, number], launch)
        for slot, nbytes in zip(node.scratch_slots, implementation.spec.scratch(params), strict=False):
            draft.need_slot(slot, nbytes)


def _choose(node: ProgramNode, params: KernelParams) -> int:
    """The first implementation that accepts these static layouts."""
    for number, implementation in enumerate(node.implementations):
        check = implementation.spec.check_shapes
        if check is None or check(params) is None:
            return number
    raise ClinferError("no kernel accepts these shapes",
                       values={"inputs": ", ".join(map(str, params.inputs)),
                               "kernels": ", ".join(i.spec.name for i in node.implementations)})


class _Draft:
    """A plan in the making."""

    def __init__(self, program: Program, shapes: Mapping[int, StaticShape],
                 values: Mapping[int, np.ndarray]) -> None:
        self._program = program
        self.shapes = dict(shapes)
        self.values = dict(values)
        self.steps: list[Step] = []
        self._given = (set(shapes), set(values))
        self._slots: dict[int, int] = {}
        self._outputs: dict[int, int] = {}

    def layout(self, tensor: int) -> Layout:
        """The static layout of a tensor (constants have one from the start)."""
        layout = self._program.tensors[tensor].layout
        shape = self.shapes.get(tensor)
        return layout if shape is None else layout.with_shape(shape)

    def set_shape(self, tensor: int, shape: StaticShape, node: ProgramNode) -> None:
        """Record a tensor's shape and the memory that it needs."""
        described = self._program.tensors[tensor]
        if not admits(described.layout.shape, shape):
            raise ClinferError("a shape lies outside what the model declares", where=node.primitive.where,
                               values={"declared": show(described.layout.shape), "actual": show(shape)})
        self.shapes[tensor] = shape
        nbytes = self.layout(tensor).byte_size
        if described.storage == "slot":
            self.need_slot(described.slot, nbytes)
        elif described.storage == "output":
            self._outputs[described.root] = max(nbytes, self._outputs.get(described.root, 0))

    def need_slot(self, slot: int, nbytes: int) -> None:
        """Make sure that a slot has that many bytes."""
        self._slots[slot] = max(nbytes, self._slots.get(slot, 0))

    def launch(self, kernel: int, launch: StageLaunch) -> None:
        """Add a launch, unless there is nothing to do."""
        if 0 not in launch.dispatch.global_size:
            work = WorkSize(launch.dispatch.global_size, launch.dispatch.local_size)
            self.steps.append(Launch(kernel, launch.block, work))

    def finish(self) -> Plan:
        """The plan."""
        known_shapes, known_values = self._given
        return Plan(tuple(self.steps), {t: s for t, s in self.shapes.items() if t not in known_shapes},
                    {t: v for t, v in self.values.items() if t not in known_values},
                    tuple(self._slots.items()), tuple(self._outputs.items()))
