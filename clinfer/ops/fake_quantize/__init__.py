"""FakeQuantize: values rounded to a few levels between two bounds."""
from clinfer.ops.fake_quantize.kernels import KERNELS
from clinfer.ops.fake_quantize.op import FakeQuantize, convert_fake_quantize
from clinfer.ops.operation import Operation

OPERATION = Operation("fake_quantize", converters={"FakeQuantize": convert_fake_quantize},
                      kernels={FakeQuantize: KERNELS})

__all__ = ["OPERATION", "FakeQuantize"]
