"""Plans one node: output shapes, host arithmetic, kernel choice, arguments and work sizes."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, starmap

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import UNBOUNDED, Shape, StaticShape, admits, is_static, is_too_large, show
from clinfer.kernels.aliasing import offset_within
from clinfer.kernels.contract import Lowered, Problem
from clinfer.kernels.epilogue import check_epilogue
from clinfer.kernels.implementation import Implementation, StageLaunch, bind
from clinfer.kernels.selector import cheapest
from clinfer.program.program import Program, ProgramNode
from clinfer.symbolic.shape_inference import ShapeInference, ShapeRule, Values
from clinfer.topology import Primitive
from clinfer.topology.shape_rules import PrimitiveRule

UNPLANNABLE = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What planning raises where attributes, sizes and values do not fit together, and for symbols that it cannot take."""
InferShapes = Callable[[Primitive, ShapeRule, tuple[StaticShape, ...], Values], "tuple[StaticShape, ...]"]
FindLarge = Callable[[int, Problem], "tuple[Implementation, Sequence[int]]"]
Evaluate = Callable[[Primitive, tuple[np.ndarray, ...], tuple[StaticShape, ...]], "tuple[np.ndarray, ...]"]


@dataclass(frozen=True, eq=False)
class NodePlan:
    """What a node makes of the shapes and values that it gets.

    `values`: of the outputs of a host node, else empty. `nbytes`: the memory of each output, `scratch_bytes`
    of each scratch buffer. `launches`: (kernel of the network's table, arguments and work sizes).
    `offsets`: for each of the node's aliases where its moved tensor starts within the other one, in bytes, or -1: it
    lies in memory of its own (as do all that are missing). `is_traceable`: traces may hold the numbers of its kernels.
    """

    shapes: tuple[StaticShape, ...]
    values: tuple[np.ndarray, ...]
    nbytes: tuple[int, ...]
    scratch_bytes: tuple[int, ...] = ()
    launches: tuple[tuple[int, StageLaunch], ...] = ()
    offsets: tuple[int, ...] = ()
    is_traceable: bool = True


