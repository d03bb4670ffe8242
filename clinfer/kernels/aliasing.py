"""Copies that need not be made: where a tensor may lie within another one, because a stage only moves its bytes."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clinfer.kernels.contract import Move, Problem


@dataclass(frozen=True)
class Alias:
    """A move that is needless where one of its two tensors lies within the other; a stage is left out if all of its
    moves are needless.

    `move`: its number among those of all stages. `output_moves`: the output lies within the input (the only move that
    writes the output, which it fills); else the input lies within the output.
    """

    move: int
    input: int
    output: int
    output_moves: bool


def aliases_of(moves: Sequence[Move]) -> tuple[Alias, ...]:
    """An alias for each move."""
    writers = [move.output for move in moves]
    return tuple(Alias(number, move.input, move.output, writers.count(move.output) == 1)
                 for number, move in enumerate(moves))


def offset_within(alias: Alias, move: Move, problem: Problem) -> int | None:
    """Where in bytes the moved tensor starts within the other one, so that the move is needless; None where it must be
    carried out."""
    if move.run is None or why_copied(alias, move, problem) is not None:
        return None
    source, target, _ = move.run
    return source if alias.output_moves else target


def why_copied(alias: Alias, move: Move, problem: Problem) -> str | None:
    """Why a move must be carried out for static layouts, or None."""
    if move.run is None:
        return "the elements are no single run of bytes on both sides"
    source, target, nbytes = move.run
    moved = problem.outputs[alias.output] if alias.output_moves else problem.inputs[alias.input]
    own, place = (target, source) if alias.output_moves else (source, target)
    if nbytes == 0:
        return "there are no elements"
    if own != 0 or nbytes != moved.byte_size:
        return "the run is not all of the tensor that would lie within the other"
    if place and not problem.capabilities.overlapping_parts:
        return "the device has no buffers that overlap"
    return None if place % problem.capabilities.buffer_alignment == 0 else "no buffer of the device can start there"
