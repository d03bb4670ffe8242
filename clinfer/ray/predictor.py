"""A model as a class for `map_batches` of Ray Data: columns in, columns out, rows of all shapes."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.serve.compiled import ServedModel
from clinfer.serve.datatypes import numpy_type
from clinfer.serve.messages import Port
from clinfer.serve.rows import why_unbatched

Columns = dict[str, np.ndarray]
_Shapes = tuple[tuple[int, ...], ...]


class Predictor:
    """Computes a model's outputs for the rows of a dataset, which it adds to the columns that are there.

        found = rows.map_batches(clinfer.ray.Predictor, fn_constructor_args=("model.onnx",), concurrency=4, num_gpus=1)

    Each of the actors is one Predictor, with the model on one device: `device`, of those that Ray lets it see.
    `inputs` and `outputs` name the column of an input or output where it is called otherwise; with `outputs` only those
    named are kept.

    A row has an input's shape without the first axis. Where a model's rows do not know each other, which is tried when
    it is loaded, those of equal shapes are computed at once, `max_batch` at most; else each by itself, and its outputs
    keep their first axis unless that is 1 in the model. A row with as many axes as the input is the whole of it.

    Errors: ClinferError, also where columns are missing or do not fit.
    """

    def __init__(self, model: str | Path, device: str = "AUTO", *, inputs: Mapping[str, str] | None = None,
                 outputs: Mapping[str, str] | None = None, precision: str = "", max_batch: int = 32) -> None:
        properties = {"INFERENCE_PRECISION_HINT": precision} if precision else {}
        self._model = ServedModel(Path(model), device, properties)
        self._takes_rows = not why_unbatched(self._model)
        self._max_batch = max_batch if self._takes_rows else 1
        self._inputs = {port.name: (inputs or {}).get(port.name, port.name) for port in self._model.inputs}
        self._outputs = dict(outputs) if outputs else {port.name: port.name for port in self._model.outputs}
        known = {"inputs": set(self._inputs), "outputs": {port.name for port in self._model.outputs}}
        for what, names in (("inputs", inputs), ("outputs", outputs)):
            if not set(names or ()) <= known[what]:
                raise ClinferError(f"the model has no such {what}", where="Predictor", values={
                    "given": ", ".join(names or ()), "the model's": ", ".join(sorted(known[what]))})

    def __call__(self, batch: Columns) -> Columns:
        """The batch with the columns of the outputs. Columns of rows that differ in shape are object arrays."""
        missing = [column for column in self._inputs.values() if column not in batch]
        if missing:
            raise ClinferError("a column is missing", where="Predictor", values={
                "missing": ", ".join(missing), "there": ", ".join(batch)})
        rows = [self._row([batch[column][index] for column in self._inputs.values()])
                for index in range(len(next(iter(batch.values()), ())))]
        found: list[dict[str, np.ndarray]] = [{} for _ in rows]
        for together in self._groups(rows):
            for index, outputs in zip(together, self._compute([rows[index] for index in together]), strict=True):
                found[index] = outputs
        return {**batch, **{column: _column([outputs[name] for outputs in found])
                            for name, column in self._outputs.items()}}

    def _row(self, values: Sequence[object]) -> list[np.ndarray]:
        return [_typed(value, port) for value, port in zip(values, self._model.inputs, strict=True)]

    def _groups(self, rows: Sequence[Sequence[np.ndarray]]) -> Iterable[list[int]]:
        """The positions of rows of equal shapes, `max_batch` at most in each."""
        alike: dict[_Shapes, list[int]] = {}
        for index, row in enumerate(rows):
            alike.setdefault(tuple(value.shape for value in row), []).append(index)
        for positions in alike.values():
            size = self._max_batch if not self._is_whole(rows[positions[0]]) else 1
            yield from (positions[start:start + size] for start in range(0, len(positions), size))

    def _is_whole(self, row: Sequence[np.ndarray]) -> bool:
        """Whether a row is all of the inputs, their first axes included."""
        return any(port.has_open_rank or value.ndim == len(port.shape)
                   for value, port in zip(row, self._model.inputs, strict=True))

    def _compute(self, rows: Sequence[Sequence[np.ndarray]]) -> list[dict[str, np.ndarray]]:
        names = list(self._inputs)
        if self._is_whole(rows[0]):
            return [self._model.compute(dict(zip(names, rows[0], strict=True)))]
        stacked = self._model.compute({name: np.stack([row[index] for row in rows])
                                       for index, name in enumerate(names)})
        if self._takes_rows:
            return [{name: values[index] for name, values in stacked.items()} for index in range(len(rows))]
        ones = {port.name for port in self._model.outputs if port.shape[:1] == (1,)}
        return [{name: values[0] if name in ones else values for name, values in stacked.items()}]


def _typed(value: object, port: Port) -> np.ndarray:
    """A row's value as the input takes it."""
    if port.datatype != "BYTES":
        return np.asarray(value).astype(numpy_type(port.datatype), copy=False)
    texts = np.asarray(value, np.object_)
    flat = [text.encode("utf-8") if isinstance(text, str) else bytes(text) for text in texts.reshape(-1)]
    encoded = np.empty(len(flat), np.object_)
    encoded[:] = flat
    return encoded.reshape(texts.shape)


def _column(values: list[np.ndarray]) -> np.ndarray:
    if len({value.shape for value in values}) == 1:
        return np.stack(values)
    column = np.empty(len(values), np.object_)
    for index, value in enumerate(values):
        column[index] = value
    return column
