"""The pass pipeline, in order. A pass rewrites the graph through its editing API only."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Collection

from clinfer.base import knobs
from clinfer.base.errors import ClinferError
from clinfer.base.tracing import dump, log
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph
from clinfer.program.graph_drawing import draw_graph
from clinfer.program.passes.add_required_reorders import add_required_reorders
from clinfer.program.passes.alias_buffers import alias_buffers
from clinfer.program.passes.build_kernels import build_kernels
from clinfer.program.passes.drop_batches_of_one import drop_batches_of_one
from clinfer.program.passes.fill_channels import fill_channels
from clinfer.program.passes.float_integer_products import float_integer_products
from clinfer.program.passes.fold_batches import fold_batches
from clinfer.program.passes.fuse_attention import fuse_attention
from clinfer.program.passes.fuse_bias import fuse_bias
from clinfer.program.passes.fuse_conversion import fuse_conversion
from clinfer.program.passes.fuse_eltwise import fuse_eltwise
from clinfer.program.passes.fuse_factor import fuse_factor
from clinfer.program.passes.fuse_rms import fuse_rms
from clinfer.program.passes.fuse_rope import fuse_rope
from clinfer.program.passes.fuse_shuffles import fuse_shuffles
from clinfer.program.passes.gather_compressed_rows import gather_compressed_rows
from clinfer.program.passes.gather_narrow_rows import gather_narrow_rows
from clinfer.program.passes.gather_unconverted_indices import gather_unconverted_indices
from clinfer.program.passes.group_heads import group_heads
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.join_groups import join_groups
from clinfer.program.passes.join_parts import join_parts
from clinfer.program.passes.join_projections import join_projections
from clinfer.program.passes.join_shuffles import join_shuffles
from clinfer.program.passes.keep_caches_narrow import keep_caches_narrow
from clinfer.program.passes.keep_filters_compressed import keep_filters_compressed
from clinfer.program.passes.keep_weights_compressed import keep_weights_compressed
from clinfer.program.passes.keep_weights_narrow import keep_weights_narrow
from clinfer.program.passes.leave_beams_in_place import leave_beams_in_place
from clinfer.program.passes.leave_norms_to_products import leave_norms_to_products
from clinfer.program.passes.mark_host_nodes import mark_host_nodes
from clinfer.program.passes.move_eltwise_ahead import move_eltwise_ahead
from clinfer.program.passes.move_transpose_ahead import move_transpose_ahead
from clinfer.program.passes.name_state_lengths import name_state_lengths
from clinfer.program.passes.note_data_grids import note_data_grids
from clinfer.program.passes.pack_constants import pack_constants
from clinfer.program.passes.propagate_constants import propagate_constants
from clinfer.program.passes.read_parts import read_parts
from clinfer.program.passes.remove_needless_nodes import remove_needless_nodes
from clinfer.program.passes.remove_redundant_reorders import remove_redundant_reorders
from clinfer.program.passes.select_kernels import select_kernels
from clinfer.program.passes.sink_transposes import sink_transposes
from clinfer.program.passes.split_products import split_products
from clinfer.program.passes.store_on_grids import store_on_grids
from clinfer.program.passes.transform_filters import transform_filters
from clinfer.program.passes.turn_into_caches import turn_into_caches
from clinfer.program.passes.widen_decompression import widen_decompression

_COUNT = itertools.count()
_SHOWING_LEVEL = 5
"""Where on the CLINFER_DEBUG ladder graphs are shown after each pass."""
Pass = Callable[[Graph, BuildContext], None]

PIPELINE: tuple[Pass, ...] = (
    infer_layouts,
    drop_batches_of_one,
    keep_filters_compressed,
    keep_weights_compressed,
    gather_compressed_rows,
    widen_decompression,
    keep_weights_narrow,
    gather_narrow_rows,
    gather_unconverted_indices,
    propagate_constants,
    remove_needless_nodes,
    name_state_lengths,
    fuse_attention,
    fold_batches,
    fuse_rms,
    fuse_rope,
    fuse_shuffles,
    fuse_bias,
    group_heads,
    move_transpose_ahead,
    fuse_conversion,
    read_parts,
    keep_caches_narrow,
    leave_beams_in_place,
    turn_into_caches,
    split_products,
    join_projections,
    join_groups,
    fill_channels,
    mark_host_nodes,
    join_parts,
    sink_transposes,
    move_eltwise_ahead,
    float_integer_products,
    note_data_grids,
    store_on_grids,
    join_shuffles,
    fuse_eltwise,
    fuse_factor,
    transform_filters,
    leave_norms_to_products,
    select_kernels,
    add_required_reorders,
    remove_redundant_reorders,
    build_kernels,
    pack_constants,
    propagate_constants,
    remove_needless_nodes,
    alias_buffers,
)

OPTIONAL: tuple[Pass, ...] = (
    drop_batches_of_one,
    keep_filters_compressed,
    keep_weights_compressed,
    gather_compressed_rows,
    keep_weights_narrow,
    gather_narrow_rows,
    gather_unconverted_indices,
    fuse_attention,
    fold_batches,
    fuse_rms,
    fuse_rope,
    fuse_shuffles,
    fuse_bias,
    group_heads,
    move_transpose_ahead,
    fuse_conversion,
    read_parts,
    keep_caches_narrow,
    leave_beams_in_place,
    turn_into_caches,
    split_products,
    join_projections,
    join_groups,
    fill_channels,
    join_parts,
    sink_transposes,
    move_eltwise_ahead,
    float_integer_products,
    note_data_grids,
    store_on_grids,
    join_shuffles,
    fuse_eltwise,
    fuse_factor,
    transform_filters,
    leave_norms_to_products,
    remove_redundant_reorders,
    build_kernels,
    pack_constants,
    alias_buffers,
)
"""Passes without which a program is slower or larger, but computes the same."""

INTERNAL_PIPELINE: tuple[Pass, ...] = (infer_layouts, mark_host_nodes, select_kernels, add_required_reorders)


def run_pipeline(graph: Graph, context: BuildContext) -> None:
    """Run every pass, checking the graph after each; an inconsistency names the pass."""
    name = f"{next(_COUNT):03d}" + ("_constants" if context.options.is_internal else "")
    passes = INTERNAL_PIPELINE if context.options.is_internal else PIPELINE
    skipped = context.options.skipped_passes
    _check_skipped(skipped)
    passes = tuple(run for run in passes if run.__name__ not in skipped)
    is_shown = knobs.debug_level() >= _SHOWING_LEVEL or knobs.dump_dir() is not None
    for number, run in enumerate(passes):
        graph.history.current_pass = run.__name__
        run(graph, context)
        try:
            graph.check()
        except ClinferError as error:
            raise error.at(f"after pass {run.__name__}") from None
        if is_shown:
            _dump(graph, f"{name}/{number:02d}_{run.__name__}")


def _check_skipped(names: Collection[str]) -> None:
    if not names:
        return
    known = [run.__name__ for run in OPTIONAL]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ClinferError("skipped_passes names passes that cannot be left out", where="compile options",
                           values={"named": ", ".join(unknown)}, hint=f"those that can are {', '.join(known)}")


def _dump(graph: Graph, name: str) -> None:
    """Show a graph, and write it to `graphs/<program>/<pass>.txt` and `.dot`; programs are counted over the process."""
    if knobs.debug_level() >= _SHOWING_LEVEL:
        log(_SHOWING_LEVEL, f"graph after {name}:\n{graph.describe()}")
    if knobs.dump_dir() is not None:
        dump(f"graphs/{name}.txt", graph.describe() + "\n")
        dump(f"graphs/{name}.dot", draw_graph(graph))