class NodePlanner:
    """Plans nodes of one program; belongs to one network, because shape rules are not shareable.

    Everything that it does with shapes and values is arithmetic, so that it plans symbols as well, given
    other ways to infer shapes and to evaluate.
    """

    def __init__(self, program: Program, shape_inference: ShapeInference,
                 kernel_index: Mapping[tuple[int, int, int], int], find_large: FindLarge) -> None:
        """`find_large`: what computes a large problem of a node whose kernels index with 32 bits, and the numbers of
        its kernels."""
        self._program = program
        self._find_large = find_large
        self._shape_inference = shape_inference
        self._kernel_index = kernel_index
        self._rules: dict[int, ShapeRule] = {}
        self._planned: list[int] = []

    def plan(self, index: int, shapes: tuple[StaticShape, ...], values: Values,
             infer: InferShapes | None = None, evaluate: Evaluate | None = None) -> NodePlan:
        """The plan of a node for the shapes of its inputs and the known values among them.

        `infer`, `evaluate`: what stands in for the shape rule and the evaluation on the host.
        """
        node = self._program.nodes[index]
        if infer is None:
            self._planned.append(index)
        try:
            if node.kind == "host":
                return self._plan_host(node, shapes, values, evaluate or _evaluate)
            own = shapes[:node.primitive.shape_input_count]
            found = (infer or infer_sizes)(node.primitive, self.rule(index), own, values)
            node.primitive.check_inputs(own, values, found)
            outputs = self._layouts(node, found)
            if node.kind in ("view", "body"):
                return NodePlan(found, (), _bytes(outputs))
            return self._plan_kernel(index, node, self._problem(node, shapes, outputs, values))
        except ClinferError as error:
            raise error if node.primitive.where in error.where else error.at(node.primitive.where) from None
        except UNPLANNABLE as error:
            raise ClinferError("this primitive cannot be planned", where=node.primitive.where, values={
                "reason": f"{type(error).__name__}: {error}", "shapes": ", ".join(map(show, shapes)), **_shown(values)},
                hint="its attributes contradict its inputs, or this is a defect of clinfer") from error

    def take_planned(self) -> tuple[int, ...]:
        """The nodes that were planned on plain numbers since this was asked last."""
        planned, self._planned = tuple(self._planned), []
        return planned

    def problem(self, index: int, shapes: tuple[StaticShape, ...], values: Values,
                outputs: tuple[StaticShape, ...]) -> Problem:
        """The problem of a kernel node for the shapes of its inputs and outputs."""
        node = self._program.nodes[index]
        return self._problem(node, shapes, self._layouts(node, outputs), values)

    def choice(self, index: int, problem: Problem) -> int:
        """The number of the implementation that a node's plan launches for a problem."""
        return _choose(self._program.nodes[index], problem)

    def _problem(self, node: ProgramNode, shapes: tuple[StaticShape, ...], outputs: tuple[Layout, ...],
                 values: Values) -> Problem:
        inputs = tuple(self._program.tensors[t].layout.with_shape(s) for t, s in zip(node.inputs, shapes, strict=True))
        return node.implementations[0].problem.of(node.primitive, inputs, outputs,
                                                  self._program.engine.capabilities, values)

    def first_kernel(self, index: int) -> int:
        """The first of a node's kernels in the network's table, in which the others follow; 0 if it has none."""
        return self._kernel_index.get((index, 0, 0), 0)

    def _plan_host(self, node: ProgramNode, shapes: tuple[StaticShape, ...], values: Values,
                   evaluate: Evaluate) -> NodePlan:
        primitive = node.primitive
        inputs = () if primitive.reads_shapes_only else tuple(values[i] for i in range(len(node.inputs)))
        try:
            results = evaluate(primitive, inputs, shapes)
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            raise ClinferError("the host cannot compute this primitive", where=primitive.where, values={
                "reason": error, "shapes": ", ".join(map(show, shapes)),
                **_shown(dict(enumerate(inputs)))}) from None
        found = tuple(tuple(value.shape) for value in results)
        return NodePlan(found, results, _bytes(self._layouts(node, found)))

    def _layouts(self, node: ProgramNode, shapes: tuple[StaticShape, ...]) -> tuple[Layout, ...]:
        """The static layouts of a node's outputs; an error for shapes that the model does not admit."""
        layouts = []
        for tensor, shape in zip(node.outputs, shapes, strict=True):
            declared = self._program.tensors[tensor].layout
            if not admits(declared.shape, shape):
                raise ClinferError("a shape lies outside what the model declares", where=node.primitive.where,
                                   values={"declared": show(declared.shape), "actual": show(shape)})
            layouts.append(declared.with_shape(shape))
        return tuple(layouts)

    def rule(self, index: int) -> ShapeRule:
        """The shape rule of a node."""
        rule = self._rules.get(index)
        if rule is None:
            node = self._program.nodes[index]
            own = node.inputs[:node.primitive.shape_input_count]
            types = tuple(self._program.tensors[t].layout.element_type for t in own)
            rule = self._rules[index] = PrimitiveRule(node.primitive, types, self._shape_inference)
        return rule

    def _plan_kernel(self, index: int, node: ProgramNode, problem: Problem) -> NodePlan:
        shapes, nbytes = tuple(x.static_shape for x in problem.outputs), _bytes(problem.outputs)
        if all(layout.count == 0 for layout in problem.outputs):
            check_epilogue(problem)
            return NodePlan(shapes, (), nbytes)
        check_epilogue(problem)
        implementation, kernels, problem = self._implementation(index, node, problem)
        lowered = implementation.candidate.lower(problem)
        offsets = _offsets(node, lowered, problem)
        left_out = _left_out(node, lowered, offsets)
        if len(left_out) == len(lowered.stages):
            return NodePlan(shapes, (), nbytes, offsets=offsets)
        launches = tuple((kernels[number], launch)
                         for number, launch in enumerate(bind(implementation, problem, lowered))
                         if number not in left_out and 0 not in launch.work.global_size)
        return NodePlan(shapes, (), nbytes, tuple(lowered.scratch), launches, offsets,
                        implementation.problem.is_large == node.implementations[0].problem.is_large)

    def _implementation(self, index: int, node: ProgramNode,
                        problem: Problem) -> tuple[Implementation, Sequence[int], Problem]:
        """What computes a problem, the numbers of its kernels, and the problem with weights in its format."""
        if problem.is_large and not node.implementations[0].problem.is_large:
            implementation, kernels = self._find_large(index, problem)
            return implementation, kernels, implementation.candidate.in_own_formats(problem)
        choice = _choose(node, problem)
        implementation = node.implementations[choice]
        kernels = [self._kernel_index[index, choice, n] for n in range(len(implementation.stages))]
        return implementation, kernels, problem


