"""What device users mean by OpenVINO's device strings, and which of their settings are meant for it."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clinfer.api.config import pairs_of
from clinfer.base.errors import ClinferError
from clinfer.runtime.device import DeviceInfo, available_devices, devices_by_name, find_device

_SEVERAL = ("MULTI", "HETERO", "BATCH")
_PER_DEVICE, _NUMBER = "DEVICE_PROPERTIES", "DEVICE_ID"


class DeviceNames(list[str]):
    """Full names of devices (`CPU.0`); a type alone (`CPU`), which names the first, counts as contained."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or super().__contains__(f"{name}.0")


def choose_device(name: str) -> DeviceInfo:
    """The device of `GPU.1`, `GPU` (the first), `AUTO` (the first GPU, else the CPU), or of `AUTO:GPU,CPU`:
    the first of the list that this machine has; `AUTO:-GPU` leaves devices out.
    """
    kind, _, listed = str(name).partition(":")
    if kind in _SEVERAL:
        raise ClinferError(f"{kind} devices do not exist here: a model is compiled for one device",
                           where=f"device {name}",
                           values=devices_by_name(),
                           hint="compile the model once per device, or for AUTO:GPU,CPU with the PERFORMANCE_HINT "
                                "CUMULATIVE_THROUGHPUT; several streams (NUM_STREAMS) fill one device")
    if kind != "AUTO" or not listed:
        return find_device(name)
    return listed_devices(name)[0]


def listed_devices(name: str) -> tuple[DeviceInfo, ...]:
    """The devices of a list such as `AUTO:GPU,CPU` that this machine has, in its order: of each wish the first that it
    means and no wish before did. Where it only leaves devices out (`AUTO:-GPU`), the one that AUTO is then."""
    listed = name.partition(":")[2]
    wishes = [wish.strip() for wish in listed.split(",")]
    unwanted = {wish[1:] for wish in wishes if wish.startswith("-")}
    wanted = [wish for wish in wishes if not wish.startswith("-")]
    allowed = [device for device in available_devices() if not any(is_meant(wish, device) for wish in unwanted)]
    found: list[DeviceInfo] = []
    for wish in wanted or ["AUTO"]:
        found += [device for device in allowed
                  if device not in found and (wish == "AUTO" or is_meant(wish, device))][:1]
    if found:
        return tuple(found)
    raise ClinferError(f"there is no device for {name}", where="choice of a device",
                       values=devices_by_name(),
                       hint=f"one of {', '.join(devices_by_name())}, or AUTO")


def devices_of(name: str) -> tuple[DeviceInfo, ...]:
    """The devices that a setting for `name` reaches: all of a type for `GPU` or `CPU`, else the one it names."""
    return tuple(d for d in available_devices() if d.type == name) or (choose_device(name),)


def is_meant(name: str, device: DeviceInfo) -> bool:
    """Whether a device's full name or its type is this name."""
    return name in (device.name, device.type)


def settings_for(device: DeviceInfo, settings: object) -> list[tuple[str, Any]]:
    """The settings that count for a device; what is meant for others is left out.

    DEVICE_PROPERTIES is unfolded, and so is a value per device in a text: `{"NUM_STREAMS": "{CPU:2,GPU:4}"}`.
    DEVICE_ID must be the device's own number.
    """
    counted: list[tuple[str, Any]] = []
    for name, value in pairs_of(settings):
        if name == _PER_DEVICE:
            counted += _unfolded(device, value)
        elif name == _NUMBER:
            _check_number(device, value)
        elif isinstance(value, str) and value.startswith("{") and value.endswith("}"):
            per_device = [part.strip().partition(":") for part in value[1:-1].split(",")]
            counted += [(name, own) for wanted, _, own in per_device if is_meant(wanted, device)]
        else:
            counted.append((name, value))
    return counted


def _check_number(device: DeviceInfo, number: object) -> None:
    if str(number) not in ("", device.name.partition(".")[2]):
        raise ClinferError("a device is chosen by its name", where="configuration",
                           values={_NUMBER: number, "chosen": device.name},
                           hint=f"ask for {device.type}.{number}, and leave {_NUMBER} out")


def _unfolded(device: DeviceInfo, per_device: object) -> list[tuple[str, Any]]:
    if not isinstance(per_device, Mapping):
        raise ClinferError(f"{_PER_DEVICE} is a dictionary of dictionaries", where="configuration",
                           values={"given": repr(per_device)}, hint='such as {"CPU": {"NUM_STREAMS": 2}}')
    return [pair for wanted, own in per_device.items() if is_meant(str(wanted), device) for pair in pairs_of(own)]
