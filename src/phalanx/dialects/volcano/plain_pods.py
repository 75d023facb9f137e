"""The PodGroup that Volcano's controller makes for pods that name none: one for all pods of a controller."""

from collections.abc import Mapping
from typing import Any

from phalanx.dialects.volcano.pods import (
    GROUP,
    GROUP_MINIMUM,
    PREEMPTABLE,
    QUEUE,
    TOPOLOGY_MODE,
    TOPOLOGY_TIER,
)

PREFIX = "podgroup-"
#: What of a pod its group has too, as annotation or label.
_HANDED_ON = (
    PREEMPTABLE, "volcano.sh/cooldown-time", "volcano.sh/revocable-zone", "volcano.sh/jdb-min-available",
    "volcano.sh/jdb-max-unavailable",
)  # fmt: skip
_MODES = ("hard", "soft")

Document = Mapping[str, Any]


def controller_of(pod: Document) -> Mapping[str, Any] | None:
    """Return the reference to what made a pod and looks after it; None: nobody did."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((one for one in owners if one.get("controller")), None)


def group_name(pod: Document) -> str:
    """Return the name of a pod's group."""
    owner = controller_of(pod)
    return f"{PREFIX}{(owner or pod['metadata'])['uid']}"


def group_for(pod: Document, above: Mapping[str, str]) -> dict[str, Any]:
    """Return the group of a pod. `above`: the annotations of what made it."""
    meta = pod["metadata"]
    annotations, labels = meta.get("annotations") or {}, meta.get("labels") or {}
    owner = controller_of(pod)
    if owner is None:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}
    spec: dict[str, Any] = {"minMember": _minimum(above.get(GROUP_MINIMUM) or annotations.get(GROUP_MINIMUM))}
    if annotations.get(QUEUE) or above.get(QUEUE):
        spec["queue"] = annotations.get(QUEUE) or above[QUEUE]
    if pod["spec"].get("priorityClassName"):
        spec["priorityClassName"] = pod["spec"]["priorityClassName"]
    topology = _topology(annotations)
    if topology is not None:
        spec["networkTopology"] = topology
    inherited = {key: value for key, value in above.items() if key.startswith(f"{GROUP}/")}
    return {
        "apiVersion": f"{GROUP}/v1beta1", "kind": "PodGroup",
        "metadata": {
            "name": group_name(pod), "namespace": meta["namespace"],
            # Without `blockOwnerDeletion`, which only who may write the owner's finalizers may say.
            "ownerReferences": [{key: value for key, value in owner.items() if key != "blockOwnerDeletion"}],
            "annotations": inherited | {key: annotations[key] for key in _HANDED_ON if key in annotations},
            "labels": {key: labels[key] for key in _HANDED_ON if key in labels},
        },
        "spec": spec,
        "status": {"phase": "Pending"},
    }  # fmt: skip


def _minimum(said: str | None) -> int:
    """As there: what is no number, or below zero, counts as one."""
    return int(said) if said is not None and said.isascii() and said.isdigit() and int(said) < 2**31 else 1


def _topology(annotations: Mapping[str, str]) -> dict[str, Any] | None:
    mode, tier = annotations.get(TOPOLOGY_MODE), annotations.get(TOPOLOGY_TIER)
    if mode is None and tier is None:
        return None
    lower = (mode or "").lower()
    found: dict[str, Any] = {"mode": lower if lower in _MODES else "hard"}
    if tier is not None and tier.isascii() and tier.isdigit():
        found["highestTierAllowed"] = int(tier)
    return found
