"""What copies of arrays cost: frames in the host's memory, through a model, in place and by way of copies.

In place: input and output are tensors over two arrays. Shared: each frame is given with `share_inputs`, the results
come in an array of clinfer's. Copying: each frame is given, the results come in new arrays. All take turns in one run.
Host time is the thread's, bytes are those that clinfer copies.
`python -m bench.zero_copy [--device CPU] [--size 512] [--frames 60]`
"""

from __future__ import annotations

import numpy as np

import clinfer
from bench.remote_pipeline import compare, parse_options
from clinfer.frontend.openvino_import import openvino as ov


def _model(size: int) -> ov.Model:
    """A picture whose pixels are scaled and shifted: so little work that copies weigh."""
    frame = ov.opset13.parameter([1, 3, size, size], np.float32)
    scaled = ov.opset13.multiply(frame, ov.opset13.constant(np.full((1, 1, 1, 1), 1 / 255, np.float32)))
    return ov.Model([ov.opset13.clamp(scaled, 0.0, 1.0)], [frame])


class _Loop:
    """The three ways through the model."""

    def __init__(self, device: str, size: int) -> None:
        compiled = clinfer.Core().compile_model(_model(size), device)
        self.frame, self.result = (np.zeros((1, 3, size, size), np.float32) for _ in range(2))
        self.in_place_request = compiled.create_infer_request()
        self.in_place_request.set_input_tensor(clinfer.from_dlpack(self.frame))
        self.in_place_request.set_output_tensor(clinfer.from_dlpack(self.result))
        self.shared_request, self.copying_request = (compiled.create_infer_request() for _ in range(2))

    def in_place(self, number: int) -> int:
        self.frame[0, 0, 0, 0] = number
        self.in_place_request.infer()
        return 0

    def shared(self, number: int) -> int:
        self.frame[0, 0, 0, 0] = number
        self.last = self.shared_request.infer([self.frame], share_inputs=True, share_outputs=True)[0]
        return 0

    def copying(self, number: int) -> int:
        self.frame[0, 0, 0, 0] = number
        self.last = self.copying_request.infer([self.frame])[0]
        return 0

    def check(self) -> None:
        """Raise unless all ways give the same."""
        self.frame[...] = np.random.default_rng().random(self.frame.shape) * 300
        self.in_place(9)
        for way in (self.shared, self.copying):
            way(9)
            np.testing.assert_array_equal(self.last, self.result)


def main() -> None:
    options = parse_options(__doc__)
    loop = _Loop(options.device, options.size)
    loop.check()
    compare({"in place": loop.in_place, "shared": loop.shared, "copying": loop.copying}, options)


if __name__ == "__main__":
    main()
