"""Capabilities of GPUs of several kinds."""
from __future__ import annotations

from dataclasses import replace

from clinfer.runtime.capabilities import Capabilities
from clinfer.runtime.ceilings import default_ceilings

KINDS = ("amd", "arm", "intel", "nvidia", "hopper")


def gpu_of(kind: str, device: Capabilities) -> Capabilities:
    """Those of a GPU of a kind, where they differ from another device's."""
    common = replace(device, device_type="GPU", compute_units=64, max_work_group_size=1024, fp16=True,
                     local_mem_size=64 << 10, usable_local_mem=64 << 10, tensor_cores=False,
                     warp_group_products=False, bulk_copies=False, megakernels=False, float_products=False,
                     bf16_products=False, tile_registers=False,
                     ceilings=default_ceilings("GPU", 64, fp16=True))
    nvidia = replace(common, compute_units=132, local_mem_size=48 << 10, usable_local_mem=227 << 10,
                     subgroup_size=32, subgroup_sizes=(32,), tensor_cores=True,
                     ceilings=default_ceilings("GPU", 132, fp16=True, tensor_cores=True))
    return {
        "amd": replace(common, subgroup_size=64, subgroup_sizes=(64,)),
        "arm": replace(common, compute_units=16, max_work_group_size=384, local_mem_size=0, usable_local_mem=0,
                       subgroup_size=16, subgroup_sizes=(16,), unified_memory=True,
                       ceilings=default_ceilings("GPU", 16, fp16=True)),
        "intel": replace(common, subgroup_size=16, subgroup_sizes=(8, 16, 32),
                         subgroup_builtins=("khr", "khr_shuffle", "intel_shuffle", "intel_block_read")),
        "nvidia": nvidia,
        "hopper": replace(nvidia, warp_group_products=True, bulk_copies=True),
    }[kind]
