"""Choices on disk: what one process has judged, later ones need not judge again.

A choice is found by all that it was made of. That of formats and kernels is made of the graph with its layouts, the
values that kernels are told, the device with its ceilings, tables of measured times, and the code. Names of nodes are
no part of it.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from clinfer.base import knobs
from clinfer.base.cache_folder import CacheFolder
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.tracing import log
from clinfer.base.version import VERSION, code_stamp
from clinfer.kernels.contract import Candidate, Formats, Problem
from clinfer.kernels.selector import ANYTHING, Selection, is_able
from clinfer.ops import kernels_of
from clinfer.program.blobs.records import Special, Writer
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.runtime.engine import Engine
from clinfer.topology import Primitive, attributes_of
from clinfer.tuning.database import database_of, uses_times

T = TypeVar("T")
FEWEST = 24
"""Nodes that launch kernels, below which judging takes no longer than reading a file."""
LARGEST_VALUE = 4096
"""Bytes of a constant that the host computes with, beyond which it is not compared."""
_LARGEST_FILE = 1 << 26
_SPECIALS = (Special(Format, lambda fmt: (fmt.name,), Format.of),
             Special(ElementType, lambda kind: (kind.name,), ElementType.of))


@dataclass(frozen=True)
class KeptRows:
    """Where one choice is kept: the file's name tells what was judged and the device, `made_with` (a digest) all else,
    so that another version of the code writes in place of what it cannot use."""

    folder: CacheFolder
    name: str
    made_with: str

    def find(self, understand: Callable[[list[Any]], T]) -> T | None:
        """What `understand` makes of the rows of a choice; its ValueError, TypeError, LookupError or ClinferError are
        as if nothing were kept."""
        content = self.folder.read(self.name, _LARGEST_FILE)
        if content is None:
            return None
        try:
            made_with, rows = json.loads(content)
            return understand(rows) if made_with == self.made_with else None
        except (ValueError, TypeError, LookupError, ClinferError) as error:
            log(1, f"the file {self.folder.path / self.name} is unusable and will be written anew: {error}")
            return None

    def keep(self, rows: Sequence[object]) -> None:
        """Write a choice: rows of plain data."""
        self.folder.write(self.name, [json.dumps([self.made_with, rows], separators=(",", ":")).encode()])


def kept_rows(context: BuildContext, judged: object) -> KeptRows | None:
    """Where a choice is kept that follows from the plain data `judged`, the device and the code. None: nowhere, because
    it depends on what the driver refuses, or is made of what is no data."""
    if not knobs.cache_enabled() or context.refused:
        return None
    try:
        digest = _digest_of((context.engine.device.driver_key, judged))
    except ClinferError as error:
        log(1, f"the choice is not kept: {error}")
        return None
    return KeptRows(CacheFolder("choices"), digest[:32], judged_with(context.engine))


@dataclass(frozen=True)
class KeptChoices:
    """Where the choice of formats and kernels of one graph is kept."""

    rows: KeptRows

    def find(self, problems: Mapping[str, Problem]) -> dict[str, Selection] | None:
        """The selections of nodes, by id, given their problems in planar formats in the order of the graph."""
        return self.rows.find(lambda rows: {
            id: _selection(problem, *row) for (id, problem), row in zip(problems.items(), rows, strict=True)})

    def keep(self, selections: Iterable[Selection]) -> None:
        """Write the selections of the nodes, in the order of the graph."""
        self.rows.keep([_row(selection) for selection in selections])


def kept_choices(graph: Graph, context: BuildContext, launching: set[str]) -> KeptChoices | None:
    """Where the choice of a graph is kept. None: nowhere, because it is small, depends on demands or on what the driver
    refuses, has padded tensors (where they lie depends on the choice itself), or holds what is no data."""
    if len(launching) < FEWEST or any(layout.padding for node in graph for layout in node.layouts):
        return None
    if any(context.options.forced(node.id) != ANYTHING for node in graph):
        return None
    rows = kept_rows(context, (context.options.is_internal, context.options.large_indices,
                               tuple(_nodes(graph, context, launching))))
    return None if rows is None else KeptChoices(rows)


def described(problem: Problem) -> object:
    """What a problem without values is, as plain data, whatever its primitive is called and reads."""
    return (type(problem).__name__, _kind_of(problem.primitive), tuple(map(str, problem.all_inputs)),
            tuple(map(str, problem.outputs)), problem.is_large)


def judged_with(engine: Engine) -> str:
    """A digest of what every choice of kernels depends on besides what is computed: the code, what the device can do,
    measured times."""
    abilities = engine.capabilities
    return _digest_of((VERSION, code_stamp(), abilities, uses_times(), database_of(abilities.hardware).digest))


def _digest_of(value: object) -> str:
    """A digest of plain data."""
    writer = Writer(_SPECIALS)
    digest = hashlib.sha256(writer.write(value))
    for chunk in writer.data:
        digest.update(chunk)
    return digest.hexdigest()


def _nodes(graph: Graph, context: BuildContext, launching: set[str]) -> Iterator[tuple[object, ...]]:
    """What each node of a graph is to the choice."""
    numbers = {node.id: number for number, node in enumerate(graph)}
    yield tuple((numbers[port.primitive], port.index) for port in graph.outputs.values())
    for node in graph:
        inputs = tuple((numbers[port.primitive], port.index) for port in node.inputs)
        is_constant = node.id in graph.constants
        kind = type(node.primitive).__name__ if is_constant or node.primitive.bodies else _kind_of(node.primitive)
        yield (kind, inputs, tuple(map(str, node.layouts)), node.on_host, is_constant, node.id in launching,
               tuple(_values(graph, node, context)))


def _kind_of(primitive: Primitive) -> object:
    """What a primitive is, whatever it is called and reads."""
    return (type(primitive).__name__, tuple(value for _, value in attributes_of(primitive)),
            tuple((_kind_of(fused.primitive), fused.operands) for fused in primitive.fused_ops))


def _values(graph: Graph, node: Node, context: BuildContext) -> Iterator[tuple[int, object]]:
    """What is known of the values on which shapes depend, of those that are constants."""
    for index, port in enumerate(node.inputs):
        data = graph.constants.get(port.primitive)
        is_asked = index in node.primitive.value_inputs or (node.on_host and not node.primitive.reads_shapes_only)
        if is_asked and data is not None and (
                index in node.primitive.value_inputs or data.layout.byte_size <= LARGEST_VALUE):
            yield index, data.on_host(context.stream)


def _row(selection: Selection) -> tuple[object, ...]:
    formats = selection.formats
    return ([fmt.name for fmt in formats.inputs], [fmt.name for fmt in formats.outputs],
            [(each.kernel.name, each.config_text) for each in selection.candidates],
            selection.rejected, selection.costs, selection.why, selection.cost, selection.samples)


def _selection(problem: Problem, inputs: Sequence[str], outputs: Sequence[str], names: Sequence[tuple[str, str]],
               rejected: Any, costs: Any, why: str, cost: float, samples: Sequence[int]) -> Selection:
    """A selection of its row; LookupError for a candidate that the table lacks, or that refuses the problem."""
    formats = Formats(tuple(map(Format.of, inputs)), tuple(map(Format.of, outputs)))
    wanted = problem.in_formats(formats)
    wanted_names = {name for name, _ in names}
    candidates = {(kernel.name, candidate.config_text): candidate
                  for kernel in kernels_of(problem.primitive).kernels if kernel.name in wanted_names
                  for candidate in (Candidate(kernel, config) for config in kernel.configs(wanted))
                  if kernel.formats(wanted) == formats and is_able(candidate, wanted)}
    return Selection(tuple(candidates[name, config] for name, config in names), formats, wanted,
                     tuple(map(tuple, rejected)), tuple(map(tuple, costs)), why, False, cost, tuple(samples))
