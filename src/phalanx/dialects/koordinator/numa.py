"""What a pod wants of the NUMA nodes of its node (`numa-topology-spec`)."""

import json
from collections.abc import Iterator

from phalanx.dialects.core.numa_policies import CALLED
from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.dialect import Wishes
from phalanx.dialects.mistakes import FieldError, Mistakes
from phalanx.model.axis import is_extended
from phalanx.model.device import DeviceWish
from phalanx.model.keys import annotation
from phalanx.model.quantity import shown
from phalanx.model.task import Hold

KEY = "scheduling.koordinator.sh/numa-topology-spec"
_POLICY, _EXCLUSIVE = "numaTopologyPolicy", "singleNUMANodeExclusive"
_BEST_EFFORT, _RESTRICTED, _ONE = CALLED
_ON_ONE = Wishes(devices=DeviceWish(together=("numa",)))
_TEXT_MAX = 1024


def wishes(pod: Pod, alone: bool, priority: int, mistakes: Mistakes) -> Wishes | None:
    """Return that all devices of a pod must be of one NUMA node, if it says so."""
    del alone, priority
    try:
        return _ON_ONE if _said(pod).get(_POLICY) == _ONE else None
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
        return None


def holds(pod: Pod) -> Iterator[Hold]:
    """Yield what is not honoured: a NUMA node of its own, as few as can be, and one for cpus without a device."""
    try:
        said = _said(pod)
    except FieldError:
        return
    policy = said.get(_POLICY)
    if said.get(_EXCLUSIVE) == "Required":
        yield Hold(annotation(KEY), f"{_EXCLUSIVE} Required is not honoured by this version")
    elif policy == _RESTRICTED:
        yield Hold(annotation(KEY), f"{_POLICY} {_RESTRICTED} is not honoured by this version, on pods")
    elif policy == _ONE and not _has_devices(pod):
        yield Hold(annotation(KEY), f"{_POLICY} {_ONE} is honoured by this version for devices alone")


def _said(pod: Pod) -> dict[str, object]:
    text = (pod.metadata.annotations or {}).get(KEY)
    if not text:
        return {}
    try:
        found = json.loads(text) if len(text) <= _TEXT_MAX else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise FieldError(annotation(KEY), f"found {shown(text)}, allowed is a JSON object with {_POLICY}")
    policy = found.get(_POLICY)
    if policy not in {None, "", *CALLED}:
        raise FieldError(annotation(KEY), f"{_POLICY}: found {shown(policy)}, allowed is {', '.join(CALLED)}")
    return found


def _has_devices(pod: Pod) -> bool:
    for one in pod.spec.containers or ():
        for amounts in (one.resources.limits, one.resources.requests) if one.resources else ():
            if any(is_extended(name) for name in amounts or ()):
                return True
    return False
