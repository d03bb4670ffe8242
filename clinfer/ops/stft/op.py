"""The primitives that take frames of signals, and put signals together of frames."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, Shape, Size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class TakeFrames(Primitive):
    """The frames of signals (input 0 [samples] or [n, samples]) times a window (input 1, in the middle of the frame,
    with zeros around): [frames, size] or [n, frames, size]. Input 2 is the size, input 3 how far frames are apart."""

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (2, 3)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        signal, window = shapes[:2]
        if signal is None:
            return (None,)
        size: Size = values[2].reshape(-1).tolist()[0] if 2 in values else ANY
        frames: Size = ANY
        if isinstance(size, int) and 3 in values:
            step = values[3].reshape(-1).tolist()[0]
            longest = max(size, window[0]) if window is not None and isinstance(window[0], int) else size
            if step < 1 or size < 1 or longest > size or (isinstance(signal[-1], int) and signal[-1] < size):
                raise ClinferError("the frames do not fit", where=self.where, values={
                    "signal": signal, "window": window, "frame size": size, "frame step": step})
            if isinstance(signal[-1], int):
                frames = (signal[-1] - size) // step + 1
        return ((*signal[:-1], frames, size),)


@dataclass(frozen=True)
class OverlapFrames(Primitive):
    """Signals [samples] or [n, samples] of frames (input 0 [frames, size] or [n, frames, size]): at each sample the sum
    of the frames there times their window (input 1, in the middle of the frame, with zeros around) over that of the
    window's squares.

    Input 2 is the size of a frame, input 3 how far they are apart, input 4, where present, the number of samples.
    `center`: the signal starts in the middle of the first frame and ends in that of the last. `normalized`: times the
    root of the size.
    """

    center: bool = False
    normalized: bool = False

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return tuple(range(2, len(self.inputs)))

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        frames = shapes[0]
        if frames is None:
            return (None,)
        samples: Size = ANY
        if 4 in self.value_inputs:
            samples = values[4].reshape(-1).tolist()[0] if 4 in values else ANY
        elif 2 in values and 3 in values and isinstance(frames[-2], int):
            size, step = values[2].reshape(-1).tolist()[0], values[3].reshape(-1).tolist()[0]
            samples = (max(frames[-2], 1) - 1) * step + size - (2 * (size // 2) if self.center else 0)
        return ((*frames[:-2], samples),)
