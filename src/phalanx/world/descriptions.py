"""Descriptions: objects that say something of gangs and are no pods: namespaces, groups, priority classes, mistakes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from phalanx.model.events import (
    DomainGone,
    DomainSeen,
    GroupsGone,
    GroupsSeen,
    NamespaceGone,
    NamespaceSeen,
    OfGangs,
    OfNodes,
    PriorityClassGone,
    PriorityClassSeen,
    Refused,
    ServiceGone,
    ServiceSeen,
    StorageGone,
    StorageSeen,
    TopologyGone,
    TopologySeen,
)
from phalanx.model.gang import Gang
from phalanx.model.reference import Reference
from phalanx.model.task import Task
from phalanx.model.tree import Level, level_of
from phalanx.world.compositions import Compositions
from phalanx.world.divisions import divided
from phalanx.world.domains import DomainObjects
from phalanx.world.gangs import THERE, assemble, gang_key
from phalanx.world.groups import look_up
from phalanx.world.links import Links
from phalanx.world.neighbours import terms_of
from phalanx.world.queue_answers import Said, said_by, slip
from phalanx.world.queues import Queues
from phalanx.world.services import Services


class Descriptions:
    """Takes objects in, and knows of which gangs they say something else than before.

    What changes one object costs what that object touches: its namespace, or those who refer to it.
    """

    def __init__(self, tasks: Mapping[str, Task], links: Links) -> None:
        #: The labels of namespaces, and the annotations of those that have some.
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self._annotations: dict[str, Mapping[str, str]] = {}
        #: Objects set aside.
        self.refused: dict[Reference, Refused] = {}
        #: Objects that describe groups.
        self.groups: dict[Reference, GroupsSeen] = {}
        self.classes: dict[str, PriorityClassSeen] = {}
        #: Objects that name the nodes of a domain.
        self.domains = DomainObjects()
        #: Shapes and nodes tell of images: some plugin looks at them.
        self.images = False
        #: What Services say, where some plugin asks.
        self.services = Services()
        #: Objects that list the levels of a tree.
        self.topologies: dict[Reference, TopologySeen] = {}
        #: Which of these groups are parts of larger ones.
        self.compositions = Compositions(self.groups, links)
        self._tasks = tasks
        self._links = links
        self._changed: set[str] = set()

    @property
    def trees(self) -> dict[Reference, tuple[Level, ...]]:
        """Return the levels that objects list or make."""
        listed = {name: tuple(map(level_of, seen.levels)) for name, seen in sorted(self.topologies.items())}
        return {**listed, **self.domains.levels}

    def drain(self) -> set[str]:
        """Return the keys of the gangs of which something else is said since this was last asked."""
        changed, self._changed = self._changed, set()
        return changed

    def tasks_in(self, namespace: str) -> Iterator[Task]:
        """Yield the tasks of a namespace. Most events need none of them, and pay for none."""
        return (self._tasks[uid] for uid in self._links.in_namespace.get(namespace, {}))

    def tasks_of(self, pod: Refused) -> list[Task]:
        """Return what is known of a pod that cannot be read any more: by uid, or where that is missing by name."""
        if pod.uid:
            known = self._tasks.get(pod.uid)
            return [] if known is None else [known]
        return [task for task in self.tasks_in(pod.name.partition("/")[0]) if task.full_name == pod.name]

    def read(self, thing: Reference) -> None:
        """Note that an object can be read (again)."""
        self.refused.pop(thing, None)

    def about_domains(self, event: DomainSeen | DomainGone) -> bool:
        """Take in an object that names the nodes of a domain; tell whether nodes may be elsewhere now."""
        self.read(event.object)
        return self.domains.apply(event)

    def about_nodes(self, event: OfNodes) -> set[str]:
        """Take in an object on which it depends what nodes and the pods there are to others; return those nodes."""
        match event:
            case NamespaceSeen(name, labels, annotations):
                return set(self._set_namespace(name, labels, annotations))
            case NamespaceGone(name):
                return set(self._set_namespace(name, None, {}))
            case StorageSeen() | StorageGone():
                self.read(event.object)
                return self._set_storage(event)
            case ServiceSeen(name, selector):
                return set(self._set_service(name, selector))
            case ServiceGone(name):
                return set(self._set_service(name, None))

    def _set_service(self, name: str, selector: Mapping[str, str] | None) -> Iterator[str]:
        """Take in whom a Service selects; yield the nodes on which pods may be of another shape."""
        self.read(Reference("Service", name))
        if not self.services.put(name, selector) or not self.services.wanted:
            return
        for task in self.tasks_in(name.partition("/")[0]):
            if task.ours:
                self._changed.add(gang_key(task))
            for node in {task.node, task.nominated} - {None}:
                yield node or ""

    def _set_namespace(
        self, name: str, labels: Mapping[str, str] | None, annotations: Mapping[str, str]
    ) -> Iterator[str]:
        """Take in what a namespace says; yield the nodes on which pods look at namespaces by label."""
        if self.namespaces.get(name) == labels and self._annotations.get(name, {}) == annotations:
            return
        self._annotations.pop(name, None)
        if annotations:
            self._annotations[name] = annotations
        if labels is None:
            self.namespaces.pop(name, None)
        else:
            self.namespaces[name] = labels
        for uid in self._links.looking:
            task = self._tasks[uid]
            if any(term.namespace_selector for term in terms_of(task)):
                self._changed.add(gang_key(task))
                for node in {task.node, task.nominated} - {None}:
                    yield node or ""
        # A namespace names the default queue of its pods.
        self._changed.update(gang_key(task) for task in self.tasks_in(name) if task.ours)

    def apply(self, event: OfGangs) -> None:
        """Take in an object, or that it is gone."""
        match event:
            case GroupsSeen(owner):
                self._set_groups(owner, event)
            case GroupsGone(owner, uid):
                known = self.groups.get(owner)
                if known is None or uid is None or known.uid == uid:
                    self._set_groups(owner, None)
            case PriorityClassSeen(name):
                self.read(Reference("PriorityClass", name))
                self._set_class(name, event)
            case PriorityClassGone(name):
                self._set_class(name, None)
            case TopologySeen(name):
                self.read(name)
                self._set_topology(name, event)
            case TopologyGone(name, uid):
                there = self.topologies.get(name)
                if there is None or uid is None or there.uid == uid:
                    self._set_topology(name, None)

    def gang(self, key: str, unfinished: Sequence[Task], queues: Queues) -> tuple[Gang, Said]:
        """Return a gang and which queue it is in, by its object, its members, their namespace or by default."""
        first = unfinished[0]
        group, objection = look_up(unfinished, self.groups, self.refused, self.classes)
        group = self.compositions.whole(first.membership.owner if first.membership else None, group)
        objection = objection or (group.hold if group is not None else None)
        labels = self.namespaces.get(first.namespace, {})
        said = said_by(first, labels, group, self._annotations.get(first.namespace, {}))
        gang = assemble(key, unfinished, said.queue, group)
        hold = objection or gang.hold or slip(said, labels) or queues.objection(said)
        if hold is None and not any(task.state in THERE for task in unfinished):
            hold = queues.pause(said)
        return gang if hold is None else replace(gang, hold=hold), said

    def divided(self, members: Sequence[Task]) -> Sequence[Task]:
        """Return the members of a gang, each in the subgroup in which its group puts it."""
        said = members[0].membership if members else None
        seen = self.groups.get(said.owner) if said is not None and said.owner is not None else None
        if said is None or seen is None:
            return members
        return divided(members, next((group for group in seen.groups if group.name == said.group), None))

    def _set_groups(self, owner: Reference, seen: GroupsSeen | None) -> None:
        """Take in an object that describes groups. Its gangs are worked out again if it says something else."""
        old, mistake = self.groups.pop(owner, None), self.refused.pop(owner, None)
        if seen is not None:
            self.groups[owner] = seen
        if old is None or seen is None or mistake is not None or old.groups != seen.groups:
            self._refer(owner)
            if self.compositions.see(old, seen):
                self._changed.update(self.compositions.gangs(self._tasks))

    def _set_class(self, name: str, seen: PriorityClassSeen | None) -> None:
        """Take in a priority class, or (None) that there is none of this name."""
        if self.classes.get(name) == seen:
            return
        self.classes.pop(name, None)
        if seen is not None:
            self.classes[name] = seen
        for owner, groups in self.groups.items():
            if any(group.priority_class or group.priority_absent is not None for group in groups.groups):
                self._refer(owner)

    def _set_storage(self, event: StorageSeen | StorageGone) -> set[str]:
        storage = self._links.storage
        touched = {uid for uid in storage.apply(event) if self._tasks[uid].ours}
        if storage.matters(event.object.kind):
            # It says something of nodes: a new decision is due, and one gang that is looked at again makes it so.
            touched.update(islice(storage.waiting, 1))
        self._changed.update(gang_key(self._tasks[uid]) for uid in touched)
        # What is on which nodes is worked out with the snapshot.
        return set()

    def _set_topology(self, name: Reference, seen: TopologySeen | None) -> None:
        """Take in the levels of a tree, or (None) that there is no such object."""
        old = self.topologies.pop(name, None)
        if seen is not None:
            self.topologies[name] = seen
        if (old.levels if old else None) != (seen.levels if seen else None):
            self.domains.changes += 1
            for owner, groups in self.groups.items():
                if any(name in group.topologies for group in groups.groups):
                    self._refer(owner)

    def set_aside(self, event: Refused) -> bool:
        """Note an object that cannot be read any more; tell whether nodes may be elsewhere now."""
        self._set_groups(event.object, None)
        self.refused[event.object] = event
        if event.kind == "PriorityClass":
            self._set_class(event.name, None)
        if event.kind in self._links.storage.kinds:
            self._set_storage(StorageGone(event.object))
        self._set_topology(event.object, None)
        return self.domains.drop(event.object)

    def _refer(self, owner: Reference) -> None:
        self._changed.update(gang_key(self._tasks[uid]) for uid in self._links.referring.get(owner, {}))
