"""Which devices a server uses."""
from __future__ import annotations

from clinfer.api.device_choice import choose_device, devices_of
from clinfer.base.errors import ClinferError
from clinfer.runtime.device import available_devices


def served_devices(wanted: str) -> tuple[str, ...]:
    """The full names of this machine's devices that are meant: AUTO is all GPUs, or the first CPU where there is
    none; GPU all GPUs; CPU the first; a list such as `GPU.0,GPU.2` those.

    Errors: ClinferError.
    """
    found: list[str] = []
    for name in (part.strip() for part in wanted.split(",")):
        is_any_gpu = name == "GPU" or (name == "AUTO" and any(each.type == "GPU" for each in available_devices()))
        meant = devices_of("GPU") if is_any_gpu else (choose_device(name),)
        found += [each.name for each in meant if each.name not in found]
    if not found:
        raise ClinferError("no device is named", where="serving", values={"device": wanted})
    return tuple(found)
