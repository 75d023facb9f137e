"""From documents to events: identify, admit, expand, read. Each object alone, so that a bad one stops nobody."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from phalanx.dialects import table
from phalanx.dialects.dialect import Made
from phalanx.dialects.mistakes import FieldError
from phalanx.dialects.read import read
from phalanx.model.events import Event, PriorityClassSeen, QueueSeen, Refused, TaskSeen
from phalanx.model.keys import astray
from phalanx.model.task import Task
from phalanx.sim.admission import Admission, full_name, mapping
from phalanx.sim.ephemeral_claims import ephemeral_claims
from phalanx.sim.expand import TEMPLATE, called, expand, is_controller
from phalanx.sim.manifests import Document

#: Kinds that serve admission; a PriorityClass and a StorageClass are events as well.
_CLASSES = {"PriorityClass": "scheduling.k8s.io/", "RuntimeClass": "node.k8s.io/", "StorageClass": "storage.k8s.io/"}


@dataclass(slots=True)
class Objects:
    """What a set of manifests comes to."""

    events: list[Event] = field(default_factory=list[Event])
    #: Objects that are set aside, with the file that has them.
    refused: list[tuple[Refused, str]] = field(default_factory=list[tuple[Refused, str]])
    #: What is wrong with what makes pods, such as keys of ours where nobody reads them: nothing is set aside for that.
    astray: list[tuple[Refused, str]] = field(default_factory=list[tuple[Refused, str]])
    #: Kinds that nobody reads, and how many there are of each.
    ignored: Counter[str] = field(default_factory=Counter[str])


def read_objects(documents: Iterable[Document], schedulers: Collection[str]) -> Objects:
    """Turn documents into events, the pods of controllers included."""
    reader = _Reader(schedulers)
    # Classes and namespaces first: a pod may stand before the class that it names.
    for document in sorted(documents, key=lambda document: not _gives(document.object)):
        reader.add(document)
    reader.expand()
    return reader.objects


@dataclass(slots=True)
class _Reader:
    """Reads object after object, and remembers which names and uids are taken."""

    schedulers: Collection[str]
    objects: Objects = field(default_factory=Objects)
    admission: Admission = field(default_factory=Admission)
    #: Pods and controllers, as `expand` wants to see them, by the file they are in.
    identified: list[tuple[dict[str, Any], str]] = field(default_factory=list[tuple[dict[str, Any], str]])
    taken: dict[str, str] = field(default_factory=dict[str, str])
    #: Pods that were read, of whose `ephemeral` volumes the claims may come later in the files.
    alone: list[tuple[dict[str, Any], str]] = field(default_factory=list[tuple[dict[str, Any], str]])
    #: What is there and cannot be read, for which its pods wait: nobody makes it again.
    unreadable: set[str] = field(default_factory=set[str])

    def add(self, document: Document) -> None:
        """Read one object."""
        kind, source = document.object["kind"], document.source
        if kind == "RuntimeClass" and _is_class(document.object):
            self.admission.learn_runtime(document.object)
            return
        one = self.admission.identify(document.object)
        if is_controller(one):
            if self._claim(one, source):
                self.identified.append((one, source))
            return
        if kind == "Pod":
            self.identified.append((one, source))
        event = self._read(one)
        if event is None:
            self.objects.ignored[kind] += 1
        elif isinstance(event, Refused):
            self.objects.refused.append((event, source))
            known = table.TABLE.kind(kind, one.get("apiVersion"))
            if known is not None and known.awaited and str(event.object) not in self.taken:
                # Its pods wait for it and say so; there is one, but it cannot be read.
                self.objects.events.append(event)
                self.unreadable.add(self._name(one))
        elif self._claim(one, source):
            self.objects.events.append(_unmade_last(event, one))
            self._learn(event, one)
            if kind == "Pod":
                self.alone.append((one, source))

    def _learn(self, event: Event, one: dict[str, Any]) -> None:
        """Keep what says something of pods and claims that are read later."""
        if isinstance(event, PriorityClassSeen):
            self.admission.learn_priority(event)
        elif _is_namespace(one):
            self.admission.learn_namespace(one)
        elif one["kind"] == "StorageClass":
            self.admission.learn_storage(one)

    def expand(self) -> None:
        """Read the pods and claims that controllers would make. A bad template is one mistake, not one per pod."""
        for pod, source in self.alone:
            self._make_claims(pod, pod, "", source)
        sources = {id(one): source for one, source in self.identified}
        for owner, made in expand(one for one, _ in self.identified):
            source = sources[id(owner)]
            if isinstance(made, Refused):
                self.objects.refused.append((made, source))
                continue
            event = self._take(owner, made, source)
            if isinstance(event, TaskSeen) and event.task.ours:
                pods = [one.object for one in made if one.object["kind"] == "Pod"]
                self._look_for_astray(owner, pods[0], source)
                if len(pods) > 1:
                    self._look_for_one_by_one(owner, event.task, source)

    def _take(self, owner: Mapping[str, Any], made: list[Made], source: str) -> Event | None:
        """Read what a controller would make; return the last event, or the first mistake."""
        event: Event | None = None
        for one, path in made:
            known = self.admission.identify(one)
            refused = self._make_claims(owner, known, path, source)
            if refused is not None:
                return refused
            event = self._read(known)
            if isinstance(event, Refused):
                return self._refuse(event, owner, f"{path}{event.field}", source)
            # Its controller may have begun: what is there already is not made again.
            begun = known["kind"] != "Pod" and (self._name(known) in self.taken or self._name(known) in self.unreadable)
            if event is not None and not begun and self._claim(known, source):
                self.objects.events.append(event)
        return event

    def _make_claims(self, owner: Mapping[str, Any], one: dict[str, Any], path: str, source: str) -> Refused | None:
        """Make the claims of a pod's `ephemeral` volumes; return the first mistake of their templates."""
        try:
            claims = ephemeral_claims(one) if one["kind"] == "Pod" else []
        except FieldError as mistake:
            refused = Refused("Pod", full_name(one), mistake.field, mistake.message)
            return self._refuse(refused, owner, f"{path}{mistake.field}", source)
        event = self._take(owner, [Made(claim, path + under) for claim, under in claims], source)
        return event if isinstance(event, Refused) else None

    def _refuse(self, event: Refused, owner: Mapping[str, Any], path: str, source: str) -> Refused:
        """Set aside what was made, in the name of whom it was made for."""
        refused = replace(event, kind=called(owner), name=full_name(owner), field=path)
        self.objects.refused.append((refused, source))
        return refused

    def _look_for_astray(self, owner: Mapping[str, Any], pod: Mapping[str, Any], source: str) -> None:
        own, carried = mapping(owner, "metadata"), mapping(pod, "metadata")
        on_pods = {*mapping(carried, "annotations"), *mapping(carried, "labels")}
        for place in ("annotation", "label"):
            wrong = astray(place, mapping(own, f"{place}s"), on_pods, TEMPLATE)
            if wrong is not None:
                self.objects.astray.append((Refused(str(owner["kind"]), full_name(owner), *wrong), source))

    def _look_for_one_by_one(self, owner: Mapping[str, Any], task: Task, source: str) -> None:
        """Name a StatefulSet that would wait for ever: its second pod is made when the first one runs."""
        found = mapping(owner, "spec").get("podManagementPolicy", "OrderedReady")
        said = task.membership
        minimum = None if said is None else said.minimum if said.subgroup is None else said.subgroup_minimum
        if owner["kind"] == "StatefulSet" and found == "OrderedReady" and minimum is not None and minimum > 1:
            why = f"found {found}, which makes one pod after the other; allowed with a minimum of {minimum} is Parallel"
            refused = Refused("StatefulSet", full_name(owner), "spec.podManagementPolicy", why)
            self.objects.astray.append((refused, source))

    def _read(self, one: dict[str, Any]) -> Event | None:
        """Admit a pod or a group of pods, and let the dialects read whatever it is."""
        admitted: dict[str, Any] | Refused = one
        kind = table.TABLE.kind(one["kind"], one.get("apiVersion"))
        if one["kind"] == "Pod":
            admitted = self.admission.admit(one)
        elif one["kind"] == "PersistentVolumeClaim":
            admitted = self.admission.admit_claim(one)
        elif kind is not None and kind.prioritised:
            admitted = self.admission.admit_group(one)
        return admitted if isinstance(admitted, Refused) else read(admitted, self.schedulers)

    def _name(self, one: Mapping[str, Any]) -> str:
        return f"{table.TABLE.name(one['kind'], one.get('apiVersion'))} {full_name(one)}"

    def _claim(self, one: dict[str, Any], source: str) -> bool:
        """Take an object's name and uid; refuse it when another object has them already."""
        kind, name = table.TABLE.name(one["kind"], one.get("apiVersion")), full_name(one)
        # What has no name is refused for that, by whoever reads it.
        if not mapping(one, "metadata").get("name"):
            return True
        keys = {"metadata.name": self._name(one), "metadata.uid": f"uid {mapping(one, 'metadata').get('uid')}"}
        for path, key in keys.items():
            if key in self.taken:
                message = f"already taken by an object in {self.taken[key]}, which holds"
                self.objects.refused.append((Refused(kind, name, path, message), source))
                return False
        self.taken.update(dict.fromkeys(keys.values(), source))
        return True


def _gives(one: dict[str, Any]) -> bool:
    """Tell what says something of pods that are read after it."""
    return _is_class(one) or _is_namespace(one)


def _is_namespace(one: dict[str, Any]) -> bool:
    return one["kind"] == "Namespace" and one.get("apiVersion") == "v1"


def _is_class(one: dict[str, Any]) -> bool:
    group = _CLASSES.get(one["kind"])
    return group is not None and str(one.get("apiVersion")).startswith(group)


def _unmade_last(event: Event, one: dict[str, Any]) -> Event:
    """A queue without a time was not made yet: it is younger than all that were."""
    metadata = one.get("metadata")
    if isinstance(event, QueueSeen) and isinstance(metadata, dict) and not metadata.get("creationTimestamp"):
        return replace(event, queue=replace(event.queue, created=math.inf))
    return event
