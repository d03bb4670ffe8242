"""ReorgYolo: places that become channels, as Darknet does it."""
from clinfer.ops.operation import Operation
from clinfer.ops.reorg_yolo.kernels import KERNELS
from clinfer.ops.reorg_yolo.op import ReorgYolo, convert_reorg_yolo

OPERATION = Operation("reorg_yolo", converters={"ReorgYolo": convert_reorg_yolo}, kernels={ReorgYolo: KERNELS})
