"""Links: where every task is found again, by node, by gang and by what it refers to."""

from collections import Counter
from collections.abc import Iterator

from phalanx.model.reference import Reference
from phalanx.model.task import State, Task
from phalanx.world.gangs import gang_key
from phalanx.world.indexes import subtract, take_out
from phalanx.world.neighbours import label_keys
from phalanx.world.reservations import Reservations
from phalanx.world.storage import StorageObjects

#: Of an index in which a uid is not.
_ABSENT = object()


class Links:
    """Indexes of uids. Every task that was put is taken out as it was put."""

    def __init__(self) -> None:
        #: Tasks that take room on a node, whether or not we know that node.
        self.on_node: dict[str, dict[str, None]] = {}
        #: Waiting tasks to which a node is nominated.
        self.nominated: dict[str, dict[str, None]] = {}
        #: Tasks of ours by the key of their gang.
        self.members: dict[str, dict[str, None]] = {}
        #: All tasks by namespace.
        self.in_namespace: dict[str, dict[str, None]] = {}
        #: Tasks that refer to an object, whether or not it is there.
        self.referring: dict[Reference, dict[str, None]] = {}
        #: Tasks on nodes that terminate.
        self.leaving: dict[str, None] = {}
        #: Tasks on nodes, or of ours that wait, that say something of others; and the labels that they read, counted.
        self.looking: dict[str, None] = {}
        self.labels_read: Counter[str] = Counter()
        #: Tasks that take, or wait for, a part of a device.
        self.sharing: dict[str, None] = {}
        #: Who shares which device, and which pods keep those from the kubelet.
        self.reservations = Reservations()
        #: Pending tasks of ours.
        self.waiting: dict[str, None] = {}
        #: Claims, volumes and who mounts them.
        self.storage = StorageObjects()
        #: Those of them for which there may be a place once others have theirs.
        self.hopeful: dict[str, None] = {}
        #: Resource names in use, counted by who uses them, nodes and queues too: the axis of the next snapshot.
        self.resources: Counter[str] = Counter()

    def count(self, old: Task | None, task: Task | None) -> None:
        """Count the resources that a task names, and no longer those that it named before; mostly they are the same."""
        if old is not None and task is not None and old.shape is task.shape:
            return
        if task is not None:
            self.resources.update(name for name, _ in task.shape.requests)
        if old is not None:
            subtract(self.resources, (name for name, _ in old.shape.requests))

    def put(self, task: Task) -> Iterator[str]:
        """Note a task; yield the nodes that it changes."""
        self.reservations.put(task)
        self.in_namespace.setdefault(task.namespace, {})[task.uid] = None
        if task.mounts:
            self.storage.put(task)
        if task.shape.part is not None and (task.charged or task.state is State.PENDING):
            self.sharing[task.uid] = None
        if task.looks_around:
            self._put_looking(task)
        if task.ours:
            self.members.setdefault(gang_key(task), {})[task.uid] = None
            if task.state is State.PENDING:
                self.waiting[task.uid] = None
            if task.membership is not None and task.membership.owner is not None:
                self.referring.setdefault(task.membership.owner, {})[task.uid] = None
        if task.charged and task.node is not None:
            self.on_node.setdefault(task.node, {})[task.uid] = None
            if task.state is State.RELEASING:
                self.leaving[task.uid] = None
            yield task.node
        elif task.state is State.PENDING and task.nominated is not None:
            self.nominated.setdefault(task.nominated, {})[task.uid] = None
            yield task.nominated

    def _put_looking(self, task: Task) -> None:
        if task.charged or (task.state is State.PENDING and (task.ours or task.nominated is not None)):
            self.looking[task.uid] = None
            self.labels_read.update(label_keys(task))
        if task.ours and task.state is State.PENDING and (task.attracts or task.spreads):
            self.hopeful[task.uid] = None

    def take(self, task: Task) -> Iterator[str]:
        """Forget a task; yield the nodes that it changes."""
        self.reservations.take(task)
        if task.mounts:
            self.storage.take(task)
        if self.looking.pop(task.uid, _ABSENT) is None:
            subtract(self.labels_read, label_keys(task))
        self.sharing.pop(task.uid, None)
        self.leaving.pop(task.uid, None)
        self.waiting.pop(task.uid, None)
        self.hopeful.pop(task.uid, None)
        take_out(self.in_namespace, task.namespace, task.uid)
        if task.ours:
            take_out(self.members, gang_key(task), task.uid)
            if task.membership is not None and task.membership.owner is not None:
                take_out(self.referring, task.membership.owner, task.uid)
        for index, name in ((self.on_node, task.node), (self.nominated, task.nominated)):
            if name is not None and take_out(index, name, task.uid):
                yield name
