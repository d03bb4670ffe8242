"""ArrayFeatureExtractor and Binarizer of ai.onnx.ml, which OpenVINO's import does not know."""
from __future__ import annotations

from clinfer.frontend.onnx.operator import Operands, Reading
from clinfer.frontend.onnx.values import Value

_DOMAIN = "ai.onnx.ml"


def convert_extractor(node: Operands) -> list[Value]:
    """Columns by their numbers."""
    x = node[0]
    return [x.gather(node[1].reshape([-1]), x.rank - 1)]


def convert_binarizer(node: Operands) -> list[Value]:
    """1 above the threshold, else 0."""
    x = node[0]
    return [(x > float(node.attribute("threshold", 0.0))).where(x.constant_like(1), 0)]


MENDINGS = (Reading("ArrayFeatureExtractor", convert_extractor, domain=_DOMAIN),
            Reading("Binarizer", convert_binarizer, domain=_DOMAIN))
