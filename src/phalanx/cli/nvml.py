"""Which GPUs a container has, by NVIDIA's management library (NVML), which is the driver's own and comes with it.

Called by `ctypes`: five functions are no reason for a dependency.
"""

import ctypes
from dataclasses import dataclass

#: Longer than any id.
_ID_MAX = 96
_GPU, _SLICE = "GPU-", "MIG-"


class NvmlError(Exception):
    """The library is not there, or does not answer."""


@dataclass(frozen=True, slots=True)
class Own:
    """The ids of a container's devices; none where nobody can tell. `why` says by what they are known, or why not."""

    ids: list[str]
    why: str


def own_devices(library: str, environment: str) -> Own:
    """Return the devices of the container that we run in; `environment` is what its device plugin says."""
    named = [one for one in environment.split(",") if one.startswith((_GPU, _SLICE))]
    try:
        seen = visible(library)
    except NvmlError as error:
        if named:
            return Own(named, f"no NVML ({error}); by NVIDIA_VISIBLE_DEVICES")
        return Own([], f"no NVML ({error}), and NVIDIA_VISIBLE_DEVICES is {environment[:100] or 'empty'}")
    if named and all(one.startswith(_SLICE) or one in seen for one in named):
        return Own(named, "NVML and NVIDIA_VISIBLE_DEVICES")
    if len(seen) == 1:
        return Own(seen, "NVML")
    which = f"and NVIDIA_VISIBLE_DEVICES is {environment[:100] or 'empty'}"
    return Own([], f"NVML shows {len(seen)} GPUs, {which}: which one was given to this pod is not known")


def visible(library: str) -> list[str]:
    """Return the ids of the GPUs that can be seen from here."""
    try:
        nvml = ctypes.CDLL(library)
    except OSError as error:
        raise NvmlError(str(error)) from None
    _call(nvml, "nvmlInit_v2")
    try:
        count = ctypes.c_uint()
        _call(nvml, "nvmlDeviceGetCount_v2", ctypes.byref(count))
        return [_id(nvml, index) for index in range(count.value)]
    finally:
        _call(nvml, "nvmlShutdown")


def _id(nvml: ctypes.CDLL, index: int) -> str:
    device = ctypes.c_void_p()
    _call(nvml, "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device))
    text = ctypes.create_string_buffer(_ID_MAX)
    _call(nvml, "nvmlDeviceGetUUID", device, text, ctypes.c_uint(_ID_MAX))
    return text.value.decode("ascii", "replace")


def _call(nvml: ctypes.CDLL, name: str, *arguments: object) -> None:
    try:
        status = getattr(nvml, name)(*arguments)
    except AttributeError:
        raise NvmlError(f"the library has no {name}") from None
    if status != 0:
        raise NvmlError(f"{name} answered {status}")
