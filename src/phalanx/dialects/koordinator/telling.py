"""What Koordinator's agent on the node reads of a pod: the numbers of its GPUs, and how much of each."""

import json
from collections.abc import Mapping

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.core.sides import Given, NodeSide
from phalanx.dialects.koordinator import parts
from phalanx.model.device import Device
from phalanx.model.sharing import MIB


def _told(pod: Pod, given: Given) -> Mapping[str, str]:
    del pod
    listed = [{"minor": one.index, "resources": _resources(given, one)} for one in given.devices]
    return {parts.ALLOCATED: json.dumps({"gpu": listed}, separators=(",", ":"))}


def _resources(given: Given, device: Device) -> dict[str, str]:
    """Return what it has of one GPU; of the cores only what it asked for."""
    mib, total = given.mebibytes(device), device.memory // MIB
    found = {parts.MEMORY: f"{mib}Mi", parts.RATIO: str(100 * mib // total if total else given.part.milli // 10)}
    return found | ({parts.CORE: str(given.part.cores // 10)} if given.part.cores else {})


NODE_SIDE = NodeSide(parts.SIDE, _told)
