"""PriorBox and PriorBoxClustered: the boxes that a detector starts from."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.prior_box.kernels import KERNELS
from clinfer.ops.prior_box.op import PriorBox, PriorBoxClustered

OPERATION = Operation("prior_box", converters={"PriorBox": by_attributes(PriorBox),
                                               "PriorBoxClustered": by_attributes(PriorBoxClustered)},
                      kernels={PriorBox: KERNELS, PriorBoxClustered: KERNELS})
