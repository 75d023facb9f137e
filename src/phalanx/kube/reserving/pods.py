"""Reservation pods: what one looks like, and what one says of the device that it keeps.

Its first container finds out which device the kubelet gave to the pod and says so in its last words, which the kubelet
writes into the pod's status: no reservation needs a token or a way to the API server. The second one holds the device.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw, Struct

from phalanx.model.keys import GPU_GROUP, PREFIX
from phalanx.model.sharing import RESOURCE
from phalanx.world.reservations import Place

#: The installation that a reservation pod is of; two on one cluster keep to their own.
LABEL = f"{PREFIX}reservation"
#: Its program has nothing to finish.
GRACE = 1
_TERMINAL = {"Failed", "Succeeded"}


@dataclass(frozen=True, slots=True)
class Reserving:
    """What an operator chooses of reservation pods."""

    #: The installation, and the namespace that they are in.
    name: str
    namespace: str
    image: str
    service_account: str = ""
    priority_class: str = ""
    runtime_class: str = ""

    @property
    def path(self) -> str:
        """Return where they are made."""
        return f"/api/v1/namespaces/{self.namespace}/pods"


@dataclass(frozen=True, slots=True)
class Reserved:
    """A reservation pod as it is now."""

    uid: str
    name: str
    namespace: str
    version: str
    installation: str
    place: Place
    #: It is being deleted.
    leaves: bool
    #: It has ended, or its kubelet did not take it.
    over: bool
    #: The kubelet has taken it: the device is its own.
    admitted: bool
    #: The ids of what it keeps, as the driver names it; None: it has not said anything yet, (): it cannot tell.
    ids: tuple[str, ...] | None
    #: In words why it is over, does not start or cannot tell.
    why: str


class _Meta(Struct, rename="camel"):
    name: str
    namespace: str
    uid: str
    resource_version: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deletion_timestamp: str | None = None


class _Spec(Struct, rename="camel"):
    node_name: str = ""


class _Words(Struct):
    reason: str = ""
    message: str = ""


class _State(Struct):
    waiting: _Words | None = None
    terminated: _Words | None = None


class _Container(Struct):
    state: _State | None = None


class _Status(Struct, rename="camel"):
    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: str | None = None
    init_container_statuses: list[_Container] = []
    container_statuses: list[_Container] = []


class _Pod(Struct):
    metadata: _Meta
    spec: _Spec
    status: _Status


class Said(Struct):
    """The last words of the first container."""

    ids: list[str] = []
    why: str = ""


_pod = msgspec.json.Decoder(_Pod, strict=False)
_said = msgspec.json.Decoder(Said)


def reserved_of(raw: Raw) -> Reserved | None:
    """Return a reservation pod; None: it is none that can be read."""
    try:
        pod = _pod.decode(raw)
    except msgspec.DecodeError:
        return None
    meta, status = pod.metadata, pod.status
    containers = [one.state for one in (*status.init_container_statuses, *status.container_statuses) if one.state]
    waits = next((one.waiting for one in containers if one.waiting and one.waiting.reason not in _USUAL), None)
    said = _last_words(status)
    why = " ".join(filter(None, (status.reason, status.message))) or (said.why if said else "")
    if not why and waits is not None:
        why = " ".join(filter(None, (waits.reason, waits.message)))
    return Reserved(
        meta.uid, meta.name, meta.namespace, meta.resource_version, meta.labels.get(LABEL, ""),
        Place(pod.spec.node_name, meta.annotations.get(GPU_GROUP, "")),
        leaves=meta.deletion_timestamp is not None, over=status.phase in _TERMINAL,
        admitted=status.phase == "Running" or (status.phase == "Pending" and status.start_time is not None),
        ids=None if said is None else tuple(said.ids), why=why,
    )  # fmt: skip


#: What every container says on its way.
_USUAL = {"", "PodInitializing", "ContainerCreating"}


def _last_words(status: _Status) -> Said | None:
    first = status.init_container_statuses[0].state if status.init_container_statuses else None
    if first is None or first.terminated is None:
        return None
    try:
        return _said.decode(first.terminated.message)
    except msgspec.DecodeError:
        return Said(why=f"its first container ended with: {first.terminated.message[:200] or 'no word'}")


def name_of(place: Place, wish: Reserving) -> str:
    """Return the name of the pod that reserves a device: the same whoever makes it, and whenever."""
    digest = hashlib.sha256(f"{wish.name}\n{place.node}\n{place.group}".encode()).hexdigest()[:10]
    return f"gpu-{place.node[:200].rstrip('.-')}-{digest}"


def manifest(place: Place, wish: Reserving) -> dict[str, Any]:
    """Return the pod that reserves a device. It is on its node at once: no scheduler is asked."""
    harmless = {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    container: dict[str, Any] = {
        "image": wish.image,
        "resources": {"limits": {RESOURCE: "1"}},
        "env": [{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "utility"}],
        "securityContext": harmless,
    }
    spec: dict[str, Any] = {
        "nodeName": place.node,
        "terminationGracePeriodSeconds": GRACE,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "tolerations": [{"operator": "Exists"}],
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [container | {"name": "find", "args": ["reserve", "--once"]}],
        "containers": [container | {"name": "hold", "args": ["reserve"]}],
    }  # fmt: skip
    chosen = {
        "serviceAccountName": wish.service_account, "priorityClassName": wish.priority_class,
        "runtimeClassName": wish.runtime_class,
    }  # fmt: skip
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name_of(place, wish),
            "namespace": wish.namespace,
            "labels": {LABEL: wish.name, "app.kubernetes.io/part-of": "phalanx"},
            "annotations": {GPU_GROUP: place.group, "karpenter.sh/do-not-disrupt": "true"},
        },
        "spec": spec | {key: value for key, value in chosen.items() if value},
    }
