"""What was asked: primitives and their connections."""
from clinfer.topology.body_results import BodyResult, BodySize
from clinfer.topology.custom_kernel import CustomKernel, KernelArgument
from clinfer.topology.host_operation import HostOperation
from clinfer.topology.loop_ports import Joining, LoopPorts, Slicing
from clinfer.topology.primitive import Before, FusedOp, Port, Primitive, attributes_of
from clinfer.topology.source import SourceBody, SourceNode
from clinfer.topology.states import State
from clinfer.topology.topology import Constant, Input, Topology, input_layout

__all__ = [
           "Before",
           "BodyResult",
           "BodySize",
           "Constant",
           "CustomKernel",
           "FusedOp",
           "HostOperation",
           "Input",
           "Joining",
           "KernelArgument",
           "LoopPorts",
           "Port",
           "Primitive",
           "Slicing",
           "SourceBody",
           "SourceNode",
           "State",
           "Topology",
           "attributes_of",
           "input_layout",
]
