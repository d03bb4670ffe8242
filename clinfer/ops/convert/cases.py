"""Test rows of the convert room."""
from clinfer.ops.room import Case

_FROM = ("f32", "f16", "bf16", "f64", "i8", "u8", "i32", "i64", "boolean")
_TO = ("f32", "f16", "bf16", "i8", "u8", "i32", "i64", "boolean")

CASES = (
    *(Case("Convert", "opset1", (((3, 21), a), ), {"destination_type": b}, low=0 if b == "u8" else -9, high=9)
      for a in _FROM for b in _TO if a != b),
    Case("Convert", "opset1", (((2, 17, 3, 5), "f32"),), {"destination_type": "f16"}, sequence=(((1, 17, 2, 2),),)),
)
