"""Pooling: the maximum or the mean of windows."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.pooling.kernels import ADAPTIVE_KERNELS, KERNELS
from clinfer.ops.pooling.op import AdaptiveAvgPool, AdaptiveMaxPool, AvgPool, MaxPool, convert_max_pool

OPERATION = Operation("pooling",
            converters={"MaxPool": convert_max_pool, "AdaptiveMaxPool": convert_max_pool,
                        **{cls.__name__: by_attributes(cls) for cls in (AvgPool, AdaptiveAvgPool)}},
            kernels={**dict.fromkeys((MaxPool, AvgPool), KERNELS),
                     **dict.fromkeys((AdaptiveMaxPool, AdaptiveAvgPool), ADAPTIVE_KERNELS)})

__all__ = ["OPERATION", "AdaptiveAvgPool", "AdaptiveMaxPool", "AvgPool", "MaxPool"]
