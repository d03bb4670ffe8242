"""Requests computed at once: which of them go together, their inputs stacked, their outputs taken apart."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clinfer.serve.messages import InferenceRequest

Key = tuple[tuple[str, tuple[int, ...]], ...]


def key_of(request: InferenceRequest) -> Key:
    """Requests of one key differ in their values and in the number of rows: they can be stacked.

    Sizes are never padded: what a request gets does not depend on its neighbours.
    """
    return tuple(sorted((tensor.name, tensor.values.shape[1:]) for tensor in request.inputs))


def group(requests: Sequence[InferenceRequest], max_rows: int) -> list[list[int]]:
    """The positions of the requests, those together that are computed at once: one key, `max_rows` rows at most.

    A request of more rows than that stands alone. Order is kept within a key.
    """
    open_groups: dict[Key, list[int]] = {}
    rows: dict[Key, int] = {}
    groups: list[list[int]] = []
    for index, request in enumerate(requests):
        key = key_of(request)
        if key not in open_groups or rows[key] + request.rows > max_rows:
            open_groups[key], rows[key] = [], 0
            groups.append(open_groups[key])
        open_groups[key].append(index)
        rows[key] += request.rows
    return groups


def stack(requests: Sequence[InferenceRequest]) -> dict[str, np.ndarray]:
    """The inputs of requests of one key, one request's rows below the other's."""
    if len(requests) == 1:
        return {tensor.name: tensor.values for tensor in requests[0].inputs}
    parts = [{tensor.name: tensor.values for tensor in request.inputs} for request in requests]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def split(outputs: dict[str, np.ndarray], rows: Sequence[int]) -> list[dict[str, np.ndarray]]:
    """For each request its rows of the outputs."""
    ends = np.cumsum(rows)
    return [{name: values[end - count:end] for name, values in outputs.items()}
            for end, count in zip(ends, rows, strict=True)]
