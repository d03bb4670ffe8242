"""A client of optimum-intel: exports a model with random weights, or generates with one that was exported.

`python -m tests.api.optimum_client export KIND FOLDER SEED [stateless]`
`python -m tests.api.optimum_client run KIND FOLDER FILE [TOKENS]`, on OpenVINO or behind `-m clinfer.drop_in`
"""
from __future__ import annotations

import os
import sys
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers

_COMMON = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
           "vocab_size": 300, "max_position_embeddings": 512}
_GROUPED = {**_COMMON, "num_key_value_heads": 2}
_PAIR = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "vocab_size": 300}
MODELS = {
    "llama": ("Llama", _GROUPED),
    "mistral": ("Mistral", {**_GROUPED, "sliding_window": 8}),
    "gpt2": ("GPT2", {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 300, "n_positions": 512}),
    "bart": ("Bart", {**_PAIR, "max_position_embeddings": 512}),
    "t5": ("T5", {"d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 4, "vocab_size": 300,
                  "decoder_start_token_id": 0}),
    "whisper": ("Whisper", {**_PAIR, "max_target_positions": 512, "pad_token_id": 0,
                            "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3,
                            "begin_suppress_tokens": None}),
}
_CLASSES = {"GPT2": "GPT2LMHeadModel", "Bart": "BartForConditionalGeneration", "T5": "T5ForConditionalGeneration",
            "Whisper": "WhisperForConditionalGeneration"}
_TASKS = {"bart": "text2text-generation-with-past", "t5": "text2text-generation-with-past",
          "whisper": "automatic-speech-recognition-with-past"}
_READERS = {"bart": "OVModelForSeq2SeqLM", "t5": "OVModelForSeq2SeqLM", "whisper": "OVModelForSpeechSeq2Seq"}
_PROMPTS = [[0, 0, 5, 17], [9, 8, 7, 6], [0, 1, 2, 3]]
_WAYS: dict[str, dict[str, Any]] = {"greedy": {}, "sampled": {"do_sample": True, "top_k": 20},
                                    "beams": {"num_beams": 4}}


def export(kind: str, folder: str, seed: int, stateful: bool = True) -> None:
    """Make a model of a kind and export it, decoders with state or without."""
    from optimum.exporters.openvino import export_from_model
    torch.manual_seed(seed)
    name, sizes = MODELS[kind]
    model = getattr(transformers, _CLASSES.get(name, f"{name}ForCausalLM"))(
        getattr(transformers, f"{name}Config")(**sizes)).eval()
    if getattr(model, "generation_config", None) is not None:
        model.generation_config.eos_token_id = None
    export_from_model(model, folder, task=_TASKS.get(kind, "text-generation-with-past"), stateful=stateful)


def run(kind: str, folder: str, tokens: int) -> dict[str, Any]:
    """What a model says: greedily, sampled, with four beams, so many tokens; three texts of which two are padded."""
    from optimum import intel
    # By default OpenVINO holds keys and values as f16 at f32, too, which changes logits by 1e-4 of their scale.
    config = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32", "CACHE_DIR": ""}
    model = getattr(intel, _READERS.get(kind, "OVModelForCausalLM")).from_pretrained(
        folder, device="CPU", ov_config=config)
    prompts = torch.tensor(_PROMPTS)
    given: dict[str, Any] = {"input_ids": prompts, "attention_mask": (prompts != 0).long()}
    if kind == "whisper":
        given = {"input_features": torch.randn(3, 80, 3000, generator=torch.Generator().manual_seed(1))}
    torch.manual_seed(0)
    found: dict[str, Any] = {}
    for name, way in _WAYS.items():
        said = model.generate(**{**given, "max_new_tokens": tokens, "pad_token_id": 0, "do_sample": False, **way},
                              output_logits=True, return_dict_in_generate=True)
        found[name] = said.sequences.numpy()
        found[f"{name} logits"] = np.stack([each.numpy() for each in said.logits])
    return found


if __name__ == "__main__":
    what, kind, folder, last, *more = sys.argv[1:]
    if what == "export":
        export(kind, folder, int(last), "stateless" not in more)
    else:
        import openvino
        np.savez(last, engine=openvino.Core.__module__.partition(".")[0],
                 **run(kind, folder, int(more[0]) if more else 16))
