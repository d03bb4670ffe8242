"""RandomUniform: random numbers, the same ones as OpenVINO's."""
from clinfer.ops.operation import Operation
from clinfer.ops.random_uniform.kernels import KERNELS
from clinfer.ops.random_uniform.op import RandomUniform, convert_random_uniform

OPERATION = Operation("random_uniform", converters={"RandomUniform": convert_random_uniform},
                      kernels={RandomUniform: KERNELS})
