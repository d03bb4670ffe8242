"""RegionYolo: what a YOLO network says of regions, as probabilities."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.region_yolo.kernels import KERNELS
from clinfer.ops.region_yolo.op import RegionYolo

OPERATION = Operation("region_yolo", converters={"RegionYolo": by_attributes(RegionYolo)},
                      kernels={RegionYolo: KERNELS})
