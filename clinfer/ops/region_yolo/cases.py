"""Cases of region_yolo."""
from __future__ import annotations

from clinfer.ops.operation import Case


def _row(shape: tuple[int, ...], classes: int, regions: int, softmax: bool, kind: str = "f32", end_axis: int = 3,
         sequence: tuple[tuple[tuple[int, ...], ...], ...] = ()) -> Case:
    attributes = {"coords": 4, "classes": classes, "num": regions, "do_softmax": softmax, "axis": 1,
                  "mask": [] if softmax else list(range(regions)), "end_axis": end_axis, "anchors": [1.0] * 2 * regions}
    return Case("RegionYolo", "opset1", ((shape, kind),), attributes, sequence=sequence,
                id=f"RegionYolo-{shape}{kind}-{classes}-{regions}-{softmax}-{end_axis}".replace(" ", ""))


CASES = (
    _row((2, 21, 5, 5), 2, 3, False, sequence=(((1, 21, 3, 7),), ((1, 21, 1, 1),))),
    _row((1, 50, 4, 3), 5, 5, True, sequence=(((1, 50, 2, 2),),)),
    _row((2, 18, 4, 3), 4, 2, True, "f16"),
)
