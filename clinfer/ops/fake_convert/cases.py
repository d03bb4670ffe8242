"""Cases of fake_convert. Those that round in another place than OpenVINO would be a whole step off."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(shape: tuple[int, ...], scale: np.ndarray, shift: np.ndarray | None, target: str, sequence: _Sequence = (),
         reach: float = 2.0) -> Case:
    given = (scale,) if shift is None else (scale, shift)
    return Case("FakeConvert", "opset13", ((shape, str(given[0].dtype).replace("float", "f")), *given),
                {"destination_type": target}, sequence=sequence, low=-reach, high=reach, ordered=True,
                id=f"FakeConvert-{shape}-{scale.shape}-{shift is None}-{target}-{reach}".replace(" ", ""))


CASES = (
    _row((2, 90), np.array(3, np.float32), np.array(0.5, np.float32), "f8e4m3", sequence=(((1, 300),), ((0, 9),))),
    _row((4, 5, 6), np.array([[[2]], [[3]], [[0.7]], [[9]]], np.float32), None, "f8e5m2"),
    _row((3, 5, 7), np.array([2, 3, 0.7], np.float32).reshape(3, 1, 1),
         np.array([0.5, 0, -1], np.float32).reshape(3, 1, 1), "f8e4m3",
         sequence=(((3, 40, 40),), ((3, 1, 9),), ((3, 0, 9),))),
    _row((6, 40), np.linspace(0.5, 90, 40, dtype=np.float32), None, "f8e4m3", sequence=(((1, 40),),)),
    _row((300,), np.array(1, np.float32), None, "f8e5m2", reach=0.0005),
    _row((300,), np.array(1, np.float32), None, "f8e4m3", reach=700.0),
    _row((300,), np.array(1, np.float16), None, "f8e5m2", reach=0.001),
)
