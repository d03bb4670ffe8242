"""Inputs whose memory is images."""
from __future__ import annotations

from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, show
from clinfer.runtime.memory import Memory
from clinfer.topology import Input


def check_surface(declared: Input, memory: Memory, shape: StaticShape) -> None:
    """Raise unless an input is given images if it is a surface, one for each picture of its batch, and else none."""
    is_image = memory.native_type == "image"
    if is_image and not declared.is_surface:
        raise ClinferError(f"input {declared.id!r} was given an image, but reads a buffer", where="network", hint=(
            "call set_memory_type('GPU_SURFACE') of PrePostProcessor for the input, or give it a buffer"))
    if declared.is_surface and not is_image:
        raise ClinferError(f"input {declared.id!r} reads images and was given a buffer", where="network", values={
            "memory": memory.native_type}, hint="give it an image, or leave set_memory_type out")
    if is_image and shape[0] != len(memory.pictures):
        raise ClinferError(f"input {declared.id!r} takes one image for each picture", where="network", values={
            "shape": show(shape), "images": len(memory.pictures)}, hint="set_tensors takes the images of a batch")
