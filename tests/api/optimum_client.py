"""A client of optimum-intel: exports a model with random weights, or generates with one that was exported.

`python -m tests.api.optimum_client export KIND FOLDER SEED`
`python -m tests.api.optimum_client run KIND FOLDER FILE`, on OpenVINO or behind `-m clinfer.drop_in`
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
MODELS = {
    "llama": ("Llama", _GROUPED),
    "mistral": ("Mistral", {**_GROUPED, "sliding_window": 8}),
    "gpt2": ("GPT2", {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 300, "n_positions": 512}),
    "bart": ("Bart", {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
                      "decoder_attention_heads": 4, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "vocab_size": 300,
                      "max_position_embeddings": 256}),
}
_CLASSES = {"GPT2": "GPT2LMHeadModel", "Bart": "BartForConditionalGeneration"}
_PROMPTS = [[0, 0, 5, 17], [9, 8, 7, 6], [0, 1, 2, 3]]


def export(kind: str, folder: str, seed: int) -> None:
    """Make a model of a kind and export it with state."""
    from optimum.exporters.openvino import export_from_model
    torch.manual_seed(seed)
    name, sizes = MODELS[kind]
    model = getattr(transformers, _CLASSES.get(name, f"{name}ForCausalLM"))(
        getattr(transformers, f"{name}Config")(**sizes)).eval()
    model.generation_config.eos_token_id = None
    task = "text2text-generation-with-past" if kind == "bart" else "text-generation-with-past"
    export_from_model(model, folder, task=task, stateful=True)


def run(kind: str, folder: str) -> dict[str, Any]:
    """What a model says: greedily, sampled, with four beams; three texts of which two are padded."""
    from optimum.intel import OVModelForCausalLM, OVModelForSeq2SeqLM
    config = {"INFERENCE_PRECISION_HINT": "f32", "CACHE_DIR": ""}
    chosen = OVModelForSeq2SeqLM if kind == "bart" else OVModelForCausalLM
    model = chosen.from_pretrained(folder, device="CPU", ov_config=config)
    prompts = torch.tensor(_PROMPTS)
    given = {"attention_mask": (prompts != 0).long(), "max_new_tokens": 16, "pad_token_id": 0}
    torch.manual_seed(0)
    ways: dict[str, dict[str, Any]] = {"greedy": {}, "sampled": {"do_sample": True, "top_k": 20},
                                       "beams": {"num_beams": 4}}
    found: dict[str, Any] = {}
    for name, way in ways.items():
        said = model.generate(prompts, **{"do_sample": False, **given, **way}, output_logits=True,
                              return_dict_in_generate=True)
        found[name] = said.sequences.numpy()
        found[f"{name} logits"] = np.stack([each.numpy() for each in said.logits])
    return found


if __name__ == "__main__":
    what, kind, folder, last = sys.argv[1:]
    if what == "export":
        export(kind, folder, int(last))
    else:
        import openvino
        np.savez(last, engine=openvino.Core.__module__.partition(".")[0], **run(kind, folder))
