"""SegmentMax: the largest elements of segments."""
from clinfer.ops.operation import Operation
from clinfer.ops.segment_max.kernels import KERNELS
from clinfer.ops.segment_max.op import SegmentMax, convert_segment_max

OPERATION = Operation("segment_max", converters={"SegmentMax": convert_segment_max}, kernels={SegmentMax: KERNELS})
