"""Finds the lines of text in a video whose frames never leave the device.

A stand-in for a decoder writes the planes of each frame into OpenCL images. The network of PP-OCR that finds lines
reads them there and works in the decoder's queue: nothing is copied, and the host waits once for each frame.

Usage: python -m examples.watch_text [--device GPU] [--frames 8]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

import clinfer as ov
from examples.fetch_models import model_path
from examples.make_picture import draw
from examples.ppocr_detection import Box, find_lines

HEIGHT, WIDTH = 448, 640
Planes = list[NDArray[np.uint8]]


def to_planes(picture: NDArray[np.uint8], pairs: bool) -> Planes:
    """The planes [h, w, channels] of a picture [h, w, 3] in RGB: Y and UV (NV12) with `pairs`, else Y, U and V (I420).

    BT.601 in its limited range; colours are means of two by two pixels.
    """
    red, green, blue = np.moveaxis(picture.astype(np.float32), -1, 0)
    y = 16 + 0.257 * red + 0.504 * green + 0.098 * blue
    u = 128 - 0.148 * red - 0.291 * green + 0.439 * blue
    v = 128 + 0.439 * red - 0.368 * green - 0.071 * blue
    half = [c.reshape(c.shape[0] // 2, 2, c.shape[1] // 2, 2).mean((1, 3)) for c in (u, v)]
    planes = [y[..., None], *([np.stack(half, -1)] if pairs else [c[..., None] for c in half])]
    return [np.rint(plane).clip(0, 255).astype(np.uint8) for plane in planes]


def frames(count: int) -> Iterator[NDArray[np.uint8]]:
    """A camera that moves down over a page."""
    page = np.asarray(draw().convert("RGB"))
    for number in range(count):
        top = (page.shape[0] - HEIGHT) * number // max(count - 1, 1)
        yield page[top : top + HEIGHT, :WIDTH]


def detector(core: ov.Core, context: ov.ClContext, planes: list[str]) -> ov.CompiledModel:
    """PP-OCR's detection of lines for frames in the named planes, which are images."""
    steps = ov.preprocess.PrePostProcessor(core.read_model(model_path("detection")))
    colours = ov.preprocess.ColorFormat
    source = colours.NV12_TWO_PLANES if len(planes) == 2 else colours.I420_THREE_PLANES
    steps.input().tensor().set_element_type(ov.Type.u8).set_color_format(source, planes).set_memory_type("GPU_SURFACE")
    steps.input().model().set_layout(ov.Layout("NCHW"))
    pixels = steps.input().preprocess().convert_color(colours.BGR).convert_element_type(ov.Type.f32)
    pixels.mean(127.5).scale(127.5)
    return core.compile_model(steps.build(), context)


def has_pairs(context: cl.Context) -> bool:
    """Whether the device has images of two channels, which NV12 needs; those of I420 have one."""
    known = cl.get_supported_image_formats(context, cl.mem_flags.READ_ONLY, cl.mem_object_type.IMAGE2D)
    return cl.ImageFormat(cl.channel_order.RG, cl.channel_type.UNORM_INT8) in known


def watch(device: str, count: int) -> Iterator[tuple[list[Box], float]]:
    """The boxes of the lines in each frame, and how many milliseconds it took from the decoded frame to these."""
    core = ov.Core()
    queue = cl.CommandQueue(core.get_default_context(device).get())
    pairs = has_pairs(queue.context)
    names = ["y", "uv"] if pairs else ["y", "u", "v"]
    context = ov.ClContext(core, queue)
    request = detector(core, context, names).create_infer_request()
    images = [cl.create_image(queue.context, cl.mem_flags.READ_WRITE, cl.ImageFormat(
        cl.channel_order.R if plane.shape[2] == 1 else cl.channel_order.RG, cl.channel_type.UNORM_INT8),
        plane.shape[1::-1]) for plane in to_planes(next(frames(1)), pairs)]
    create = context.create_tensor_nv12 if pairs else context.create_tensor_i420
    for name, tensor in zip(names, create(*images), strict=True):
        request.set_tensor(name, tensor)
    for frame in frames(count):
        for image, plane in zip(images, to_planes(frame, pairs), strict=True):
            cl.enqueue_copy(queue, image, plane, origin=(0, 0), region=plane.shape[1::-1])
        start = time.perf_counter()
        likely = request.infer()[0][0, 0]
        yield find_lines(likely, HEIGHT, WIDTH), (time.perf_counter() - start) * 1e3


def main(arguments: list[str] | None = None) -> int:
    """Watch, and print what was found."""
    parser = argparse.ArgumentParser(description="Finds lines of text in a video whose frames stay on the device.")
    parser.add_argument("--device", default="AUTO", help="the OpenCL device (default: the first GPU, else the CPU)")
    parser.add_argument("--frames", type=int, default=8, help="how many frames the video has")
    given = parser.parse_args(arguments)
    try:
        model_path("detection")
    except ov.ClinferError as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 0
    for number, (boxes, took) in enumerate(watch(given.device, given.frames)):
        print(f"frame {number}: {len(boxes):2} lines, {took:6.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
