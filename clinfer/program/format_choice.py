"""Chooses the formats in which the nodes of a graph work, so that reorders move as little as possible.

A node has layout candidates, each of other formats. Going forward, every one gets the time that it costs together with
all that comes before it: that of its kernel, and of reorders of its inputs. Where several nodes read a tensor, each
carries its share of what came before. Going back, every node takes the one that costs least, now that it is known in
which formats its readers want the result. For chains and trees this is the least that there is.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clinfer.base.format import Format
from clinfer.base.layout import NO_PADDING, Layout, Padding
from clinfer.kernels.contract import Problem
from clinfer.kernels.cost import reorder_time
from clinfer.kernels.selector import FAR_SLOWER, NAMED, STANDS_IN, Judged, Selection, alternatives
from clinfer.ops import kernels_of
from clinfer.program.alike import identity_of
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.kept_choices import kept_choices
from clinfer.program.sample_sizes import Sample
from clinfer.runtime.capabilities import Capabilities
from clinfer.topology import Port, Primitive

SAMPLE_SIZES = ((1, 64, 256), (1, 1, 1), (1, 8, 8), (1, 1000, 1000), (1000, 64, 64))
"""For the first axis of inputs, for the others, and for those of pictures, where they are open: the usual ones, by
which formats are chosen, and those that kernels are built for besides."""
GPU_SAMPLE_SIZES = (*SAMPLE_SIZES, (32, 64, 64))
"""The same on GPUs, where batches of that size are computed by other tiles than one picture or a thousand."""
_NOTICED = 1.0
"""Nanoseconds below which two kernels take equally long."""
_SHARE = 0.05
"""Formats in which a node takes `FAR_SLOWER` times as long as in others for a larger sample, and loses such a share of
all that the sample takes, count as slower for the usual one, too: one row is no reason to compute a thousand slowly."""
_PAST = 1000
"""The length of states behind which models with states are asked about one more entry as well."""


def sample_sizes(device: Capabilities) -> tuple[tuple[int, int, int], ...]:
    """Those of a device."""
    return SAMPLE_SIZES if device.device_type == "CPU" else GPU_SAMPLE_SIZES


def samples_of(graph: Graph, context: BuildContext) -> list[Sample]:
    """The graph in each of these sizes; one alone if none is open. If it has states that grow, at last with these long
    and all else 1."""
    is_static = all(layout.is_static for node in graph for layout in node.layouts)
    sizes = sample_sizes(context.engine.capabilities)
    samples = [_sample(graph, context, *each) for each in sizes[:1 if is_static else None]]
    if not is_static and any(state.grows for state in graph.states):
        samples.append(Sample(graph, context, 1, 1, _PAST))
    return samples


def usual_sample(graph: Graph, context: BuildContext) -> Sample:
    """The graph in the usual sizes, the first of `samples_of`."""
    return _sample(graph, context, *sample_sizes(context.engine.capabilities)[0])


def _sample(graph: Graph, context: BuildContext, first: int, others: int, pictures: int) -> Sample:
    return Sample(graph, context, first, others, pictures=pictures)


def built_for(selection: Selection) -> tuple[str, ...]:
    """What each candidate of a selection was taken for, as users read it."""
    if selection.problem.is_static:
        return ("the sizes of the model",) * len(selection.candidates)
    sizes = sample_sizes(selection.problem.capabilities)
    names = dict(enumerate(("usual sizes", *(f"first sizes of {first}, others of {others}"
                                             for first, others, _ in sizes[1:]), f"sizes of 1 behind {_PAST}")))
    names |= {STANDS_IN: "what others do not accept", NAMED: "sizes that it accepts"}
    return tuple(names[number] for number in selection.samples)


@dataclass(frozen=True)
class LayoutCandidate:
    """How a node may work: on these layouts, with these kernels. None: any layout; no kernel. `times`: nanoseconds by
    the number of a sample, of those in which the node is known; `slower`: how many times the usual one counts."""

    inputs: tuple[Layout | None, ...]
    outputs: tuple[Layout, ...]
    selection: Selection | None = None
    times: Mapping[int, float] = field(default_factory=dict, compare=False)
    slower: float = field(default=1.0, compare=False)

    @property
    def cost(self) -> float:
        """Nanoseconds for the usual sizes, as they count."""
        return 0.0 if self.selection is None else self.slower * self.selection.cost

    def time(self, sample: int) -> float:
        """Nanoseconds in a sample."""
        return self.times.get(sample, 0.0 if self.selection is None else self.selection.cost)


def plain(layout: Layout) -> Layout:
    """The planar, unpadded layout of the same tensor."""
    return replace(layout, format=Format.planar(layout.rank), padding=NO_PADDING)


def choose_formats(graph: Graph, context: BuildContext, launching: set[str]) -> dict[str, LayoutCandidate]:
    """How each node shall work, by id. Those in `launching` launch kernels; the others want plain tensors."""
    kept = kept_choices(graph, context, launching)
    if kept is None:
        return _judge_all(graph, context, launching)
    problems = {node.id: problem_of(graph, node, context) for node in graph if node.id in launching}
    found = kept.find(problems)
    if found is not None:
        return {node.id: _layout_candidate(node, found[node.id]) if node.id in found else _without_kernels(graph, node)
                for node in graph}
    chosen = _judge_all(graph, context, launching)
    kept.keep(selection for id in problems if (selection := chosen[id].selection) is not None)
    return chosen


def _judge_all(graph: Graph, context: BuildContext, launching: set[str]) -> dict[str, LayoutCandidate]:
    candidates: dict[str, tuple[LayoutCandidate, ...]] = {}
    samples = samples_of(graph, context)
    for node in graph:
        candidates[node.id] = (_candidates(graph, node, context, candidates, samples)
                               if node.id in launching else (_without_kernels(graph, node),))
    if any(len(found) > 1 for found in candidates.values()):
        return _Choice(graph, context, _weighed(candidates, len(samples)), samples[0]).made()
    return {id: only for id, (only,) in candidates.items()}


def _weighed(candidates: Mapping[str, Sequence[LayoutCandidate]], samples: int) -> dict[str, list[LayoutCandidate]]:
    """The candidates of all nodes, those that would lose much in samples larger than the usual one as slower ones."""
    totals = [sum(min(each.time(number) for each in found) for found in candidates.values())
              for number in range(samples)]
    larger = [number for number, total in enumerate(totals) if totals[0] < total < float("inf")]

    def slower(candidate: LayoutCandidate, found: Sequence[LayoutCandidate]) -> float:
        factor = 1.0
        for number in larger:
            own, least = candidate.time(number), min(each.time(number) for each in found)
            if own - least > _SHARE * totals[number]:
                # What moves nothing, since it leaves memory as it is, takes no time.
                factor = max(factor, own / (FAR_SLOWER * max(least, _NOTICED)))
        return factor

    return {id: [replace(each, slower=slower(each, found)) for each in found] for id, found in candidates.items()}


def _layout_candidate(node: Node, selection: Selection) -> LayoutCandidate:
    """How a node works with a selection."""
    hidden = node.primitive.value_inputs
    wanted = tuple(None if i in hidden else layout for i, layout in enumerate(selection.problem.all_inputs))
    return LayoutCandidate(wanted, selection.problem.outputs, selection)


def _without_kernels(graph: Graph, node: Node) -> LayoutCandidate:
    wanted = (None if node.primitive.reads_shapes_only else plain(layout) for layout in graph.input_layouts(node))
    return LayoutCandidate(tuple(wanted), node.layouts)


def problem_of(graph: Graph, node: Node, context: BuildContext,
               inputs: tuple[Layout, ...] | None = None) -> Problem:
    """The problem of a node, with its inputs as they are, or as they are given."""
    return kernels_of(node.primitive).problem.of(
        node.primitive, graph.input_layouts(node) if inputs is None else inputs, node.layouts,
        context.engine.capabilities, context.known_values(graph, node), context.options.large_indices)


def _candidates(graph: Graph, node: Node, context: BuildContext, candidates: Mapping[str, Sequence[LayoutCandidate]],
                samples: Sequence[Sample]) -> tuple[LayoutCandidate, ...]:
    """The layout candidates of a node that launches kernels, given those of what it reads."""
    problem = problem_of(graph, node, context)
    numbers = [number for number, sample in enumerate(samples) if sample.is_inferred(node)]
    likely = [samples[n].problem(node, problem, node.primitive.value_inputs) for n in numbers]
    givens = tuple(_givens([dict.fromkeys(candidate.outputs[port.index] for candidate in candidates[port.primitive])
                            for port in node.inputs]))
    forced, refused = context.options.forced(node.id), context.refused_kernels(node.id)
    identities = [identity_of(each) for each in (problem, *likely)]
    key = None if None in identities or refused else (*identities, *numbers, len(samples), givens, forced)
    found = None if key is None else context.alike.candidates.get(key)
    if found is not None:
        return tuple(_of_primitive(candidate, node.primitive) for candidate in found)
    found = tuple(_judged(graph, node, context, givens, dict(zip(numbers, likely, strict=True))))
    if key is not None:
        context.alike.candidates[key] = found
    return found


def _of_primitive(candidate: LayoutCandidate, primitive: Primitive) -> LayoutCandidate:
    """A layout candidate of a node that is like the primitive's."""
    selection = candidate.selection
    assert selection is not None
    problem = replace(selection.problem, primitive=primitive)
    return replace(candidate, selection=replace(selection, problem=problem))


