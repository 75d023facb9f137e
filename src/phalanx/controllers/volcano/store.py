"""What the reflectors hear of Jobs and of what belongs to them, sorted by Job and never backwards in time."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from msgspec import Struct

from phalanx.controllers.volcano.seen import Command, Group, Meta, Owner, Pod, View, read_pod, time_of
from phalanx.dialects.volcano.jobs import GROUP as BATCH
from phalanx.dialects.volcano.pods import GROUP
from phalanx.kube.kinds import Kind

BUS = "bus.volcano.sh"
JOBS = Kind("Job", f"{BATCH}/v1alpha1", f"/apis/{BATCH}/v1alpha1/jobs", optional=True)
GROUPS = Kind("PodGroup", f"{GROUP}/v1beta1", f"/apis/{GROUP}/v1beta1/podgroups", optional=True)
COMMANDS = Kind("Command", f"{BUS}/v1alpha1", f"/apis/{BUS}/v1alpha1/commands", optional=True)
PODS = Kind("Pod", "v1", "/api/v1/pods", selector="volcano.sh/job-name")
CLASSES = Kind("PriorityClass", "scheduling.k8s.io/v1", "/apis/scheduling.k8s.io/v1/priorityclasses")
#: Jobs first: their status must not tell of pods that a list made before could not know.
KINDS = (JOBS, GROUPS, COMMANDS, CLASSES, PODS)

#: An answer may come after the watch has told that its object is gone: so many of these are remembered.
_TOMBS = 10_000


class _Condition(Struct, rename="camel"):
    type: str = ""
    status: str = ""
    message: str = ""
    last_transition_time: str = ""


class _GroupStatus(Struct):
    phase: str = ""
    conditions: list[_Condition] | None = None


class _Group(Struct):
    metadata: Meta
    spec: dict[str, Any] | None = None
    status: _GroupStatus | None = None


class _Command(Struct):
    metadata: Meta
    action: str = ""
    target: Owner | None = None


class _Bare(Struct):
    metadata: Meta
    value: int = 0


_group, _command = msgspec.json.Decoder(_Group), msgspec.json.Decoder(_Command)
_bare = msgspec.json.Decoder(_Bare)


@dataclass(slots=True)
class _Known:
    version: int
    name: str
    #: The uid of the Job that it belongs to.
    job: str | None


@dataclass(slots=True)
class Store:
    """The latest of everything."""

    #: Called with the uid of a Job of which something has changed.
    on_change: Callable[[str], None] = lambda _: None
    jobs: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    pods: dict[str, dict[str, Pod]] = field(default_factory=dict[str, dict[str, Pod]])
    #: Pods that went away and that nobody has looked at yet.
    gone_pods: dict[str, tuple[Pod, ...]] = field(default_factory=dict[str, tuple[Pod, ...]])
    groups: dict[str, Group] = field(default_factory=dict[str, Group])
    commands: dict[str, dict[str, Command]] = field(default_factory=dict[str, dict[str, Command]])
    classes: dict[str, int] = field(default_factory=dict[str, int])
    _known: dict[Kind, dict[str, _Known]] = field(default_factory=dict[Kind, dict[str, _Known]])
    _synced: set[Kind] = field(default_factory=set[Kind])
    _tombs: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])

    @property
    def ready(self) -> bool:
        """Tell whether every kind was listed."""
        return self._synced.issuperset(KINDS)

    def view(self, uid: str, lets_in: frozenset[str] = frozenset()) -> View | None:
        """Return a Job with all that belongs to it; None: it is gone."""
        document = self.jobs.get(uid)
        if document is None:
            return None
        commands = tuple(self.commands.get(uid, {}).values())
        pods = {pod.name: pod for pod in self.pods.get(uid, {}).values()}
        return View(document, pods, self.groups.get(uid), commands, self.classes, self.gone_pods.get(uid, ()), lets_in)

    def looked(self, uid: str, seen: tuple[Pod, ...], keep: tuple[Pod, ...]) -> None:
        """Forget pods that are gone and were looked at, but for some."""
        left = tuple(pod for pod in self.gone_pods.get(uid, ()) if pod not in seen or pod in keep)
        if left:
            self.gone_pods[uid] = left
        else:
            self.gone_pods.pop(uid, None)

    def put(self, kind: Kind, raw: msgspec.Raw, *, listed: bool = False, api_version: str | None = None) -> str:
        """Take an object as it is now; return its uid. What is older than what we know is passed over."""
        del api_version
        meta, value = _read(kind, raw)
        known = self._known.setdefault(kind, {})
        old, version = known.get(meta.uid), _number(meta.resource_version)
        if (old is not None and version < old.version) or (meta.uid in self._tombs and not listed):
            return meta.uid
        job = meta.uid if kind is JOBS else _owner(meta, value)
        known[meta.uid] = _Known(version, meta.name, job)
        if kind is CLASSES:
            self.classes[meta.name] = value.value
        elif kind is JOBS:
            self.jobs[meta.uid] = value
        elif job is not None and kind is PODS:
            self.pods.setdefault(job, {})[meta.uid] = value
        elif job is not None and kind is GROUPS:
            self.groups[job] = value
        elif job is not None:
            self.commands.setdefault(job, {})[meta.uid] = value.command
        if job is not None:
            self.on_change(job)
        return meta.uid

    def gone(self, kind: Kind, raw: msgspec.Raw) -> None:
        """Take a deletion, with the last that is known of the object."""
        self.put(kind, raw)
        self.forget(kind, _bare.decode(raw).metadata.uid)

    def forget(self, kind: Kind, uid: str) -> None:
        """Take note that an object is gone."""
        self._tombs[uid] = None
        while len(self._tombs) > _TOMBS:
            self._tombs.popitem(last=False)
        old = self._known.get(kind, {}).pop(uid, None)
        if old is None:
            return
        if kind is JOBS:
            for of_job in (self.jobs, self.gone_pods, self.commands):
                of_job.pop(uid, None)
        elif kind is CLASSES:
            self.classes.pop(old.name, None)
        elif old.job is not None:
            self._drop(kind, old.job, uid)
        if old.job is not None:
            self.on_change(old.job)

    def _drop(self, kind: Kind, job: str, uid: str) -> None:
        if kind is COMMANDS:
            self.commands.get(job, {}).pop(uid, None)
        elif kind is GROUPS:
            # Another one may have been made under its name.
            if job in self.groups and self.groups[job].uid == uid:
                del self.groups[job]
        else:
            pod = self.pods.get(job, {}).pop(uid, None)
            if pod is not None and job in self.jobs:
                self.gone_pods[job] = (*self.gone_pods.get(job, ()), pod)
            if not self.pods.get(job):
                self.pods.pop(job, None)

    def leaves(self, job: str, pod: Pod) -> None:
        """Take note that a pod was told to go."""
        of_job = self.pods.get(job, {})
        if pod.uid in of_job:
            of_job[pod.uid] = replace(of_job[pod.uid], leaving=True)

    def replaced(self, kind: Kind, seen: set[str]) -> None:
        """A list is complete: what it does not hold was deleted while we did not look."""
        for uid in [uid for uid in self._known.get(kind, {}) if uid not in seen]:
            self.forget(kind, uid)
        self._synced.add(kind)

    def unsync(self, kind: Kind) -> None:
        """Decide nothing until this kind was listed again."""
        self._synced.discard(kind)

    def forget_versions(self, *kinds: Kind) -> None:
        """Nothing here depends on how an object was read."""

    def heard(self, kind: Kind) -> None:
        """Nobody asks when."""


def _read(kind: Kind, raw: msgspec.Raw) -> tuple[Meta, Any]:
    if kind is JOBS:
        return _bare.decode(raw).metadata, msgspec.json.decode(raw)
    if kind is PODS:
        return read_pod(raw)
    if kind is GROUPS:
        found = _group.decode(raw)
        return found.metadata, _group_of(found)
    if kind is COMMANDS:
        asked = _command.decode(raw)
        return asked.metadata, _Asked(asked)
    bare = _bare.decode(raw)
    return bare.metadata, bare


class _Asked:
    """A command, and the Job that it is for."""

    def __init__(self, asked: _Command) -> None:
        meta, target = asked.metadata, asked.target
        self.job = target.uid if target is not None and target.kind == "Job" else None
        self.command = Command(meta.name, meta.uid, asked.action, time_of(meta.creation_timestamp) or 0.0)


def _owner(meta: Meta, value: Any) -> str | None:
    if isinstance(value, _Asked):
        return value.job
    return meta.job if value is not None else None


def _group_of(found: _Group) -> Group:
    status = found.status or _GroupStatus()
    true = [one for one in status.conditions or () if one.status == "True"]
    last = max(true, key=lambda one: one.last_transition_time, default=None)
    said = (last.type, last.message, last.last_transition_time) if last else None
    return Group(found.metadata.name, found.metadata.uid, status.phase, found.spec or {}, said)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
