"""Volcano's Job (`batch.volcano.sh/v1alpha1`), as its controller carries it out: a PodGroup, pods, what they need."""

import copy
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from phalanx.dialects.dialect import Made
from phalanx.dialects.mistakes import UNREADABLE, FieldError, of_wrong_type
from phalanx.dialects.volcano import frameworks, job_plugins
from phalanx.dialects.volcano import job_objects as api
from phalanx.dialects.volcano.groups import VERSION
from phalanx.dialects.volcano.job_plugins import Object
from phalanx.dialects.volcano.job_rules import complete
from phalanx.dialects.volcano.pods import GROUP_NAMES, TASK

GROUP = "batch.volcano.sh"
_VERSION = f"{GROUP}/v1alpha1"
#: In these phases of a Job nobody makes pods.
_OVER = frozenset({"Aborting", "Aborted", "Completing", "Completed", "Terminating", "Terminated", "Failed"})
_PREFIX = "volcano.sh/"
#: What a Job's annotations and labels give to its pods.
_HANDED_DOWN = ("preemptable", "cooldown-time", "revocable-zone", "jdb-min-available", "jdb-max-unavailable")
_HANDED_DOWN_LABELS = ("preemptable", "cooldown-time")


def made_of(document: Mapping[str, Any]) -> list[Made]:
    """Return what the controller makes of a Job now, or raise the first mistake in it.

    Tasks that wait for others get no pods yet.
    """
    job = read_job(document)
    spec = complete(job)
    phase = ((job.status if isinstance(job.status, dict) else {}).get("state") or {}).get("phase")
    if phase in _OVER:
        return []
    return [Made(one, path) for one, path in Expansion(job, spec, document["metadata"].get("creationTimestamp")).all()]


def read_job(document: Mapping[str, Any]) -> api.Job:
    """Return what is read of a Job, or raise what is of a wrong type in it."""
    try:
        return msgspec.convert(document, api.Job)
    except UNREADABLE as error:
        raise FieldError(*of_wrong_type(str(error), document, api.Job)) from None


