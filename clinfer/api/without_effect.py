"""Properties that OpenVINO's clients set as a matter of course and that cannot change a result here.

Each with its default and the reader that checks what is set. docs/coming_from_openvino.md says of each why it has no
effect.
"""
from __future__ import annotations

from typing import Any

from clinfer.api.property_values import (
    Reader,
    read_choice,
    read_choices,
    read_count,
    read_folder,
    read_size,
    read_switch,
    read_type,
)
from clinfer.frontend.openvino_import import openvino as ov

_properties = ov.properties
_Priority = _properties.hint.Priority

WITHOUT_EFFECT: dict[str, tuple[Any, Reader]] = {
    "ENABLE_CPU_PINNING": (False, read_switch),
    "ENABLE_CPU_RESERVATION": (False, read_switch),
    "ENABLE_HYPER_THREADING": (True, read_switch),
    "SCHEDULING_CORE_TYPE": (_properties.hint.SchedulingCoreType.ANY_CORE,
                             read_choice(_properties.hint.SchedulingCoreType)),
    "TBB_PARTITIONER": (_properties.intel_cpu.TbbPartitioner.AUTO, read_choice(_properties.intel_cpu.TbbPartitioner)),
    "FORCE_TBB_TERMINATE": (False, read_switch),
    "ENABLE_TENSOR_PARALLEL": (False, read_switch),
    "MODEL_DISTRIBUTION_POLICY": (frozenset(), read_choices(_properties.hint.ModelDistributionPolicy)),
    "MODEL_PRIORITY": (_Priority.MEDIUM, read_choice(_Priority)),
    "WORKLOAD_TYPE": (_properties.WorkloadType.DEFAULT, read_choice(_properties.WorkloadType)),
    "GPU_QUEUE_PRIORITY": (_Priority.MEDIUM, read_choice(_Priority)),
    "GPU_QUEUE_THROTTLE": (_Priority.MEDIUM, read_choice(_Priority)),
    "GPU_HOST_TASK_PRIORITY": (_Priority.MEDIUM, read_choice(_Priority)),
    "ALLOW_AUTO_BATCHING": (False, read_switch),
    "AUTO_BATCH_TIMEOUT": (1000, read_count),
    "CACHE_MODE": (_properties.CacheMode.OPTIMIZE_SPEED, read_choice(_properties.CacheMode)),
    "ENABLE_WEIGHTLESS": (False, read_switch),
    "WEIGHTS_PATH": ("", read_folder),
    "CPU_RUNTIME_CACHE_CAPACITY": (0, read_count),
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": (0, read_count),
    "KEY_CACHE_PRECISION": (ov.Type.dynamic, read_type),
    "VALUE_CACHE_PRECISION": (ov.Type.dynamic, read_type),
    "KEY_CACHE_GROUP_SIZE": (0, read_count),
    "VALUE_CACHE_GROUP_SIZE": (0, read_count),
    "CPU_DENORMALS_OPTIMIZATION": (False, read_switch),
    "CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE": (1.0, read_size),
    "GPU_DISABLE_WINOGRAD_CONVOLUTION": (False, read_switch),
    "GPU_ENABLE_LOOP_UNROLLING": (True, read_switch),
    "GPU_ENABLE_LORA_OPERATION": (True, read_switch),
    "GPU_ENABLE_LARGE_ALLOCATIONS": (False, read_switch),
    "AVAILABLE_DEVICE_MEM_SIZE": (0, read_count),
    "DEVICE_BIND_BUFFER": (False, read_switch),
    "ENABLE_STARTUP_FALLBACK": (True, read_switch),
    "ENABLE_RUNTIME_FALLBACK": (True, read_switch),
    "SCHEDULE_POLICY": (_properties.intel_auto.SchedulePolicy.DEFAULT,
                        read_choice(_properties.intel_auto.SchedulePolicy)),
    "LOG_LEVEL": (_properties.log.Level.NO, read_choice(
        _properties.log.Level, LOG_NONE="NO", LOG_ERROR="ERR", LOG_WARNING="WARNING", LOG_INFO="INFO",
        LOG_DEBUG="DEBUG", LOG_TRACE="TRACE")),
}
