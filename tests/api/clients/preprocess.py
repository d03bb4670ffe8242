"""A client that gives pictures as they come: u8, NHWC, of another size and order of colours."""
from __future__ import annotations

import sys

import numpy as np
import openvino as ov
from openvino import opset13 as ops
from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

random = np.random.default_rng(int(sys.argv[1]))
core = ov.Core()
weights = random.standard_normal((4, 3, 3, 3), dtype=np.float32) / 8


def network(height: int, width: int) -> ov.Model:
    """A convolution over a planar picture of floats."""
    picture = ops.parameter([1, 3, height, width], ov.Type.f32, name="picture")
    features = ops.convolution(picture, weights, [1, 1], [1, 1], [1, 1], [1, 1])
    features.output(0).set_names({"features"})
    return ov.Model([features], [picture], "features")


def prepared(height: int, width: int, algorithm: ResizeAlgorithm) -> ov.Model:
    """The network behind everything that a picture from a file needs."""
    processor = PrePostProcessor(network(height, width))
    processor.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC")) \
        .set_color_format(ColorFormat.BGR).set_spatial_dynamic_shape()
    processor.input().model().set_layout(ov.Layout("NCHW"))
    processor.input().preprocess().convert_element_type(ov.Type.f32).convert_color(ColorFormat.RGB) \
        .resize(algorithm).mean([123.0, 116.0, 103.0]).scale([58.0, 57.0, 57.5])
    processor.output().tensor().set_layout(ov.Layout("NHWC")).set_element_type(ov.Type.f32)
    processor.output().model().set_layout(ov.Layout("NCHW"))
    return processor.build()


RESULTS: dict[str, object] = {}
for algorithm in (ResizeAlgorithm.RESIZE_LINEAR, ResizeAlgorithm.RESIZE_NEAREST, ResizeAlgorithm.RESIZE_CUBIC):
    compiled = core.compile_model(prepared(12, 16, algorithm), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    RESULTS[f"{algorithm} input"] = f"{compiled.input().get_partial_shape()} {compiled.input().get_element_type()}"
    for size in ((24, 32), (9, 40), (12, 16)):
        photo = random.integers(0, 256, (1, *size, 3), dtype=np.uint8)
        RESULTS[f"{algorithm} {size}"] = compiled(photo)[0]

processor = PrePostProcessor(network(8, 8))
processor.input("picture").tensor().set_from(ov.Tensor(ov.Type.u8, ov.Shape([1, 8, 8, 3])))
processor.input("picture").tensor().set_layout(ov.Layout("NHWC"))
processor.input("picture").model().set_layout(ov.Layout("NCHW"))
processor.input("picture").preprocess().convert_element_type().scale(255.0)
processor.output("features").tensor().set_element_type(ov.Type.f16)
compiled = core.compile_model(processor.build(), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
halves = compiled(random.integers(0, 256, (1, 8, 8, 3), dtype=np.uint8))["features"]
RESULTS["type of the output"] = str(halves.dtype)
RESULTS["halves"] = halves
