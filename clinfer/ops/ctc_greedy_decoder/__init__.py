"""CTCGreedyDecoder and CTCGreedyDecoderSeqLen: the likeliest class of each step, without repetitions and blanks."""
from clinfer.ops.ctc_greedy_decoder.kernels import KERNELS
from clinfer.ops.ctc_greedy_decoder.op import CollapseClasses, convert_decoder, convert_decoder_of_lengths
from clinfer.ops.operation import Operation

OPERATION = Operation("ctc_greedy_decoder", converters={"CTCGreedyDecoder": convert_decoder,
                                                        "CTCGreedyDecoderSeqLen": convert_decoder_of_lengths},
                      kernels={CollapseClasses: KERNELS})