def _judged(graph: Graph, node: Node, context: BuildContext, givens: Sequence[tuple[Layout, ...]],
            likely: Mapping[int, Problem]) -> Iterable[LayoutCandidate]:
    """The layout candidates of a node for each of the layouts in which its inputs may come; `likely`: its problem in
    the samples, by their numbers."""
    found: dict[tuple[object, ...], LayoutCandidate] = {}
    judged: Judged = {}
    table, forced, numbers = kernels_of(node.primitive), context.options.forced(node.id), list(likely)
    for given in givens:
        problem = problem_of(graph, node, context, given)
        sizes = (problem,) if problem.is_static else tuple(likely.values())
        for selection in alternatives(table, problem, forced, sizes, judged, context.refused_kernels(node.id)):
            times = {}
            if likely and not problem.is_static:
                times = dict(zip(numbers, selection.sample_costs, strict=False))
                selection = replace(selection, samples=tuple(
                    numbers[n] if 0 <= n < len(numbers) else NAMED if n >= 0 else n
                    for n in selection.samples))
            inputs, outputs = selection.problem.all_inputs, selection.problem.outputs
            known = found.get((inputs, outputs))
            if known is None or known.selection is None or selection.cost < known.selection.cost:
                found[inputs, outputs] = replace(_layout_candidate(node, selection), times=times)
    return found.values()