def infer_sizes(primitive: Primitive, rule: ShapeRule, shapes: tuple[StaticShape, ...],
                values: Values) -> tuple[StaticShape, ...]:
    """What the shape rule gives, which has to be sizes that tensors can have."""
    found = rule(shapes, values)
    for shape in found:
        if not is_static(shape) or max(shape, default=0) >= UNBOUNDED or is_too_large(shape):  # type: ignore
            raise no_sizes(shapes, shape, values)
    return found  # type: ignore[return-value]


def no_sizes(shapes: Sequence[Shape | None], found: Shape | None, values: Values) -> ClinferError:
    """The error for what no tensor can have as its shape."""
    return ClinferError("a size is negative, or too large to be represented", values={
        "shapes": ", ".join(map(show, shapes)), "output": show(found), **_shown(values)})


def _shown(values: Values) -> dict[str, str]:
    """Values as errors tell them."""
    return {f"value of input {i}": np.array2string(value, threshold=16) for i, value in values.items()}


def _evaluate(primitive: Primitive, inputs: tuple[np.ndarray, ...],
              shapes: tuple[StaticShape, ...]) -> tuple[np.ndarray, ...]:
    return primitive.evaluate(inputs, shapes)


def _bytes(layouts: tuple[Layout, ...]) -> tuple[int, ...]:
    return tuple(layout.byte_size for layout in layouts)


def _offsets(node: ProgramNode, lowered: Lowered, problem: Problem) -> tuple[int, ...]:
    """Where the moved tensor of each alias starts within the other one, or -1."""
    if not node.aliases:
        return ()
    aliases = (aliased.alias for aliased in node.aliases)
    moves = lowered.moves
    found = (offset_within(alias, moves[alias.move], problem) for alias in aliases)
    return tuple(-1 if offset is None else offset for offset in found)


def _left_out(node: ProgramNode, lowered: Lowered, offsets: tuple[int, ...]) -> set[int]:
    """The stages that have nothing to do, because all that they move lies in its place."""
    if not node.aliases:
        return set()
    needless = {aliased.alias.move for aliased, offset in zip(node.aliases, offsets, strict=True) if offset >= 0}
    ends = tuple(accumulate(len(stage.moves) for stage in lowered.stages))
    spans = starmap(range, pairwise((0, *ends)))
    return {number for number, span in enumerate(spans) if span and needless.issuperset(span)}


def _choose(node: ProgramNode, problem: Problem) -> int:
    """The implementation that takes these static layouts in the least time; where one is forced, the first."""
    candidates = [implementation.candidate for implementation in node.implementations]
    if node.is_forced:
        number = next((i for i, each in enumerate(candidates) if each.accepts(problem) is None), -1)
    else:
        number = cheapest(candidates, problem)
    if number < 0:
        raise ClinferError("no kernel accepts these shapes",
                           values={"inputs": ", ".join(map(str, problem.inputs)),
                                   "kernels": ", ".join(each.name for each in candidates)})
    return number
