"""What the device plugins of HAMi and of Volcano read of a pod: which parts of which GPUs its containers have."""

from collections.abc import Mapping

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.core.sides import ALLOCATING, Given, NodeSide
from phalanx.dialects.hami import parts
from phalanx.dialects.mistakes import FieldError

_PHASE, _VOLCANOS_PHASE = "hami.io/bind-phase", "volcano.sh/bind-phase"


def _hami(pod: Pod, given: Given) -> Mapping[str, str]:
    if pod.spec.init_containers:
        # Newer releases count them before the others, older ones do not.
        raise FieldError("spec.initContainers", "HAMi's device plugin cannot be told so which container has the GPU")
    said = "".join(f"{one};" for one in _containers(pod, given, parts.HAMI))
    now = str(int(given.now))
    return {
        "hami.io/vgpu-node": given.node, "hami.io/vgpu-time": now,
        "hami.io/vgpu-devices-to-allocate": said, "hami.io/vgpu-devices-allocated": said,
        "hami.io/bind-time": now, _PHASE: ALLOCATING,
    }  # fmt: skip


def _volcano(pod: Pod, given: Given) -> Mapping[str, str]:
    said = ";".join(_containers(pod, given, parts.VOLCANO))
    now = str(int(given.now))
    return {
        "volcano.sh/vgpu-node": given.node, "volcano.sh/vgpu-time": now,
        "volcano.sh/vgpu-ids-new": said, "volcano.sh/devices-to-allocate": said,
        "volcano.sh/bind-time": now, _VOLCANOS_PHASE: ALLOCATING,
    }  # fmt: skip


def _containers(pod: Pod, given: Given, words: parts.Words) -> list[str]:
    """Return for each container its GPUs as id, vendor, MiB and percent of cores; one of them has some."""
    cores = given.part.cores // 10
    if sum(parts.named(one, words) for one in pod.spec.containers or ()) > 1:
        raise FieldError(
            "spec.containers", "GPUs of its device plugin are given to one container of a pod by this version"
        )
    own = "".join(f"{one.id},NVIDIA,{given.mebibytes(one)},{cores}:" for one in given.devices)
    return [own if parts.named(one, words) else "" for one in pod.spec.containers or ()]


HAMI = NodeSide(parts.SIDES[0], _hami, _PHASE, "hami.io/mutex.lock")
#: Its lock is an option of its scheduler, which names no pod.
VOLCANO = NodeSide(parts.SIDES[1], _volcano, _VOLCANOS_PHASE)
