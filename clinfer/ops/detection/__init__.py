"""The last steps of detectors: among boxes that overlap the best are kept. The host does it, in NumPy."""
from clinfer.ops.detection.op import MatrixNms, MulticlassNms, MulticlassNms8, convert_multiclass_nms
from clinfer.ops.room import Room, by_attributes

ROOM = Room("detection", converters={"MatrixNms": by_attributes(MatrixNms), "MulticlassNms": convert_multiclass_nms})

__all__ = ["ROOM", "MatrixNms", "MulticlassNms", "MulticlassNms8"]
