"""OpenVINO's files of custom layers (CONFIG_FILE): kernels of type SimpleGPU.

The format is that of OpenVINO's guide "How to Implement Custom GPU Operations".
"""
from __future__ import annotations

import os
import re
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from clinfer.api.property_values import wrong_value
from clinfer.base.errors import ClinferError
from clinfer.base.expressions import parsed
from clinfer.topology import CustomKernel, KernelArgument

_DECLARATION = re.compile(r"<\?xml[^>]*\?>")


@dataclass(frozen=True)
class CustomLayers:
    """The kernels of a file; none without a file."""

    file: str = ""
    kernels: tuple[CustomKernel, ...] = ()


def read_custom_layers(name: str, value: Any) -> CustomLayers:
    """The layers of the file at a path; an empty one: none. Errors: ClinferError that names the file and the layer."""
    if not isinstance(value, str | os.PathLike):
        raise wrong_value(name, value, "the path of an XML file")
    if not str(value):
        return CustomLayers()
    path = Path(value)
    try:
        # A file may hold several layers side by side, without an element around them.
        text = _DECLARATION.sub("", path.read_text(encoding="utf-8"))
        root = ElementTree.fromstring(f"<layers>{text}</layers>")
        layers = tuple(_layer(element, path.parent) for element in root.iter("CustomLayer"))
    except (OSError, ValueError, ElementTree.ParseError) as error:
        raise ClinferError("the file of custom layers cannot be read", where="configuration",
                           values={name: path, "because": error}) from None
    except ClinferError as error:
        raise error.at(f"custom layers of {path}") from None
    if not layers:
        raise ClinferError("the file has no custom layers", where="configuration", values={name: path})
    return CustomLayers(str(path), layers)


def _layer(layer: ElementTree.Element, folder: Path) -> CustomKernel:
    name = _attribute(layer, "name")
    if layer.get("type") != "SimpleGPU" or layer.get("version") != "1":
        raise ClinferError("only custom layers of type SimpleGPU, version 1, are known", values={
            "layer": name, "type": layer.get("type"), "version": layer.get("version")})
    kernel, sizes, options = (layer.find(part) for part in ("Kernel", "WorkSizes", "CompilerOptions"))
    if kernel is None or sizes is None:
        raise ClinferError("a custom layer has no Kernel, or no WorkSizes", values={"layer": name})
    sources = [(folder / _attribute(source, "filename")).read_text(encoding="utf-8")
               for source in kernel.findall("Source")]
    defines = tuple((_attribute(each, "name"), each.get("type", ""), each.get("param", ""), each.get("default", ""))
                    for each in kernel.findall("Define"))
    local = sizes.get("local", "")
    return checked(CustomKernel(
        name, "\n".join(sources), _attribute(kernel, "entry"), _expressions(_attribute(sizes, "global")),
        _expressions(local) if local else (), _sized_by(name, sizes.get("dim", "output")), _arguments(layer), defines,
        tuple(options.get("options", "").split()) if options is not None else (), has_arrays=True))


def checked(kernel: CustomKernel) -> CustomKernel:
    """The kernel. Errors: ClinferError for a function that is not in its source, and for work sizes that are none."""
    values: dict[str, object] = {"operation": kernel.operation, "entry": kernel.entry}
    if not re.search(rf"\b{re.escape(kernel.entry)}\s*\(", kernel.source) or not kernel.entry.isidentifier():
        raise ClinferError("the source of a custom kernel has no function of that name", values=values)
    if not 1 <= len(kernel.global_size) <= 3 or len(kernel.local_size) not in (0, len(kernel.global_size)):
        raise ClinferError("a custom kernel has one to three global sizes, and as many local ones or none", values={
            **values, "global": ", ".join(kernel.global_size), "local": ", ".join(kernel.local_size)})
    for text in kernel.global_size + kernel.local_size:
        parsed(text)
    return kernel


def _arguments(layer: ElementTree.Element) -> tuple[KernelArgument, ...]:
    """The buffers in the order of their `arg-index`."""
    buffers = layer.find("Buffers")
    found: list[tuple[int, KernelArgument]] = []
    for tensor in () if buffers is None else buffers:
        kind = tensor.get("type", "")
        if tensor.tag != "Tensor" or kind not in ("input", "output"):
            raise ClinferError("a buffer of a custom layer is no input or output tensor", values={
                "layer": layer.get("name"), "buffer": tensor.tag, "type": kind})
        if tensor.get("format", "BFYX").upper() not in ("BFYX", "ANY"):
            raise ClinferError("tensors of custom layers are planar", values={
                "layer": layer.get("name"), "format": tensor.get("format")}, hint="let the kernel take BFYX")
        found.append((int(_attribute(tensor, "arg-index")), KernelArgument(
            "input" if kind == "input" else "output", int(_attribute(tensor, "port-index")))))
    found.sort(key=itemgetter(0))
    if [index for index, _ in found] != [*range(len(found))]:
        raise ClinferError("the arguments of a custom layer's kernel are not numbered from 0 on", values={
            "layer": layer.get("name"), "arg-index": ", ".join(str(index) for index, _ in found)})
    return tuple(argument for _, argument in found)


def _sized_by(layer: str, text: str) -> str:
    """`input,1` or `output` as the name of a tensor."""
    match = re.fullmatch(r"(input|output)\s*(?:,\s*(\d+))?", text.strip())
    if match is None:
        raise ClinferError("work sizes of a custom layer follow no tensor", values={"layer": layer, "dim": text},
                           hint="write dim=\"input,0\" or dim=\"output\"")
    return f"{match[1].upper()}{match[2] or 0}"


def _expressions(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def _attribute(element: ElementTree.Element, name: str) -> str:
    value = element.get(name)
    if not value:
        raise ClinferError(f"{element.tag} of a custom layer has no {name}")
    return value
