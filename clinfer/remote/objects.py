"""The user's OpenCL objects, and raw handles of them, as objects of ours.

Each is retained once more and let go of once, so that it lives as long as ours does, whatever the user does to his.
"""
from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any, TypeVar

import pyopencl as cl

from clinfer.base.errors import ClinferError
from clinfer.runtime.device import DeviceInfo, available_devices, devices_by_name
from clinfer.runtime.status import driver_error

Object = TypeVar("Object", cl.Context, cl.CommandQueue, cl.Buffer, cl.Image)

WHERE = "remote context"


def retained(given: Object) -> Object:
    """A second reference to an OpenCL object, which is released when it is collected."""
    return type(given).from_int_ptr(given.int_ptr, True)


def read_handle(name: str, handle: object, least: int = 1) -> int:
    """A raw handle of the user's, given under that name: an integer, a capsule, or something with a `value` such as
    c_void_p. Errors: what is none of these, and less than `least`."""
    is_capsule = type(handle).__name__ == "PyCapsule"
    value = _pointer_in(handle) if is_capsule else getattr(handle, "value", handle)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ClinferError(f"{name} is no handle", where=WHERE, values={"given": repr(handle)},
                           hint=f"give the integer of a valid object as {name}; pyopencl objects are given themselves")
    return value


def _pointer_in(capsule: object) -> int:
    calls = ctypes.pythonapi
    calls.PyCapsule_GetName.restype, calls.PyCapsule_GetPointer.restype = ctypes.c_char_p, ctypes.c_void_p
    given = ctypes.py_object(capsule)
    return int(calls.PyCapsule_GetPointer(given, ctypes.c_char_p(calls.PyCapsule_GetName(given))) or 0)


def context_of_handle(handle: object) -> cl.Context:
    """The context of a raw cl_context, retained; that the handle is valid is the caller's promise."""
    return cl.Context.from_int_ptr(read_handle("cl_context", handle), True)


def queue_of_handle(handle: object) -> cl.CommandQueue:
    """The queue of a raw cl_command_queue, retained; that the handle is valid is the caller's promise."""
    return cl.CommandQueue.from_int_ptr(read_handle("queue", handle), True)


def memory_of_handle(handle: object) -> cl.Buffer | cl.Image:
    """The buffer or image of a raw cl_mem, retained; that the handle is valid is the caller's promise."""
    return cl.MemoryObject.from_int_ptr(read_handle("cl_mem", handle), True)


def context_of_queue(queue: cl.CommandQueue) -> cl.Context:
    """The context in which a queue is. Errors: the context is gone (not every driver lets queues keep it)."""
    try:
        return queue.context
    except cl.Error as error:
        told = driver_error(error, "tell the context of a queue", where=WHERE)
        raise ClinferError(told.what, where=WHERE, hint="keep the pyopencl.Context as long as its queues") from None


def find_known_device(device: cl.Device) -> DeviceInfo:
    """What clinfer knows of a device of the user's, or of the one that it is a part of. Errors: one that is not among
    `available_devices`."""
    whole = _whole_device(device)
    for known in available_devices():
        if known.cl_device == whole:
            return known if whole == device else replace(known, cl_device=device)
    raise ClinferError("the device of this context is none of those that clinfer works on", where=WHERE,
                       values={"device": device.name.strip(), "platform": device.platform.name.strip(),
                               **devices_by_name()},
                       hint="make the context for one of these; clinfer devices lists them")


def _whole_device(device: cl.Device) -> cl.Device:
    parent: cl.Device | None
    try:
        parent = device.parent_device
    except cl.Error:
        parent = None
    return device if parent is None else _whole_device(parent)


def choose_device(context: cl.Context, number: int | None) -> DeviceInfo:
    """The device of a context; where it has several, the one of that number."""
    devices = context.devices
    if number is None and len(devices) > 1:
        raise ClinferError("the context has several devices", where=WHERE, values=_listed(devices),
                           hint="choose one with ctx_device_id=, or give a queue")
    if number is not None and not 0 <= number < len(devices):
        raise ClinferError("the context has no device of that number", where=WHERE,
                           values={"ctx_device_id": number, **_listed(devices)})
    return find_known_device(devices[number or 0])


def check_same_context(what: str, found: Any, wanted: cl.Context) -> None:
    """Raise unless an object that belongs to one context (`found`) may be used in another."""
    if found.int_ptr != wanted.int_ptr:
        raise ClinferError(f"{what} belongs to another OpenCL context", where=WHERE,
                           values={"its context": _described(found), "this context": _described(wanted)},
                           hint="make it in this context, or make the remote context from its own")


def _described(context: cl.Context) -> str:
    return f"{context.int_ptr:#x} on {', '.join(device.name.strip() for device in context.devices)}"


def _listed(devices: list[cl.Device]) -> dict[str, object]:
    return {f"device {number}": device.name.strip() for number, device in enumerate(devices)}
