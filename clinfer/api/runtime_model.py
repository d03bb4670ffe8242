"""The executed graph as an OpenVINO model: one node per primitive, with what is known of it in `rt_info`.

The keys are those of OpenVINO's own plugins, all values are texts:

| key | value |
| --- | --- |
| `layerType` | the primitive; `Input`, `Const` and `Result` for what it reads and writes |
| `originalLayersNames` | the model's layers that became the primitive, separated by commas |
| `primitiveType` | the kernel, or `cpu` (on the host), `view`, `body`, `input` |
| `execOrder` | the place in the order of execution, from 0 |
| `execTimeMcs` | microseconds on the device in the last measured inference, else `not_executed` |
| `outputLayouts`, `outputPrecisions` | memory format and element type of each output, separated by commas |
| `runtimePrecision` | the element type of the first output |
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from clinfer.base.layout import Layout
from clinfer.frontend.conversions import ov_type, partial_shape_of
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.reports.profiling import NodeProfile, fused_primitives, profiled_name
from clinfer.program.program import Program, ProgramNode
from clinfer.topology import Input

NOT_EXECUTED = "not_executed"


class ExecutionNode(ov.Op):
    """A primitive of the executed graph. OpenVINO can write it to a file and show it, but not run it."""

    def __init__(self, inputs: Sequence[ov.Output], outputs: Sequence[tuple[ov.Type, ov.PartialShape]]) -> None:
        super().__init__(self)
        self._outputs = tuple(outputs)
        self.set_arguments(list(inputs))
        self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        self.set_output_size(len(self._outputs))
        for index, (kind, shape) in enumerate(self._outputs):
            self.set_output_type(index, kind, shape)

    def clone_with_new_inputs(self, new_inputs: Sequence[ov.Output]) -> ExecutionNode:
        return ExecutionNode(new_inputs, self._outputs)

    def visit_attributes(self, visitor: object) -> bool:
        return True


def runtime_model(name: str, program: Program, profile: Sequence[NodeProfile],
                  results: Sequence[tuple[str, str]]) -> ov.Model:
    """The graph of a program with the shapes and times of `profile`, which holds a row for every node.

    `results`: (name of the program's output, name of the result's layer) in the model's order.
    """
    return _Drawing(program, profile).model(name, results)


class _Drawing:
    def __init__(self, program: Program, profile: Sequence[NodeProfile]) -> None:
        self._program = program
        self._fused = fused_primitives(program)
        self._rows = {row.name: row for row in profile if not row.within}
        self._total_ns: Counter[str] = Counter()
        for row in profile:
            self._total_ns[row.within or row.name] += row.device_ns
        self._ports: dict[int, ov.Output] = {}
        self._parameters: list[ov.op.Parameter] = []
        self._count = 0

    def model(self, name: str, results: Sequence[tuple[str, str]]) -> ov.Model:
        for node in self._program.nodes:
            self._add(node)
        drawn = [self._result(output, layer) for output, layer in results]
        return ov.Model(drawn, self._parameters, name)

    def _add(self, node: ProgramNode) -> None:
        row = self._rows[profiled_name(node)]
        layouts = [self._program.tensors[tensor].layout for tensor in node.outputs]
        shapes = row.shapes or [layout.shape for layout in layouts]
        typed = [(ov_type(layout.element_type), partial_shape_of(shape))
                 for layout, shape in zip(layouts, shapes, strict=True)]
        drawn: ov.Node
        if isinstance(node.primitive, Input):
            drawn = ov.op.Parameter(*typed[0])
            self._parameters.append(drawn)
        else:
            drawn = ExecutionNode([self._port(tensor) for tensor in node.inputs], typed)
        ran = row.status == "executed"
        self._describe(drawn, row.name, "Input" if isinstance(node.primitive, Input) else row.primitive, row.kernel,
                       layouts, self._layers(node), str(round(self._total_ns[row.name] / 1e3)) if ran else NOT_EXECUTED)
        for index, tensor in enumerate(node.outputs):
            self._ports[tensor] = drawn.output(index)

    def _layers(self, node: ProgramNode) -> list[str]:
        fused = [gone.layer for gone in self._fused.get(node.primitive.id, ())]
        return [layer for layer in dict.fromkeys([node.primitive.origin, *fused]) if layer]

    def _port(self, tensor: int) -> ov.Output:
        """What makes a tensor; constants are drawn when they are first read."""
        if tensor not in self._ports:
            described = self._program.tensors[tensor]
            drawn = ExecutionNode([], [(ov_type(described.layout.element_type),
                                        partial_shape_of(described.layout.shape))])
            self._describe(drawn, described.port.primitive, "Const", "constant", [described.layout], [], NOT_EXECUTED)
            self._ports[tensor] = drawn.output(0)
        return self._ports[tensor]

    def _result(self, output: str, layer: str) -> ov.op.Result:
        info = self._program.outputs[output]
        drawn = ov.op.Result(self._port(info.tensor))
        self._describe(drawn, layer, "Result", "result", [info.layout], [layer], NOT_EXECUTED)
        return drawn

    def _describe(self, drawn: ov.Node, name: str, kind: str, kernel: str, layouts: Sequence[Layout],
                  layers: Sequence[str], time: str) -> None:
        drawn.set_friendly_name(name)
        types = [layout.element_type.name for layout in layouts]
        described = {
            "layerType": kind, "originalLayersNames": ",".join(layers), "primitiveType": kernel,
            "execOrder": str(self._count), "execTimeMcs": time,
            "outputLayouts": ",".join(layout.format.name for layout in layouts),
            "outputPrecisions": ",".join(types), "runtimePrecision": types[0],
        }
        self._count += 1
        for key, value in described.items():
            drawn.get_rt_info()[key] = value
