"""Expansion: the pods that controllers would make of Jobs, Deployments, ReplicaSets and StatefulSets, and their claims.

A controller whose pods are among the objects has done its work already, and is left alone. Names are
deterministic (`name-0`, `name-1`, …), so that the same files give the same plan.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from phalanx.dialects import table
from phalanx.dialects.dialect import Made
from phalanx.dialects.mistakes import FieldError
from phalanx.model.events import Refused
from phalanx.model.quantity import shown
from phalanx.sim import claim_templates
from phalanx.sim.admission import full_name, items, mapping

REPLICAS_MAX = 100_000
TEMPLATE = "spec.template."
KINDS = {"Job": "batch/v1", "Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}

Object = Mapping[str, Any]


def expand(objects: Iterable[Object]) -> Iterator[tuple[Object, list[Made] | Refused]]:
    """Yield every controller that has no pods, with what it would make or what is wrong with it.

    Objects must be identified (`Admission.identify`).
    """
    every = list(objects)
    owned = Owned()
    for one in every:
        owned.add(one)
    for owner in every:
        if not is_controller(owner) or owned.has(owner):
            continue
        try:
            yield owner, _made(owner)
        except FieldError as mistake:
            yield owner, Refused(called(owner), full_name(owner), mistake.field, mistake.message)


def is_controller(one: Object) -> bool:
    """Tell a controller that is expanded here. Other systems have a Job too: the group says whose it is."""
    kind, api_version = str(one.get("kind")), str(one.get("apiVersion"))
    return KINDS.get(kind) == api_version or (kind, api_version) in table.TABLE.makers


def called(owner: Object) -> str:
    """Return what the kind of a controller is called in messages."""
    return table.TABLE.name(str(owner["kind"]), owner.get("apiVersion"))


def _made(owner: Object) -> list[Made]:
    maker = table.TABLE.makers.get((str(owner["kind"]), str(owner["apiVersion"])))
    if maker is not None:
        return maker.make(owner)
    pods = [Made(pod, TEMPLATE) for pod in _pods(owner)]
    return [*claim_templates.claims(owner, _indices(owner)), *pods]


@dataclass(slots=True)
class Owned:
    """Who has a pod or a ReplicaSet among the objects."""

    uids: set[str] = field(default_factory=set[str])
    #: `Kind/namespace/name`, from references that give no uid.
    names: set[str] = field(default_factory=set[str])
    #: The same from every reference: a controller that was written without a uid is known by name alone.
    every_name: set[str] = field(default_factory=set[str])

    def add(self, one: Object) -> None:
        """Note the owners of a pod or a ReplicaSet."""
        if one.get("kind") not in {"Pod", "ReplicaSet"}:
            return
        namespace = mapping(one, "metadata").get("namespace")
        for reference in items(one.get("metadata"), "ownerReferences"):
            if not isinstance(reference, dict):
                continue
            kind, name, uid = (str(reference.get(key) or "") for key in ("kind", "name", "uid"))
            known = f"{kind}/{namespace}/{name}"
            self.every_name.add(known)
            if uid:
                self.uids.add(uid)
            else:
                self.names.add(known)
            # A dump of pods and Deployments often lacks the ReplicaSets between them, named after both.
            if one["kind"] == "Pod" and kind == "ReplicaSet":
                self.names.add(f"Deployment/{namespace}/{name.rpartition('-')[0]}")

    def has(self, owner: Object) -> bool:
        """Tell whether a controller has made its pods already."""
        uid, known = str(mapping(owner, "metadata").get("uid")), f"{owner['kind']}/{full_name(owner)}"
        return uid in self.uids or known in self.names or (uid == known and known in self.every_name)


def _pods(owner: Object) -> Iterator[dict[str, Any]]:
    """Yield the pods of one controller, as it would write them."""
    kind, metadata, spec = owner["kind"], mapping(owner, "metadata"), mapping(owner, "spec")
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str):
        raise FieldError("metadata.name", f"found {shown(name)}, allowed is a name")
    template = spec.get("template")
    if not isinstance(template, dict):
        raise FieldError("spec.template", f"found {shown(template)}, allowed is a pod template")
    inside = template.get("metadata") or {}
    if not isinstance(inside, dict):
        raise FieldError("spec.template.metadata", f"found {shown(inside)}, allowed is a map")
    reference = {
        "apiVersion": owner["apiVersion"], "kind": kind, "name": name, "uid": metadata.get("uid"), "controller": True,
    }  # fmt: skip
    shared = {
        "annotations": inside.get("annotations"), "creationTimestamp": metadata.get("creationTimestamp"),
        "namespace": namespace, "ownerReferences": [reference],
    }  # fmt: skip
    for index in _indices(owner):
        own = f"{name}-{index}"
        labels = inside.get("labels")
        if isinstance(labels, dict | None):
            labels = {**(labels or {}), **_labels(owner, own, index)}
        pod = {**shared, "name": own, "uid": f"Pod/{namespace}/{own}", "labels": labels}
        whole = claim_templates.mounted(owner, template.get("spec"), own)
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": pod, "spec": whole}


def _indices(owner: Object) -> range:
    """Return the numbers of the pods that a controller would have now."""
    spec, status = mapping(owner, "spec"), mapping(owner, "status")
    if owner["kind"] != "Job":
        first = _count(mapping(spec, "ordinals"), "start", 0, "spec.ordinals.")
        return range(first, first + _count(spec, "replicas", 1))
    parallelism = _count(spec, "parallelism", 1)
    completions = _count(spec, "completions", None)
    ended = any(
        condition.get("type") in {"Complete", "Failed"} and condition.get("status") == "True"
        for condition in items(status, "conditions")
        if isinstance(condition, dict)
    )
    if ended or spec.get("suspend") is True:
        return range(0)
    left = completions - _count(status, "succeeded", 0, "status.") if completions is not None else parallelism
    return range(max(min(parallelism, left), 0))


def _count(holder: Mapping[str, Any], key: str, default: Any, path: str = "spec.") -> Any:
    """Return a number of pods."""
    value = holder.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= REPLICAS_MAX:
        raise FieldError(path + key, f"found {shown(value)}, allowed is a whole number from 0 to {REPLICAS_MAX}")
    return value


def _labels(owner: Object, pod: str, index: int) -> dict[str, str]:
    """Return the labels that a controller adds."""
    if owner["kind"] == "StatefulSet":
        return {"statefulset.kubernetes.io/pod-name": pod, "apps.kubernetes.io/pod-index": str(index)}
    if owner["kind"] != "Job":
        return {}
    name = str(mapping(owner, "metadata").get("name"))
    labels = {"batch.kubernetes.io/job-name": name, "job-name": name}
    if mapping(owner, "spec").get("completionMode") == "Indexed":
        labels["batch.kubernetes.io/job-completion-index"] = str(index)
    return labels
