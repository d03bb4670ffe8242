"""Cases of depth_space."""
from clinfer.ops.operation import Case

_BLOCKS = {"block_size": 2, "mode": "blocks_first"}
_DEPTH = {"block_size": 2, "mode": "depth_first"}

CASES = (
    Case("DepthToSpace", "opset1", (((2, 12, 3, 5), "f32"),), _BLOCKS, sequence=(((1, 4, 2, 1),), ((3, 8, 0, 4),))),
    Case("DepthToSpace", "opset1", (((2, 12, 3, 5), "f16"),), _DEPTH, sequence=(((1, 4, 2, 1),), ((3, 8, 1, 4),))),
    Case("DepthToSpace", "opset1", (((2, 6, 7), "i32"),), _BLOCKS),
    Case("DepthToSpace", "opset1", (((2, 27, 4), "u8"),), {"block_size": 3, "mode": "depth_first"}),
    Case("DepthToSpace", "opset1", (((1, 24, 2, 3, 2), "f32"),), _BLOCKS),
    Case("DepthToSpace", "opset1", (((2, 16, 2, 1, 3), "i64"),), _DEPTH),
    Case("DepthToSpace", "opset1", (((1, 76, 2, 3), "bf16"),), _DEPTH),
    Case("DepthToSpace", "opset1", (((1, 8, 5, 4), "boolean"),), _BLOCKS),
    Case("DepthToSpace", "opset1", (((1, 5, 2, 3), "f32"),), {"block_size": 1, "mode": "blocks_first"}),
    Case("SpaceToDepth", "opset1", (((2, 3, 4, 6), "f32"),), _BLOCKS, sequence=(((1, 5, 2, 8),), ((3, 1, 6, 2),))),
    Case("SpaceToDepth", "opset1", (((2, 3, 4, 6), "f16"),), _DEPTH, sequence=(((1, 5, 2, 8),), ((3, 1, 6, 2),))),
    Case("SpaceToDepth", "opset1", (((2, 5, 8), "i32"),), _BLOCKS),
    Case("SpaceToDepth", "opset1", (((2, 3, 9), "u8"),), {"block_size": 3, "mode": "depth_first"}),
    Case("SpaceToDepth", "opset1", (((1, 3, 4, 2, 6), "f32"),), _BLOCKS),
    Case("SpaceToDepth", "opset1", (((2, 2, 4, 2, 2), "i64"),), _DEPTH),
    Case("SpaceToDepth", "opset1", (((1, 5, 2, 3), "f32"),), {"block_size": 1, "mode": "depth_first"}),
)