class Expansion:
    """One Job, completed: everything that is made of it."""

    def __init__(
        self, job: api.Job, spec: api.JobSpec, created: object = None, *, version: int = 0, retries: int = 0
    ) -> None:
        """`created`: what the objects of a file are said to be as old as. `version`, `retries`: as in its status."""
        self.spec, self.name, self.namespace = spec, job.metadata.name, job.metadata.namespace or "default"
        self.created, self._version, self._retries = created, version, retries
        self.annotations, self.labels = dict(job.metadata.annotations or {}), dict(job.metadata.labels or {})
        self._uid = uid = job.metadata.uid or ""
        # A file has no uid yet; one that was made up from names is no part of a name.
        self._known = bool(uid) and "/" not in uid
        self.group = f"{self.name}-{uid}" if self._known else self.name
        self.owner = {
            "apiVersion": _VERSION, "kind": "Job", "name": self.name, "uid": uid, "controller": True,
            "blockOwnerDeletion": True,
        }  # fmt: skip

    def all(self) -> Iterator[tuple[Object, str]]:
        """Yield everything in the order in which it is made, with the field that it comes from."""
        yield self.pod_group(), "spec."
        for index, claim in self.claims():
            yield claim, f"spec.volumes[{index}].volumeClaim."
        for _, one in self.beside():
            # The keys are made where they are used.
            if one["kind"] != "Secret":
                yield one, "spec."
        for position, task in enumerate(self.spec.tasks or ()):
            if task.depends_on is None or not task.depends_on.name:
                path = f"spec.tasks[{position}].template."
                yield from ((self.pod(task, index), path) for index in range(task.replicas))

    def claims(self) -> Iterator[tuple[int, Object]]:
        """Yield the claims that are made, with the number of the volume."""
        for index, volume in enumerate(self.spec.volumes or ()):
            if not volume.volume_claim_name:
                claim = {"metadata": {"name": self.claim(index)}, "spec": volume.volume_claim}
                yield index, self._owned({"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim})

    def beside(self) -> Iterator[tuple[str, Object]]:
        """Yield what plugins make once for the Job, with the plugin."""
        for plugin, make in frameworks.OBJECTS.items():
            if plugin in (self.spec.plugins or {}):
                yield from ((plugin, self._owned(one)) for one in make(self.name, self.namespace, self.spec))

    def _owned(self, one: Object) -> Object:
        meta = {"namespace": self.namespace, "ownerReferences": [self.owner], **one["metadata"]}
        if self.created is not None:
            meta["creationTimestamp"] = self.created
        return {**one, "metadata": meta}

    def pod_group(self) -> Object:
        """Return the group."""
        tasks = self.spec.tasks or ()
        spec: Object = {
            "minMember": self.spec.min_available, "minTaskMember": {task.name: task.minimum for task in tasks},
            "queue": self.spec.queue,
        }  # fmt: skip
        if self.spec.priority_class_name:
            spec["priorityClassName"] = self.spec.priority_class_name
        if self.spec.network_topology is not None:
            spec["networkTopology"] = _topology(self.spec.network_topology)
        if any(task.partition_policy for task in tasks):
            spec["subGroupPolicy"] = [_subgroup(task) for task in tasks if task.partition_policy]
        meta = {"name": self.group, "annotations": self.annotations, "labels": self.labels}
        return self._owned({"apiVersion": VERSION, "kind": "PodGroup", "metadata": meta, "spec": spec})

    def pod(self, task: api.Task, index: int) -> Object:
        """Return one pod of a task."""
        template = task.template or {}
        given = template.get("metadata") if isinstance(template.get("metadata"), dict) else {}
        name = f"{self.name}-{task.name}-{index}"
        meta = {
            "name": name, "uid": f"Pod/{self.namespace}/{name}",
            "annotations": {**((given or {}).get("annotations") or {}), **self._annotations(task, index)},
            "labels": {**((given or {}).get("labels") or {}), **self._labels(task, index)},
        }  # fmt: skip
        spec = copy.deepcopy(task.pod)
        spec["schedulerName"] = spec.get("schedulerName") or self.spec.scheduler_name
        if self.spec.priority_class_name and not spec.get("priorityClassName"):
            spec["priorityClassName"] = self.spec.priority_class_name
        if spec.get("hostNetwork") and not spec.get("dnsPolicy"):
            spec["dnsPolicy"] = "ClusterFirstWithHostNet"
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        self._mount(spec)
        made = job_plugins.Member(self.name, self.namespace, self.spec, task, index, pod)
        for plugin, add in frameworks.PLUGINS.items():
            if plugin in (self.spec.plugins or {}):
                add(made)
        return self._owned(pod)

    def _mount(self, spec: Object) -> None:
        for index, volume in enumerate(self.spec.volumes or ()):
            name, claim = f"{self.name}-{self._word(index)}", volume.volume_claim_name or self.claim(index)
            spec["volumes"] = [
                *(spec.get("volumes") or ()),
                {"name": name, "persistentVolumeClaim": {"claimName": claim}},
            ]
            for container in job_plugins.containers({"spec": spec}):
                mounts = container.get("volumeMounts") or ()
                container["volumeMounts"] = [*mounts, {"mountPath": volume.mount_path, "name": name}]

    def claim(self, index: int) -> str:
        """Return the name of the claim of a volume that names none."""
        return f"{self.name}-pvc-{self._word(index)}"

    def _word(self, index: int) -> str:
        """Return twelve characters: where Volcano draws them, the same Job must have the same ones at every try."""
        return sha256(f"{self._uid if self._known else self.name}/{index}".encode()).hexdigest()[:12]

    def _annotations(self, task: api.Task, index: int) -> dict[str, str]:
        own = {
            f"{_PREFIX}task-index": str(index), TASK: task.name, GROUP_NAMES[0]: self.group,
            f"{_PREFIX}job-name": self.name, f"{_PREFIX}queue-name": self.spec.queue,
            f"{_PREFIX}job-version": str(self._version),
            f"{_PREFIX}template-uid": f"{self.name}-{task.name}", f"{_PREFIX}job-retry-count": str(self._retries),
        }  # fmt: skip
        if task.topology_policy:
            own[f"{_PREFIX}numa-topology-policy"] = task.topology_policy
        keys = [f"{_PREFIX}{word}" for word in _HANDED_DOWN]
        if keys[-2] in self.annotations:
            keys.pop()
        return {**own, **{key: self.annotations[key] for key in keys if key in self.annotations}}

    def _labels(self, task: api.Task, index: int) -> dict[str, str]:
        own = {
            f"{_PREFIX}task-index": str(index), f"{_PREFIX}job-name": self.name, TASK: task.name,
            f"{_PREFIX}job-namespace": self.namespace, f"{_PREFIX}queue-name": self.spec.queue,
        }  # fmt: skip
        keys = [f"{_PREFIX}{word}" for word in _HANDED_DOWN_LABELS]
        own.update({key: self.labels[key] for key in keys if key in self.labels})
        if task.partition_policy is not None:
            own[f"{_PREFIX}partition-id"] = str(index // task.partition_policy.partition_size)
        return own


def _topology(wish: Any) -> Object:
    found: Object = {"mode": wish.mode or "hard"}
    if wish.highest_tier_allowed is not None:
        found["highestTierAllowed"] = wish.highest_tier_allowed
    elif wish.highest_tier_name:
        found["highestTierName"] = wish.highest_tier_name
    return found


def _subgroup(task: api.Task) -> Object:
    parts = task.partition_policy
    assert parts is not None
    found: Object = {
        "name": task.name, "subGroupSize": parts.partition_size, "minSubGroups": parts.min_partitions,
        "labelSelector": {"matchLabels": {TASK: task.name}}, "matchLabelKeys": [f"{_PREFIX}partition-id"],
    }  # fmt: skip
    if parts.network_topology is not None:
        found["networkTopology"] = _topology(parts.network_topology)
    return found
