"""The kernels of the ExperimentalDetectron family."""
from __future__ import annotations

from dataclasses import dataclass, replace

from clinfer.kernels.contract import (
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Problem,
    Stage,
    Work,
    input_operand,
    output_operand,
    present_formats,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.detectron.op import (
    ClassBoxes,
    Detections,
    ExperimentalDetectronPriorGridGenerator,
    ExperimentalDetectronROIFeatureExtractor,
)
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel


@dataclass(frozen=True)
class GridProblem(OnlyKernelProblem):
    """Anchors, and a map and a picture that tell the grid."""

    primitive: ExperimentalDetectronPriorGridGenerator

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        return {"STEP_Y": float(primitive.stride_y), "STEP_X": float(primitive.stride_x)}


@dataclass(frozen=True)
class ClassBoxesProblem(OnlyKernelProblem):
    """Regions and their classes."""

    primitive: ClassBoxes

    @property
    def constants(self) -> dict[str, Constant]:
        weights = self.primitive.deltas_weights
        return {**{f"WEIGHT_{name}": weight for name, weight in zip("XYWH", weights, strict=True)},
                "LONGEST": self.primitive.max_delta_log_wh}

    @property
    def work(self) -> Work:
        return local_items(self.outputs[1].count)


@dataclass(frozen=True)
class DetectionsProblem(OnlyKernelProblem):
    """Boxes that were selected, in a list for each class."""

    primitive: Detections

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*(input_operand(self, index) for index in range(5)),
                *(output_operand(self, index) for index in range(3)))

    @property
    def work(self) -> Work:
        return local_items(self.inputs[1].count + self.primitive.count)


@dataclass(frozen=True)
class ExtractorProblem(Problem):
    """Regions and the maps that they may belong to."""

    primitive: ExperimentalDetectronROIFeatureExtractor


class Extractor(Kernel[ExtractorProblem, None]):
    """One launch for each map, which leaves out the regions of the others; one bin per work-item."""

    name = "roi_feature_extractor_ref"
    efficiency = 0.05
    supports_large = True

    def formats(self, problem: ExtractorProblem) -> Formats:
        return present_formats(problem)

    def cost(self, problem: ExtractorProblem, config: None) -> float:
        return time_of(problem.capabilities.ceilings, nbytes=problem.moved_bytes, bandwidth=self.efficiency,
                       launches=len(problem.inputs) - 1)

    def lower(self, problem: ExtractorProblem, config: None) -> Lowered:
        primitive, maps = problem.primitive, len(problem.inputs) - 1
        rois = replace(input_operand(problem, 0), macro="ROIS")
        work = local_items(problem.outputs[0].count + problem.outputs[1].count)
        return Lowered(tuple(Stage(
            "roi_feature_extractor_ref.cl",
            (rois, replace(input_operand(problem, 1 + level), macro="INPUT0"), output_operand(problem, 0),
             output_operand(problem, 1)), work,
            {"LEVEL": level, "LEVELS": maps, "SAMPLES": primitive.sampling_ratio,
             "SCALE": 1.0 / primitive.pyramid_scales[level], "SHIFT": 0.5 if primitive.aligned else 0.0})
            for level in range(maps)))


GRID_KERNELS = only_kernel("prior_grid_ref", GridProblem, present_formats)
REGION_KERNELS = only_kernel("best_regions_ref", supports_large=False)
BOX_KERNELS = only_kernel("class_boxes_ref", ClassBoxesProblem, supports_large=False)
DETECTION_KERNELS = only_kernel("detections_ref", DetectionsProblem, supports_large=False)
EXTRACTOR_KERNELS = KernelTable((Extractor(),), ExtractorProblem)
