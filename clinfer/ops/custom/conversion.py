"""From an operation of the model to a CustomOp."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clinfer.base.errors import ClinferError
from clinfer.ops.custom.op import CustomOp
from clinfer.topology import CustomKernel, Primitive, SourceNode


def converter_of(kernel: CustomKernel) -> Callable[[SourceNode], Primitive]:
    """The converter of the operation that a kernel computes."""
    def convert(node: SourceNode) -> Primitive:
        for argument in kernel.arguments:
            count = len(node.inputs if argument.kind == "input" else node.output_types)
            if argument.index >= count:
                raise ClinferError(f"the kernel {kernel.entry} takes an {argument.kind} that the operation does not "
                                   "have", where=f"layer {node.name!r}",
                                   values={argument.kind: argument.index, "there are": count})
        assert node.isolated is not None
        return CustomOp(node.id, node.inputs, origin=node.name, kernel=kernel, function=node.isolated(),
                        macros=_macros(kernel, node.attributes), types=node.output_types,
                        given=tuple(i for i in range(len(node.inputs)) if i not in node.constants))
    return convert


def _macros(kernel: CustomKernel, attributes: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _text(kind, attributes.get(attribute, default) if attribute else default))
                 for name, kind, attribute, default in kernel.defines)


def _text(kind: str, value: Any) -> str:
    """A value as OpenCL C; of a `kind` such as float it is cast to that, of float[] the list of an array."""
    if isinstance(value, bool):
        value = int(value)
    if kind.endswith("[]"):
        items = value if isinstance(value, Sequence) and not isinstance(value, str) else str(value).split(",")
        return "{ " + ", ".join(f"({kind[:-2]})({item})" for item in items) + " }"
    return f"(({kind})({value}))" if kind else str(value)
