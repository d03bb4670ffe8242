"""The ExperimentalDetectron family: anchors of a grid, the best regions, their features, and detections."""
from clinfer.ops.detectron.kernels import (
    BOX_KERNELS,
    DETECTION_KERNELS,
    EXTRACTOR_KERNELS,
    GRID_KERNELS,
    REGION_KERNELS,
)
from clinfer.ops.detectron.op import (
    BestRegions,
    ClassBoxes,
    Detections,
    ExperimentalDetectronPriorGridGenerator,
    ExperimentalDetectronROIFeatureExtractor,
    convert_detection_output,
    convert_top_k_rois,
)
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("detectron", converters={
    "ExperimentalDetectronDetectionOutput": convert_detection_output,
    "ExperimentalDetectronPriorGridGenerator": by_attributes(ExperimentalDetectronPriorGridGenerator),
    "ExperimentalDetectronROIFeatureExtractor": by_attributes(ExperimentalDetectronROIFeatureExtractor),
    "ExperimentalDetectronTopKROIs": convert_top_k_rois},
    kernels={BestRegions: REGION_KERNELS, ClassBoxes: BOX_KERNELS, Detections: DETECTION_KERNELS,
             ExperimentalDetectronPriorGridGenerator: GRID_KERNELS,
             ExperimentalDetectronROIFeatureExtractor: EXTRACTOR_KERNELS})
