"""FakeConvert: numbers rounded to those that floats of 8 bits can hold."""
from clinfer.ops.fake_convert.kernels import KERNELS
from clinfer.ops.fake_convert.op import FakeConvert
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("fake_convert", converters={"FakeConvert": by_attributes(FakeConvert)},
                      kernels={FakeConvert: KERNELS})
