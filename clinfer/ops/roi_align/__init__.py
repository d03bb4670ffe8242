"""ROIAlign: rectangles of feature maps pooled to one size."""
from clinfer.ops.roi_align.kernels import KERNELS
from clinfer.ops.roi_align.op import ROIAlign
from clinfer.ops.room import Room, by_attributes

ROOM = Room("roi_align", converters={"ROIAlign": by_attributes(ROIAlign)}, kernels={ROIAlign: KERNELS})

__all__ = ["ROOM", "ROIAlign"]
