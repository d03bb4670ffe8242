"""The operations: one operation or one family each, in a folder of its own. This list is all that the rest of the house
sees; a folder is imported when a model has one of its operations, or a pass works on them."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib import import_module

from clinfer.kernels.contract import KernelTable
from clinfer.ops.custom import converter_of
from clinfer.ops.operation import Converter, Operation
from clinfer.topology import CustomKernel, Primitive, SourceNode

_TYPES: dict[str, tuple[str, ...]] = {
    "append": (),
    "batch_norm": ("BatchNormInference",),
    "batch_space": ("BatchToSpace", "SpaceToBatch"),
    "broadcast": ("Broadcast",),
    "byte_rows": ("QuantiseRows", "DequantiseRows"),
    "col2im": ("Col2Im",),
    "color_convert": ("NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR"),
    "concat": ("Concat",),
    "convert": ("Convert", "ConvertLike"),
    "convolution": ("Convolution", "GroupConvolution"),
    "ctc_greedy_decoder": ("CTCGreedyDecoder", "CTCGreedyDecoderSeqLen"),
    "ctc_loss": ("CTCLoss",),
    "cum_sum": ("CumSum",),
    "custom": (),
    "deconvolution": ("ConvolutionBackpropData", "GroupConvolutionBackpropData"),
    "deformable_convolution": ("DeformableConvolution",),
    "depth_space": ("DepthToSpace", "SpaceToDepth"),
    "detection": ("DetectionOutput", "MatrixNms", "MulticlassNms"),
    "detectron": (
        "ExperimentalDetectronDetectionOutput", "ExperimentalDetectronPriorGridGenerator",
        "ExperimentalDetectronROIFeatureExtractor", "ExperimentalDetectronTopKROIs"),
    "dft": ("DFT", "IDFT", "RDFT", "IRDFT"),
    "einsum": ("Einsum",),
    "eltwise": (
        "Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "Power", "Mod", "FloorMod", "SquaredDifference",
        "PRelu", "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr",
        "LogicalXor", "LogicalNot", "IsNaN", "IsFinite", "IsInf", "Select", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
        "BitwiseNot", "BitwiseLeftShift", "BitwiseRightShift", "Relu", "Sigmoid", "HSwish", "HSigmoid", "HardSigmoid",
        "Swish", "Gelu", "Clamp", "Elu", "Selu", "SoftPlus", "Mish", "SoftSign", "Exp", "Log", "Sqrt", "Abs",
        "Negative", "Floor", "Ceiling", "Round", "Sign", "Erf", "ErfInv", "Tanh", "Sin", "Cos", "Tan", "Asin", "Acos",
        "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Xor"),
    "embedding_bag": (
        "EmbeddingBagOffsets", "EmbeddingBagOffsetsSum", "EmbeddingBagPacked", "EmbeddingBagPackedSum",
        "EmbeddingSegmentsSum"),
    "extract_image_patches": ("ExtractImagePatches",),
    "eye": ("Eye",),
    "fake_convert": ("FakeConvert",),
    "fake_quantize": ("FakeQuantize",),
    "gather": ("Gather", "GatherElements", "GatherND"),
    "gather_tree": ("GatherTree",),
    "grid_sample": ("GridSample",),
    "group_norm": ("GroupNormalization",),
    "if_op": ("If",),
    "interpolate": ("Interpolate",),
    "inverse": ("Inverse",),
    "loop": ("Loop", "TensorIterator"),
    "lrn": ("LRN",),
    "matmul": ("MatMul",),
    "multinomial": ("Multinomial",),
    "mvn": ("MVN",),
    "non_max_suppression": ("NonMaxSuppression", "NMSRotated"),
    "nonzero": ("NonZero",),
    "normalize_l2": ("GRN", "NormalizeL2"),
    "one_hot": ("OneHot",),
    "pad": ("Pad",),
    "pooling": ("MaxPool", "AdaptiveMaxPool", "AvgPool", "AdaptiveAvgPool"),
    "prior_box": ("PriorBox", "PriorBoxClustered"),
    "proposal": ("Proposal", "GenerateProposals", "ExperimentalDetectronGenerateProposalsSingleImage"),
    "psroi_pooling": ("PSROIPooling", "DeformablePSROIPooling"),
    "quantised_convolution": (),
    "random_uniform": ("RandomUniform",),
    "range": ("Range",),
    "recurrent": ("LSTMSequence", "GRUSequence", "RNNSequence", "LSTMCell", "GRUCell", "RNNCell"),
    "reduce": (
        "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogicalAnd",
        "ReduceLogicalOr"),
    "region_yolo": ("RegionYolo",),
    "reorder": (),
    "reorg_yolo": ("ReorgYolo",),
    "reshape": ("Reshape", "Squeeze", "Unsqueeze", "Identity"),
    "reverse": ("Reverse",),
    "reverse_sequence": ("ReverseSequence",),
    "roi_align": ("ROIAlign", "ROIAlignRotated"),
    "roi_pooling": ("ROIPooling",),
    "roll": ("Roll",),
    "rope": (),
    "scatter": ("ScatterUpdate", "ScatterElementsUpdate", "ScatterNDUpdate"),
    "sdpa": ("ScaledDotProductAttention",),
    "search_sorted": ("Bucketize", "SearchSorted"),
    "segment_max": ("SegmentMax",),
    "shape_of": ("ShapeOf",),
    "shuffle_channels": ("ShuffleChannels",),
    "shuffled_parts": (),
    "slice": ("Slice", "StridedSlice"),
    "slice_scatter": ("SliceScatter",),
    "softmax": ("Softmax", "LogSoftmax"),
    "sparse_fill_empty_rows": ("SparseFillEmptyRows",),
    "split": ("Split", "VariadicSplit"),
    "stft": ("STFT", "ISTFT"),
    "tile": ("Tile",),
    "topk": ("TopK",),
    "transpose": ("Transpose",),
    "unique": ("Unique",),
    "winograd_convolution": (),
}
"""By folder, the types of OpenVINO's operations that it converts."""

_FOLDERS = {kind: folder for folder, kinds in _TYPES.items() for kind in kinds}
_NONE = KernelTable()


@cache
def operation_of(folder: str) -> Operation:
    """The operation of a folder."""
    operation: Operation = import_module(f"{__name__}.{folder}").OPERATION
    return operation


def all_operations() -> tuple[Operation, ...]:
    """Every operation, in the order of the list; imports every folder."""
    return tuple(map(operation_of, _TYPES))


@lru_cache(maxsize=256)
def operation_within(module: str) -> Operation | None:
    """The operation in whose folder a module lies, if it lies in one."""
    package, _, rest = module.partition(f"{__name__}.")
    folder = rest.partition(".")[0]
    return operation_of(folder) if not package and folder in _TYPES else None


def convert_node(node: SourceNode) -> Primitive | Sequence[Primitive]:
    """What the folder of a node's type makes of it."""
    return operation_of(_FOLDERS[node.type_name]).converters[node.type_name](node)


CONVERTERS: dict[str, Converter] = dict.fromkeys(_FOLDERS, convert_node)


def converters_with(kernels: Iterable[CustomKernel]) -> dict[str, Converter]:
    """The converters of all operations, those of custom kernels in place of others."""
    custom = {kernel.operation: converter_of(kernel) for kernel in kernels}
    return {**CONVERTERS, **custom} if custom else CONVERTERS


def kernels_of(primitive: Primitive) -> KernelTable:
    """The kernel table of a primitive; empty for one that never launches a kernel."""
    kind = type(primitive)
    operation = operation_within(kind.__module__)
    return operation.kernels.get(kind, _NONE) if operation else _NONE
