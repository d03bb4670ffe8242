"""ShuffleChannels: the channels of groups in turn."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.shuffle_channels.kernels import KERNELS
from clinfer.ops.shuffle_channels.op import ShuffleChannels

OPERATION = Operation("shuffle_channels", converters={"ShuffleChannels": by_attributes(ShuffleChannels)},
                      kernels={ShuffleChannels: KERNELS})