def _givens(offered: Sequence[Mapping[Layout, None]]) -> Iterator[tuple[Layout, ...]]:
    """The inputs of a node, for each format in which one of them may come: all those that may in that format."""
    formats = dict.fromkeys(layout.format for layouts in offered if len(layouts) > 1 for layout in layouts)
    givens = [tuple(next((x for x in layouts if x.format == wanted), next(iter(layouts))) for layouts in offered)
              for wanted in formats or [None]]
    return iter(dict.fromkeys(givens))


class _Choice:
    """The two ways through a graph; `costs` has the nanoseconds of each layout candidate of a node, with all
    before it."""

    def __init__(self, graph: Graph, context: BuildContext, candidates: Mapping[str, Sequence[LayoutCandidate]],
                 sample: Sample) -> None:
        self._graph = graph
        self._candidates = candidates
        self._sample = sample
        self._ceilings = context.engine.capabilities.ceilings
        self._wanted: dict[Port, dict[Layout, None]] = {}
        self._outputs_are_plain = not context.options.is_internal
        self._costs: dict[str, list[float]] = {}
        self._sizes: dict[tuple[Port, Format, Padding], int] = {}

    def made(self) -> dict[str, LayoutCandidate]:
        """The layout candidate of each node."""
        nodes = list(self._graph)
        for node in nodes:
            self._costs[node.id] = [
                candidate.cost + sum(
                    self._cost_before(port, wanted) for port, wanted in dict.fromkeys(
                        zip(node.inputs, candidate.inputs, strict=True)))
                for candidate in self._candidates[node.id]]
        if self._outputs_are_plain:
            for port in self._graph.outputs.values():
                self._want(port, plain(self._graph.layout(port)))
        chosen = {}
        for node in reversed(nodes):
            totals = [cost + self._cost_behind(node, candidate)
                      for cost, candidate in zip(self._costs[node.id], self._candidates[node.id], strict=True)]
            chosen[node.id] = candidate = self._candidates[node.id][totals.index(min(totals))]
            for port, wanted in zip(node.inputs, candidate.inputs, strict=True):
                self._want(port, wanted)
        return chosen

    def _want(self, port: Port, layout: Layout | None) -> None:
        if layout is not None:
            self._wanted.setdefault(port, {})[layout] = None

    def _cost_before(self, port: Port, wanted: Layout | None) -> float:
        """A reader's share of what a tensor costs, and what it costs to bring it into a layout."""
        maker = self._graph[port.primitive]
        if maker.id in self._graph.constants or wanted is None:
            return 0.0
        share = max(len(self._graph.users(maker.id)), 1)
        return min(cost / share + self._reorder(port, candidate.outputs[port.index], wanted)
                   for cost, candidate in zip(self._costs[maker.id], self._candidates[maker.id], strict=True))

    def _cost_behind(self, node: Node, candidate: LayoutCandidate) -> float:
        """What reorders for the readers of a node cost; each layout is made once."""
        return sum(self._reorder(Port(node.id, index), layout, wanted) for index, layout in enumerate(candidate.outputs)
                   for wanted in self._wanted.get(Port(node.id, index), ()))

    def _reorder(self, port: Port, present: Layout, wanted: Layout) -> float:
        if present == wanted:
            return 0.0
        return reorder_time(self._ceilings, self._bytes(port, present) + self._bytes(port, wanted))

    def _bytes(self, port: Port, layout: Layout) -> int:
        key = port, layout.format, layout.padding
        if key not in self._sizes:
            self._sizes[key] = layout.with_shape(self._sample.layout(port).shape).byte_size
        return self._sizes[key]
