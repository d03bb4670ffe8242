"""Constant indices of operations that take none outside of their data: compared with its sizes when these are known."""
from __future__ import annotations

from collections.abc import Sequence

from clinfer.base.errors import ClinferError
from clinfer.topology import SourceNode

Ranges = tuple[tuple[int, int], ...]
"""The least and the largest index along each axis that indices name; nothing where they are not known before a run."""


def constant_ranges(node: SourceNode, is_tuple: bool = False) -> Ranges:
    """Of input 1, if it is a constant with elements; `is_tuple`: its last axis has the indices of one place."""
    indices = node.constants.get(1)
    if indices is None or not indices.size:
        return ()
    columns = indices.reshape(-1, indices.shape[-1]).T if is_tuple else indices.reshape(1, -1)
    return tuple((int(column.min()), int(column.max())) for column in columns)


def check_indices(where: str, ranges: Ranges, sizes: Sequence[int]) -> None:
    """Raise ClinferError for an index outside of an axis of that size; negative ones count from the end."""
    for (least, largest), size in zip(ranges, sizes, strict=False):
        if least + size < 0 or largest >= size:
            raise ClinferError("an index lies outside of the tensor", where=where, values={
                "indices": f"{least} to {largest}", "size of the axis": size},
                hint="OpenVINO and ONNX Runtime refuse such indices, too; mask them out in the model")
