"""The last steps of detectors: among boxes that overlap the best are kept. The host does it, in NumPy."""
from clinfer.ops.detection.detection_output import DetectionOutput, DetectionOutput1, convert_detection_output
from clinfer.ops.detection.op import MatrixNms, MulticlassNms, MulticlassNms8, convert_multiclass_nms
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("detection", converters={
    "DetectionOutput": convert_detection_output, "MatrixNms": by_attributes(MatrixNms),
    "MulticlassNms": convert_multiclass_nms})

__all__ = ["OPERATION", "DetectionOutput", "DetectionOutput1", "MatrixNms", "MulticlassNms", "MulticlassNms8"]
