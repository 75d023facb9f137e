"""Admission: what an API server fills in before any scheduler sees a manifest.

Namespace, name, uid, requests that follow from limits, priority from its class, overhead from the runtime
class, the class of claims that name none, and, as our own policy has it, the scheduler from the namespace's label.
Objects come in as they were written
and go out as copies; what has a wrong type passes untouched, for the dialect to refuse with its own words.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from phalanx.dialects import table
from phalanx.dialects.core.storage import CLASS_OF_CLAIM
from phalanx.dialects.mistakes import Mistakes
from phalanx.dialects.timestamps import moment
from phalanx.model.events import PriorityClassSeen, Refused
from phalanx.model.keys import SCHEDULER_NAME
from phalanx.model.quantity import shown

#: Kinds outside any namespace that no dialect reads.
_CLUSTER_SCOPED = frozenset({"RuntimeClass", "PersistentVolume", "StorageClass"})
#: On a StorageClass, since before and after there was a word for it.
_DEFAULT_STORAGE = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
#: An API server writes the last one where there is none.
_NAMES_NONE = (None, "", "default-scheduler")

Object = Mapping[str, Any]


@dataclass(slots=True)
class Admission:
    """The classes of one cluster, and the names it has given out."""

    priorities: dict[str, int] = field(default_factory=lambda: dict(_SYSTEM_CLASSES))
    #: The globalDefault class: (name, value). Of several the lowest counts, as in an API server.
    default: tuple[str, int] | None = None
    #: Classes whose pods have nobody evicted for themselves.
    meek: set[str] = field(default_factory=set[str])
    runtimes: dict[str, Object] = field(default_factory=dict[str, Object])
    #: The StorageClass of claims that name none: how old it is, and its name. Of several the newest counts.
    storage: tuple[float, str] | None = None
    #: What labelled namespaces give to their pods.
    schedulers: dict[str, str] = field(default_factory=dict[str, str])
    _generated: Counter[str] = field(default_factory=Counter[str])

    def learn_priority(self, seen: PriorityClassSeen) -> None:
        """Take in a PriorityClass."""
        self.priorities[seen.name] = seen.value
        if not seen.evicts:
            self.meek.add(seen.name)
        if seen.default and (self.default is None or seen.value < self.default[1]):
            self.default = (seen.name, seen.value)

    def learn_runtime(self, one: Object) -> None:
        """Take in a RuntimeClass."""
        self.runtimes[str(mapping(one, "metadata").get("name"))] = one

    def learn_storage(self, one: Object) -> None:
        """Take in a StorageClass."""
        metadata = mapping(one, "metadata")
        if any(mapping(metadata, "annotations").get(key) == "true" for key in _DEFAULT_STORAGE):
            created = moment(metadata.get("creationTimestamp"), "metadata.creationTimestamp", Mistakes(strict=False))
            # What was not made yet is younger than all that were.
            found = (-math.inf if created is None else -created, str(metadata.get("name")))
            self.storage = found if self.storage is None else min(self.storage, found)

    def learn_namespace(self, one: Object) -> None:
        """Take in a Namespace."""
        metadata = mapping(one, "metadata")
        scheduler = mapping(metadata, "labels").get(SCHEDULER_NAME)
        if isinstance(scheduler, str) and scheduler and metadata.get("name") != "kube-system":
            self.schedulers[str(metadata.get("name"))] = scheduler

    def identify(self, one: Object) -> dict[str, Any]:
        """Return the object with a namespace, a name where it asks for a generated one, and a uid."""
        kind = str(one.get("kind"))
        metadata = one.get("metadata")
        if not isinstance(metadata, dict | None):
            return dict(one)
        given = dict(metadata or {})
        known = table.TABLE.kind(kind, one.get("apiVersion"))
        namespaced = known.namespaced if known is not None else kind not in _CLUSTER_SCOPED
        if namespaced and given.get("namespace") in (None, ""):
            given["namespace"] = "default"
        prefix = given.get("generateName")
        if not given.get("name") and isinstance(prefix, str) and prefix:
            key = f"{kind}/{given.get('namespace')}/{prefix}"
            given["name"] = f"{prefix}{self._generated[key]}"
            self._generated[key] += 1
        if not given.get("uid"):
            # Readable, and the same every time: pods of one age are ordered by name.
            parts = (table.TABLE.name(kind, one.get("apiVersion")), given.get("namespace"), given.get("name"))
            given["uid"] = "/".join(str(part) for part in parts if part)
        return {**one, "metadata": given}

    def admit(self, pod: Object) -> dict[str, Any] | Refused:
        """Return an identified pod with its spec filled in, or the reason why an API server would not have it."""
        spec = pod.get("spec")
        if not isinstance(spec, dict):
            return dict(pod)
        filled = default_requests(spec)
        # A real API server gives every pod a priority: one that has it was admitted, its runtime class and all.
        admitted = spec.get("priority") is not None
        if not admitted:
            self._give_scheduler(filled, mapping(pod, "metadata"))
        refused = self._prioritise(filled) or (None if admitted else self._give_overhead(filled))
        if refused is not None:
            return Refused("Pod", full_name(pod), *refused)
        return {**pod, "spec": filled}

    def admit_group(self, group: Object) -> dict[str, Any] | Refused:
        """Return an identified group with its priority, or the reason why an API server would not have it."""
        spec = group.get("spec")
        if not isinstance(spec, dict):
            return dict(group)
        filled = dict(spec)
        refused = self._prioritise(filled)
        if refused is not None:
            return Refused(table.TABLE.name(str(group["kind"]), group.get("apiVersion")), full_name(group), *refused)
        version = table.TABLE.versions.get((str(group["kind"]), str(group.get("apiVersion"))))
        if filled.get("priority") is None and version is not None and version.priority is not None:
            filled["priority"] = version.priority
        return {**group, "spec": filled}

    def admit_claim(self, claim: Object) -> dict[str, Any]:
        """Return an identified claim with a class: the default one where it names none, not even the empty one."""
        spec, notes = claim.get("spec"), mapping(mapping(claim, "metadata"), "annotations")
        if self.storage is None or not isinstance(spec, dict) or CLASS_OF_CLAIM in notes:
            return dict(claim)
        given = self.storage[1] if spec.get("storageClassName") is None else spec["storageClassName"]
        return {**claim, "spec": {**spec, "storageClassName": given}}

    def _prioritise(self, spec: dict[str, Any]) -> tuple[str, str] | None:
        """Fill in `priority`. One that is there already was decided by a real API server."""
        name = spec.get("priorityClassName")
        if spec.get("priority") is not None:
            return None
        if name in (None, ""):
            if self.default is not None:
                spec["priorityClassName"], spec["priority"] = self.default
        elif isinstance(name, str) and name in self.priorities:
            spec["priority"] = self.priorities[name]
        elif not spec.get("nodeName"):
            return "spec.priorityClassName", f"found {shown(name)}, allowed is the name of a PriorityClass that exists"
        given = spec.get("priorityClassName")
        if isinstance(given, str) and given in self.meek and spec.get("preemptionPolicy") is None:
            spec["preemptionPolicy"] = "Never"
        return None

    def _give_scheduler(self, spec: dict[str, Any], metadata: Object) -> None:
        given = self.schedulers.get(str(metadata.get("namespace")))
        owners = items(metadata, "ownerReferences")
        by_daemons = any(isinstance(one, dict) and one.get("kind") == "DaemonSet" for one in owners)
        if given and spec.get("schedulerName") in _NAMES_NONE and not spec.get("nodeName") and not by_daemons:
            spec["schedulerName"] = given

    def _give_overhead(self, spec: dict[str, Any]) -> tuple[str, str] | None:
        """Fill in what the runtime class costs and where it runs."""
        name = spec.get("runtimeClassName")
        # A pod on a node, or with a cost already, went through a real API server.
        if name in (None, "") or spec.get("nodeName") or "overhead" in spec:
            return None
        runtime = self.runtimes.get(name) if isinstance(name, str) else None
        if runtime is None:
            return "spec.runtimeClassName", f"found {shown(name)}, allowed is the name of a RuntimeClass that exists"
        scheduling = mapping(runtime, "scheduling")
        if fixed := mapping(runtime, "overhead").get("podFixed"):
            spec["overhead"] = fixed
        if chosen := mapping(scheduling, "nodeSelector"):
            spec["nodeSelector"] = {**mapping(spec, "nodeSelector"), **chosen}
        if tolerated := items(scheduling, "tolerations"):
            spec["tolerations"] = [*items(spec, "tolerations"), *tolerated]
        return None


def default_requests(spec: Object) -> dict[str, Any]:
    """Return the spec with requests where only limits are given: per container, then for the whole pod."""
    filled = dict(spec)
    asked: set[str] = set()
    for key in ("initContainers", "containers"):
        if containers := items(spec, key):
            filled[key] = [_from_limits(one) for one in containers]
            asked.update(*(mapping(mapping(one, "resources"), "requests") for one in filled[key]))
    # The pod's own limit is its request, unless its containers say what they need.
    taken = {name for name in asked if not name.startswith("hugepages-")}
    whole: dict[str, Any] = _from_limits(filled, taken)
    return whole


def _from_limits(holder: Any, taken: Collection[str] = ()) -> Any:
    """Return a container or a pod spec whose `resources` request what they limit."""
    resources = mapping(holder, "resources")
    requests, limits = mapping(resources, "requests"), mapping(resources, "limits")
    missing = {name: limit for name, limit in limits.items() if name not in requests and name not in taken}
    if not missing or not isinstance(resources.get("requests"), dict | None):
        return holder
    return {**holder, "resources": {**resources, "requests": {**missing, **requests}}}


def mapping(holder: object, key: str) -> Mapping[str, Any]:
    """Return the mapping under a key; an empty one where there is none or something else."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


def items(holder: object, key: str) -> list[Any]:
    """Return the list under a key; an empty one where there is none or something else."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else []


def full_name(one: Object) -> str:
    """Return `namespace/name`, or the name alone of what lives outside any namespace."""
    metadata = mapping(one, "metadata")
    return "/".join(str(part) for part in (metadata.get("namespace"), metadata.get("name")) if part)
