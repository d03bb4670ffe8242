"""What an inference returns: arrays by index, name or port."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clinfer.api.ports import PORT_KEYS, PortKey, Ports
from clinfer.base.errors import WrongTypeError
from clinfer.frontend.openvino_import import openvino as ov


class Results(ov.utils.data_helpers.OVDict):
    """OpenVINO's dictionary of results; its keys are the compiled model's output ports.

    A result that was written to a remote tensor is that tensor: it is not copied to the host.

    An unknown key is a KeyError, as in every mapping, one that is no index, name or port a TypeError.
    """

    __slots__ = ("_arrays", "_ports")

    def __init__(self, ports: Ports, arrays: Sequence[Any]) -> None:
        super().__init__(dict(zip(ports.outputs, arrays, strict=True)))
        self._ports = ports
        self._arrays = tuple(arrays)

    def __getitem__(self, key: PortKey) -> Any:
        if isinstance(key, int | np.integer) and -len(self._arrays) <= key < len(self._arrays):
            return self._arrays[key]
        if not isinstance(key, PORT_KEYS):
            raise WrongTypeError("results are named by index, name or port", where="infer request",
                                 values={"given": repr(key), "of type": type(key).__name__})
        index = self._ports.search_output(key)
        if index is None:
            raise KeyError(key)
        return self._arrays[index]
