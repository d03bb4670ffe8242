"""DepthToSpace and SpaceToDepth: elements moved between channels and spatial blocks."""
from clinfer.ops.depth_space.kernels import KERNELS
from clinfer.ops.depth_space.op import DepthToSpace, SpaceToDepth
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("depth_space",
            converters={"DepthToSpace": by_attributes(DepthToSpace), "SpaceToDepth": by_attributes(SpaceToDepth)},
            kernels={DepthToSpace: KERNELS, SpaceToDepth: KERNELS})
