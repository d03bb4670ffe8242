"""Cases of ctc_greedy_decoder."""
from __future__ import annotations

import numpy as np

from clinfer.ops.operation import Case

_MASKS = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 0, 0]], np.float32)


def _of_lengths(shape: tuple[int, ...], lengths: tuple[int, ...], blank: int | None, merges: bool = True,
                kind: str = "i32", sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    given = () if blank is None else (np.array([blank], np.int32),)
    return Case("CTCGreedyDecoderSeqLen", "opset6", ((shape, "f32"), np.array(lengths, np.int32), *given),
                {"merge_repeated": merges, "classes_index_type": kind, "sequence_length_type": "i64"},
                sequence=sequence, ordered=True, id=f"CTCGreedyDecoderSeqLen-{shape}-{blank}-{merges}".replace(" ", ""))


CASES = (
    Case("CTCGreedyDecoder", "opset1", (((6, 3, 3), "f32"), _MASKS), {"ctc_merge_repeated": True}, ordered=True,
         sequence=(((6, 3, 2),), ((6, 3, 9),))),
    Case("CTCGreedyDecoder", "opset1", (((6, 3, 3), "f16"), _MASKS.astype(np.float16)), {"ctc_merge_repeated": False},
         ordered=True),
    _of_lengths((3, 9, 3), (9, 4, 0), None, sequence=(((3, 12, 4),), ((3, 9, 2),))),
    _of_lengths((2, 40, 5), (33, 40), 1, False, "i64"),
)
