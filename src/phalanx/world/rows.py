"""Rows: the tables of a snapshot, of which only what changed since the last one is worked out again."""

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from phalanx.model.axis import Axis, Int
from phalanx.model.charges import Charges
from phalanx.model.gang import Gang
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Shape, State, Task
from phalanx.world.gang_rows import GangRows, amounts, next_turn
from phalanx.world.gangs import THERE, gang_key, labels_read, piece_of
from phalanx.world.lost_devices import LostDevices
from phalanx.world.models_apart import models_apart
from phalanx.world.neighbours import of_others
from phalanx.world.node_rows import NodeRows
from phalanx.world.nominations import Nominations
from phalanx.world.rests import Rests
from phalanx.world.running_rows import RunningRows
from phalanx.world.users import NOBODY
from phalanx.world.volume_rows import VolumeRows

if TYPE_CHECKING:
    from phalanx.world.world import World

FINISHED = frozenset({State.SUCCEEDED, State.FAILED})
#: So long after a terminating pod should be gone, nobody counts on its room: its node may be lost.
STUCK = 600.0


#: What amounts are worked out from.
_Basis: TypeAlias = tuple[tuple[Shape, ...], Axis, Charges, tuple[str, ...]]


class Rows:
    """Works out the dirty rows of a world's tables."""

    def __init__(self, rests: Rests, nominations: Nominations, label_keys: frozenset[str]) -> None:
        self._rests = rests
        self._nominations = nominations
        #: Task labels that plugins look at; and those that shapes were made with.
        self.plugin_keys = self._label_keys = label_keys
        #: Shapes were made with the images of their pods.
        self._images = False
        #: And with the Services that select them.
        self._services = False
        self.nodes = NodeRows()
        self._gangs = GangRows()
        self.running = RunningRows()
        self._lost = LostDevices()
        self._volumes = VolumeRows()
        self.dirty_gangs: set[str] = set()
        #: When to decide although nothing changes.
        self.next_turn = math.inf
        self._amounts: tuple[_Basis, tuple[Int, Int, Int]] | None = None
        self._derived: tuple[tuple[object, ...], dict[object, Any]] = (), {}

    def snapshot(self, world: "World", now: float) -> Snapshot:
        """Return a snapshot; only what changed since the last one is worked out again."""
        self._refresh_label_keys(world)
        self._refresh_queues(world)
        self._refresh_volumes(world)
        for key in sorted(self.dirty_gangs):
            self._work_out(world, key)
        self.dirty_gangs.clear()
        self._nominations.see(world.nominated, now)
        nodes, axis = self.nodes.table(world)

        def tasks_on(node: str) -> list[Task]:
            return [world.tasks[uid] for uid in world.on_node.get(node, {})]

        queues = world.queues.compile(now, axis, nodes, tasks_on)
        users = world.users.compile(now, axis, nodes)
        user_row = NOBODY if users is None else users.row
        gangs, tasks, shapes = self._gangs.tables(axis, nodes.row, queues.row, user_row, self._nominations.since)
        world.queues.waiting = gangs
        running, shapes = self.running.table(now, axis, nodes.row, queues, shapes, world.budgets)
        occupancy, shapes = self.nodes.occupancy.table(nodes.names, shapes)
        table, listed = world.queues.charges, queues.resources
        if self._amounts is None or self._amounts[0] != (shapes, axis, table, listed):
            self._amounts = (shapes, axis, table, listed), amounts(shapes, axis, table, listed)
        requests, charges, scored = self._amounts[1]
        look = self.running.next_look(now, running, queues, world.wave_deadline)
        stuck = min((stuck_at(world.tasks[uid]) for uid in world.links.leaving), default=math.inf)
        lost = self._lost.see(world, nodes.devices, nodes.names, now)
        failures = world.failures.see(now)
        ends = (
            world.failures.next_end(self._gangs.waits),
            world.moves.next_end,
            self._nominations.next_look(now),
            self._lost.next_look(now),
        )
        self.next_turn = min(next_turn(gangs, now), look, stuck, *ends)
        return Snapshot(
            now=now, axis=axis, nodes=nodes, shapes=self._amounts[0][0], requests=requests, charges=charges,
            scored=scored, gangs=gangs, tasks=tasks, queues=queues, occupancy=occupancy, running=running,
            wave_deadline=world.wave_deadline, volumes=self._volumes.table(world.volumes.objects, nodes, world.on_node),
            shared=self.nodes.shared.table(world, nodes, running, tasks),
            topologies=world.said.trees,
            derived=self._handed_on(self._amounts[0][0], nodes.names, nodes.labels, nodes.taint_sets, nodes.taint_set),
            lost_devices=lost, failures=failures,
            users=users,
            apart=models_apart(table, listed, nodes, self._amounts[0][0]),
            islands=self.nodes.islands.tables(world, nodes, axis, self._amounts[0][0], running, tasks),
        )  # fmt: skip

    def _handed_on(self, *basis: object) -> dict[object, Any]:
        """Return what was worked out of these very values, or an empty place for it."""
        same = len(basis) == len(self._derived[0]) and all(a is b for a, b in zip(basis, self._derived[0], strict=True))
        if not same:
            self._derived = basis, {}
        return self._derived[1]

    def gang(self, world: "World", key: str) -> Gang:
        """Return a gang that has unfinished members."""
        self._refresh_queues(world)
        return world.said.gang(key, self._unfinished(world, key), world.queues)[0]

    def shape_of(self, world: "World", task: Task) -> Shape:
        """Return the shape of a task in snapshots: with the labels that somebody reads, and what it says of others."""
        said: dict[str, Any] = {"labels": labels_read(task, self._label_keys)} if self._label_keys else {}
        if task.images is not None and self._images:
            said["images"] = task.images
        if task.mounts:
            said["volumes"] = world.volumes.needs(task)
        if selected := world.said.services.selecting(task):
            said["served"] = selected
        if task.looks_around:
            said |= of_others(task, world.namespaces)
        # Once: it takes as long as all else here.
        return replace(task.shape, **said) if said else task.shape

    def _refresh_label_keys(self, world: "World") -> None:
        """Shapes keep the labels that some selector reads, and images if somebody does. When that changes, all do."""
        keys = self.plugin_keys.union(world.links.labels_read, world.said.services.keys)
        read = world.said.images, world.said.services.wanted
        if (keys, *read) != (self._label_keys, self._images, self._services):
            self._label_keys, (self._images, self._services) = keys, read
            self.dirty_gangs.update(world.members)
            for node in world.nodes:
                self.nodes.touch(node)

    def _unfinished(self, world: "World", key: str) -> list[Task]:
        members = (world.tasks[uid] for uid in world.members.get(key, {}))
        unfinished = sorted((task for task in members if task.state not in FINISHED), key=lambda task: task.uid)
        return list(world.said.divided(unfinished))

    def _refresh_queues(self, world: "World") -> None:
        told = world.queues.refresh()
        self.dirty_gangs.update((*world.members, *world.moves.gangs) if told is None else told)

    def _refresh_volumes(self, world: "World") -> None:
        """Tasks whose claims or volumes changed, or are shared now, have another shape."""
        changed = world.links.storage.changed
        for task in [world.tasks[uid] for uid in changed if uid in world.tasks]:
            for node in filter(None, (task.node, task.nominated)):
                self.nodes.touch(node)
            if task.ours:
                self.dirty_gangs.add(gang_key(task))
        changed.clear()

    def _work_out(self, world: "World", key: str) -> None:
        """Write one gang's rows afresh."""
        unfinished, moved = self._unfinished(world, key), list(world.said.divided(world.moves.of(key)))
        gang, said = world.said.gang(key, unfinished or moved, world.queues) if unfinished or moved else (None, None)
        if gang is None or not unfinished:
            world.queues.put(key, said, gang, moved)
            world.users.put(key, None, ())
            self._gangs.put(key, None)
            self.running.drop(key)
            return
        gang = self._rests.laid_on(gang)
        # What is kept for those who are moved is theirs, wherever they are.
        queue = world.queues.put(key, said, gang, [*unfinished, *moved])
        user = world.users.put(key, queue, [*unfinished, *moved])
        members = list(world.said.divided([world.tasks[uid] for uid in world.members[key]]))
        if any(task.mounts for task in members):
            members = [world.volumes.held(task) for task in members]
        piece = piece_of(gang, members, moved, partial(self.shape_of, world), world.volumes.of)
        self._gangs.put(key, piece, queue, user)
        here = [(task, self.shape_of(world, task)) for task in unfinished if task.state in THERE]
        self.running.put(gang, here, members, queue, moved=len(moved))


def stuck_at(task: Task) -> float:
    """Return when a pod that leaves will count as one that stays; infinity: never."""
    return math.inf if task.stuck or task.gone_at is None else task.gone_at + STUCK
