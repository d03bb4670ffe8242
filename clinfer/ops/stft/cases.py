"""Cases of stft."""
from __future__ import annotations

from typing import Any

import numpy as np

from clinfer.ops.operation import Case

_WINDOW = np.hanning(10)[1:-1].astype(np.float32)
_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _forward(signal: tuple[int, ...], window: Any, size: Any, step: int, transposes: bool, kind: str = "f32",
             sequence: _Sequence = ()) -> Case:
    return Case("STFT", "opset15", ((signal, kind), window, size, np.int64(step)), {"transpose_frames": transposes},
                sequence=sequence, id=f"STFT-{signal}{kind}-{size}-{step}-{transposes}".replace(" ", ""))


def _backward(spectra: tuple[int, ...], window: Any, size: int, step: int, center: bool, normalized: bool,
              samples: int | None = None, sequence: _Sequence = ()) -> Case:
    given = () if samples is None else (np.int64(samples),)
    return Case("ISTFT", "opset16", ((spectra, "f32"), window, np.int64(size), np.int64(step), *given),
                {"center": center, "normalized": normalized}, sequence=sequence,
                id=f"ISTFT-{spectra}-{size}-{step}-{center}-{normalized}-{samples}".replace(" ", ""))


CASES = (
    _forward((2, 40), _WINDOW, np.int64(8), 4, True, sequence=(((1, 64),), ((3, 24),), ((2, 8),))),
    _forward((45,), _WINDOW, np.int64(11), 3, False, sequence=(((64,),), ((11,),))),
    _forward((2, 40), _WINDOW.astype(np.float16), np.int64(9), 9, False, "f16"),
    _forward((1, 1100), ((900,), "f32"), np.int64(1030), 20, True),
    _backward((5, 6, 2), _WINDOW, 8, 4, False, False, sequence=(((5, 1, 2),), ((5, 20, 2),))),
    _backward((2, 6, 6, 2), _WINDOW, 11, 3, True, True),
    _backward((2, 5, 6, 2), _WINDOW[1:5], 8, 3, True, False, 40),
    _backward((1, 514, 3, 2), np.hanning(1026)[1:-1].astype(np.float32), 1026, 500, True, False, 700),
)
