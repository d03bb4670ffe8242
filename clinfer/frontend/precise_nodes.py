"""Which nodes of a model must not compute in f16: arithmetic on indices, and sums that f16 cannot hold.

f16 counts exactly up to 2048 and ends at 65504.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from clinfer.frontend.conversions import identity_of, is_constant
from clinfer.frontend.openvino_import import openvino as ov

_SUMS = {"ReduceSum", "ReduceL1", "ReduceL2", "ReduceProd", "CumSum"}
_MEANS = {"ReduceMean"}
_GROWING = {"Power", "SquaredDifference", "Exp"}
_ANGLES = {"Sin", "Cos"}
_FIRST_EXACT_INPUT = {"Interpolate": 1}
_ELEMENTWISE = {"Add", "Subtract", "Multiply", "Divide", "Power", "Sqrt", "Log", "Abs", "Negative", "Maximum",
                "Minimum", "Mod", "FloorMod", "Floor", "Ceiling", "Round", "Select", "Convert", "Reshape", "Squeeze",
                "Unsqueeze", "Broadcast", "Clamp"}
_ARRANGING = {"MatMul", "Concat", "Transpose", "Slice", "StridedSlice", "Split", "VariadicSplit", "Tile"}


def find_precise(nodes: Sequence[ov.Node]) -> set[int]:
    """The instance ids, among topologically ordered nodes, of those that must stay in f32."""
    return _shape_arithmetic(nodes) | _value_arithmetic(nodes) | _angles(nodes) | _wide_sums(nodes)


def exact_inputs(node: ov.Node) -> range:
    """The inputs that must stay in f32 although the node computes in f16: sizes and scales."""
    count = node.get_input_size()
    return range(_FIRST_EXACT_INPUT.get(node.get_type_name(), count), count)


def _shape_arithmetic(nodes: Sequence[ov.Node]) -> set[int]:
    """Nodes that depend on shapes and constants only, and the arithmetic that brings them to other data."""
    found: set[int] = set()
    for node in nodes:
        if node.get_type_name() == "ShapeOf" or _stems_from(node, found):
            found.add(node.get_instance_id())
    return _up_to_other_data(nodes, found)


def _value_arithmetic(nodes: Sequence[ov.Node]) -> set[int]:
    """What becomes an integer, the bound of a Range or the size of an Interpolate, and what leads there."""
    found: set[int] = set()
    wanted: set[int] = set()
    for node in reversed(nodes):
        is_precise = node.get_instance_id() in wanted or node.get_type_name() == "Range" or _makes_integers(node)
        if is_precise:
            found.add(node.get_instance_id())
        exact = range(node.get_input_size()) if is_precise else exact_inputs(node)
        sources = [node.input_value(index) for index in exact]
        wanted |= {port.get_node().get_instance_id() for port in sources
                   if _is_small(port) or port.get_node().get_type_name() in _ELEMENTWISE}
    return found


def _angles(nodes: Sequence[ov.Node]) -> set[int]:
    """Sines and cosines of what stems from integers: rotary and sinusoidal positions."""
    stems: set[int] = set()
    for node in nodes:
        known = node.get_type_name() in _ELEMENTWISE | _ARRANGING | _ANGLES
        if _reads_integers(node) or (known and _stems_from(node, stems)):
            stems.add(node.get_instance_id())
    found: set[int] = set()
    for node in reversed(nodes):
        id = node.get_instance_id()
        if id in found or (id in stems and node.get_type_name() in _ANGLES):
            found |= {id} | {s.get_instance_id() for s in _sources(node) if s.get_instance_id() in stems}
    return found


def _wide_sums(nodes: Sequence[ov.Node]) -> set[int]:
    """Sums, and means of squares, powers and exponentials, to where they meet other data."""
    sums: set[int] = set()
    summed: set[int] = set()
    for node in nodes:
        if node.get_type_name() in _SUMS | _MEANS:
            source = node.input_value(0).get_node()
            if _grows(source):
                summed.add(source.get_instance_id())
            if _grows(source) or node.get_type_name() in _SUMS:
                sums.add(node.get_instance_id())
    return summed | _up_to_other_data(nodes, sums)


def _up_to_other_data(nodes: Iterable[ov.Node], origins: set[int]) -> set[int]:
    """Origins with the element-wise nodes that they lead to in f32, up to those that read other data too."""
    inner = set(origins)
    last: set[int] = set()
    for node in nodes:
        if node.get_type_name() in _ELEMENTWISE and any(
                port.get_node().get_instance_id() in inner and port.get_element_type() == ov.Type.f32
                for port in node.input_values()):
            (inner if _stems_from(node, inner) else last).add(node.get_instance_id())
    return inner | last


def _stems_from(node: ov.Node, origins: set[int]) -> bool:
    """Whether a node reads nothing but origins and constants, and at least one origin."""
    sources = _sources(node)
    known = [s.get_instance_id() in origins for s in sources]
    return any(known) and all(k or is_constant(s) for k, s in zip(known, sources, strict=True))


def _makes_integers(node: ov.Node) -> bool:
    return bool(node.get_type_name() == "Convert" and node.get_output_element_type(0).is_integral())


def _reads_integers(node: ov.Node) -> bool:
    return bool(node.get_type_name() == "Convert" and node.get_input_element_type(0).is_integral()
                and not is_constant(node.input_value(0).get_node()))


def _grows(node: ov.Node) -> bool:
    if node.get_type_name() == "Multiply":
        left, right = node.input_values()
        return identity_of(left) == identity_of(right)
    return node.get_type_name() in _GROWING


def _is_small(port: ov.Output) -> bool:
    rank = port.get_partial_shape().rank
    return bool(rank.is_static and rank.get_length() <= 1)


def _sources(node: ov.Node) -> list[ov.Node]:
    return [port.get_node() for port in node.input_values()]
