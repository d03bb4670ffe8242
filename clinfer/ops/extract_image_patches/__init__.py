"""ExtractImagePatches: windows of pictures as channels."""
from clinfer.ops.extract_image_patches.kernels import KERNELS
from clinfer.ops.extract_image_patches.op import ExtractImagePatches
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("extract_image_patches", converters={"ExtractImagePatches": by_attributes(ExtractImagePatches)},
                      kernels={ExtractImagePatches: KERNELS})
