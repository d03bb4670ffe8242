"""Rows of floats as bytes, in which caches of keys and values can be kept. OpenVINO has no such operations:
`frontend/byte_rows.py` puts them into models."""
from clinfer.ops.byte_rows.kernels import DEQUANTISING, QUANTISING
from clinfer.ops.byte_rows.op import DequantiseRows, QuantiseRows
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation(
    "byte_rows",
    converters={"QuantiseRows": by_attributes(QuantiseRows), "DequantiseRows": by_attributes(DequantiseRows)},
    kernels={QuantiseRows: QUANTISING, DequantiseRows: DEQUANTISING})

__all__ = ["OPERATION", "DequantiseRows", "QuantiseRows"]
