"""The world: what is known of the cluster between cycles.

Books are never kept by adding and subtracting: an event marks a node or a gang as dirty, and `compile` works
out dirty rows afresh from the tasks that are there. What was forgotten once would stay wrong for ever.
"""

import math
from dataclasses import replace

from phalanx.model.axis import Axis, Int
from phalanx.model.events import (
    BudgetGone,
    BudgetSeen,
    Event,
    GroupsGone,
    GroupsSeen,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PriorityClassGone,
    PriorityClassSeen,
    QueueGone,
    QueueSeen,
    Refused,
    TaskGone,
    TaskSeen,
)
from phalanx.model.gang import Gang
from phalanx.model.node import Node
from phalanx.model.outcome import Outcome, Result
from phalanx.model.plan import Bind, Evict, Nominate, Plan, Release
from phalanx.model.reference import Reference
from phalanx.model.snapshot import WAVE_DEADLINE, Snapshot
from phalanx.model.task import Shape, State, Task
from phalanx.model.usage import Memory
from phalanx.world.assumptions import Assumptions
from phalanx.world.budgets import Budgets
from phalanx.world.descriptions import Descriptions
from phalanx.world.gang_rows import GangRows, amounts, next_turn
from phalanx.world.gangs import THERE, gang_key, piece_of, with_labels
from phalanx.world.indexes import subtract
from phalanx.world.links import Links
from phalanx.world.moves import Move, Moves
from phalanx.world.node_rows import NodeRows
from phalanx.world.nominations import Nominations
from phalanx.world.queues import Queues
from phalanx.world.repulsions import repulsions
from phalanx.world.rests import Rest, Rests
from phalanx.world.running_rows import RunningRows

FINISHED = frozenset({State.SUCCEEDED, State.FAILED})
#: So long after a terminating pod should be gone, nobody counts on its room: its node may be lost.
STUCK = 600.0


class World:
    """Apply events; compile snapshots."""

    def __init__(self, label_keys: frozenset[str] = frozenset()) -> None:
        self.nodes: dict[str, Node] = {}
        #: By uid: a name can be used again.
        self.tasks: dict[str, Task] = {}
        self._links = links = Links()
        self.on_node, self.nominated, self.members = links.on_node, links.nominated, links.members
        self.resources = links.resources
        self._said = said = Descriptions(self.tasks, links)
        self.namespaces, self.refused, self.groups = said.namespaces, said.refused, said.groups
        self.queues = Queues()
        self.budgets = Budgets()
        self._assumed = Assumptions()
        #: Places for those who were asked to leave and will be made again.
        self.moves = Moves()
        self._plugin_keys = self._label_keys = label_keys
        self._node_rows = NodeRows()
        self._gang_rows = GangRows()
        self._running_rows = RunningRows()
        self._dirty_gangs: set[str] = set()
        self._rests = Rests()
        self._nominations = Nominations()
        #: A gang that did not come together in so many seconds steps back.
        self.wave_deadline = WAVE_DEADLINE
        #: Something changed that the last plan did not decide itself.
        self._news = False
        #: When to decide although nothing changes.
        self._next_turn = math.inf
        self._amounts: tuple[tuple[Shape, ...], Axis, tuple[Int, Int]] | None = None

    def apply(self, event: Event) -> None:
        """Take in one event. Events that change nothing we look at leave nothing dirty."""
        match event:
            case TaskSeen(task):
                self._said.read(Reference("Pod", task.full_name))
                old = self.tasks.get(task.uid)
                self._set_task(self._back(old, self._assumed.seen(old, task)))
            case TaskGone(uid):
                self._drop_task(uid)
                self.moves.gone(uid)
            case NodeSeen(node):
                self._said.read(Reference("Node", node.name))
                self._set_node(node)
            case NodeGone(name):
                self._drop_node(name)
            case NamespaceSeen() | NamespaceGone():
                labels = event.labels if isinstance(event, NamespaceSeen) else None
                self._touch(*self._said.set_namespace(event.name, labels))
            case GroupsSeen() | GroupsGone() | PriorityClassSeen() | PriorityClassGone():
                self._said.apply(event)
            case BudgetSeen() | BudgetGone():
                self._said.read(Reference("PodDisruptionBudget", event.full_name))
                self.budgets.apply(event, self._said.tasks_in(event.full_name.partition("/")[0]))
            case QueueSeen() | QueueGone():
                self._said.read(event.queue.object if isinstance(event, QueueSeen) else event.object)
                self.queues.apply(event, self.resources)
            case Refused():
                self._set_aside(event)
        self._mark(*self._said.drain())

    def assume(self, plan: Plan) -> None:
        """Charge what a plan decided before it is carried out. Only a promise that is given up is news."""
        news = self._news
        self.queues.assume(self.tasks[step.uid] for step in plan.binds)
        for step in plan.acts:
            if isinstance(step, Bind):
                # The place that was kept for it stays noted: should its bind be refused, nobody else gets it.
                self._set_task(replace(self.tasks[step.uid], state=State.BINDING, node=step.node))
            elif isinstance(step, Nominate):
                leaves = self._assumed.leaving(step.uid)
                if leaves is None:
                    self.nominate(step.uid, step.node)
                else:
                    self._mark_move(self.moves.keep(leaves, step.node, plan.now))
            elif isinstance(step, Release):
                self.nominate(step.uid, None)
                news = True
            elif isinstance(step, Evict):
                task = self.tasks[step.uid]
                self._set_task(self._assumed.evict(task, plan.now + task.grace))
        self._news = news

    def confirm(self, outcome: Outcome) -> None:
        """Take in what became of a step. An unknown outcome keeps its charge; what went well is no news."""
        news = self._news or outcome.result is Result.REFUSED
        task = self._assumed.confirm(self.tasks.get(outcome.uid), outcome)
        if task is not None:
            self._set_task(task)
            if task.state is not State.RELEASING:
                self._mark_move(self.moves.drop(task.uid))
        self._news = news

    def nominate(self, uid: str, node: str | None) -> None:
        """Keep a place for a waiting task, or (None) no longer."""
        task = self.tasks.get(uid)
        if task is not None and task.nominated != node:
            self._set_task(self._assumed.nominate(task, node))

    def _expire(self, now: float) -> None:
        """Let go of what took too long: places of moved pods, pods that do not leave, gangs that rest."""
        for late in self.moves.expire(now):
            self._mark_move(late)
        for uid in [uid for uid in self._links.leaving if self._stuck_at(uid) <= now]:
            self._set_task(replace(self.tasks[uid], stuck=True))
            self._mark_move(self.moves.drop(uid))
        self._dirty_gangs.update(self._rests.expire(now))

    def _stuck_at(self, uid: str) -> float:
        task = self.tasks[uid]
        return math.inf if task.stuck or task.gone_at is None else task.gone_at + STUCK

    def read_labels(self, keys: frozenset[str]) -> None:
        """Say which labels of tasks plugins look at, when the policy changes."""
        self._plugin_keys = keys

    def rest(self, key: str, until: float, why: str, *, ours: bool = False, forfeits: bool = False) -> None:
        """Leave a gang alone for a while: it was tried and turned away, or (ours) we failed on it.

        `forfeits`: what is promised to it is given up.
        """
        self._rests.put(key, Rest(until, why if ours else f"resting: {why}", ours, forfeits))
        self._mark(key)

    def due(self, now: float) -> str | None:
        """Return why a new decision could differ from the last one, or what queues have from what they had then."""
        if now >= self.next_due:
            return "a time came"
        news = self._news or self.queues.stale
        if not self._links.waiting:
            return "an event" if news and (self.queues.seen or self._running_rows.wanted) else None
        return "an event" if news or (self._running_rows.wanted and self.budgets.stale) else None

    @property
    def next_due(self) -> float:
        """Return when to decide although nothing changes; infinity: never."""
        return min(self._next_turn, self._rests.next_end)

    def remember(self, memory: Memory | None) -> None:
        """Say how long use of the queues is remembered, when the policy changes; None: not at all."""
        self.queues.remember(memory)

    def look_for_victims(self, *, wanted: bool) -> None:
        """Say whether decisions look at what runs, when the policy changes."""
        self._running_rows.wanted = wanted

    def _mark(self, *keys: str) -> None:
        """Something of these gangs changed."""
        self._dirty_gangs.update(keys)
        self._news = self._news or bool(keys)

    def shape_of(self, task: Task) -> Shape:
        """Return the shape of a task in snapshots: with the labels that somebody reads, and whom it repels."""
        shape = with_labels(task, self._label_keys)
        return replace(shape, repels=repulsions(task.repels, self.namespaces)) if task.repels else shape

    def compile(self, now: float) -> Snapshot:
        """Return a snapshot; only what changed since the last one is worked out again."""
        self._expire(now)
        self._refresh_label_keys()
        self._refresh_queues()
        for key in sorted(self._dirty_gangs):
            self._work_out(key)
        self._dirty_gangs.clear()
        self._nominations.see(self.nominated, now)
        nodes, axis = self._node_rows.table(self)
        queues = self.queues.compile(now, axis, nodes, self._tasks_on)
        gangs, tasks, shapes = self._gang_rows.tables(axis, nodes.row, queues.row, self._nominations.since)
        self.queues.waiting = gangs
        running, shapes = self._running_rows.table(now, axis, nodes.row, queues, shapes, self.budgets)
        occupancy, shapes = self._node_rows.occupancy.table(nodes.names, shapes)
        if self._amounts is None or self._amounts[0] != shapes or self._amounts[1] != axis:
            self._amounts = (shapes, axis, amounts(shapes, axis))
        requests, scored = self._amounts[2]
        look = self._running_rows.next_look(now, running, queues, self.wave_deadline)
        stuck = min(map(self._stuck_at, self._links.leaving), default=math.inf)
        ends = (self.moves.next_end, self._nominations.next_look(now))
        self._next_turn = min(next_turn(gangs, now), look, stuck, *ends)
        self._news = False
        return Snapshot(
            now=now, axis=axis, nodes=nodes, shapes=self._amounts[0], requests=requests, scored=scored, gangs=gangs,
            tasks=tasks, queues=queues, occupancy=occupancy, running=running, wave_deadline=self.wave_deadline,
        )  # fmt: skip

    def gang_of(self, task: Task) -> Gang | None:
        """Return the gang of a task of ours; None for others' and for finished ones."""
        if not task.ours or task.state in FINISHED:
            return None
        self._refresh_queues()
        key = gang_key(task)
        return self._said.gang(key, self._unfinished(key), self.queues)[0]

    def _set_task(self, task: Task) -> None:
        old = self.tasks.get(task.uid)
        if old == task:
            return
        if old is not None:
            self._unlink(old)
        if old is None or old.nominated != task.nominated:
            self._nominations.forget(task.uid)
        self.tasks[task.uid] = task
        self.budgets.put(task)
        self._touch(*self._links.put(task))
        if task.ours:
            self._mark(gang_key(task))

    def _back(self, old: Task | None, task: Task) -> Task:
        """Return a task with the place that is kept for it, if it is who was asked to leave, made anew."""
        fresh = old is None or old.state is State.RELEASING
        if not (fresh and task.ours and task.state is State.PENDING and task.nominated is None):
            return task
        move = self.moves.arrived(task)
        self._mark_move(move)
        return task if move is None else self._assumed.nominate(task, move.node)

    def _mark_move(self, move: Move | None) -> None:
        """A place is kept for a moved task from now on, or no longer."""
        if move is not None:
            self._news = True
            self._touch(move.node)
            self._dirty_gangs.add(gang_key(move.task))

    def _drop_task(self, uid: str) -> None:
        old = self.tasks.pop(uid, None)
        self._assumed.forget(uid)
        self._nominations.forget(uid)
        if old is not None:
            self.budgets.drop(old)
            self._unlink(old)

    def _unlink(self, task: Task) -> None:
        """Take a task out of every index, and mark what it was part of."""
        self._touch(*self._links.take(task))
        if task.ours:
            self._mark(gang_key(task))

    def _touch(self, *nodes: str) -> None:
        """Something on these nodes changed."""
        self._news = self._news or bool(nodes)
        for node in nodes:
            self._node_rows.touch(node)
            self.queues.touch(node)

    def _set_node(self, node: Node) -> None:
        old = self.nodes.get(node.name)
        if old == node:
            return
        self._drop_node(node.name, count_only=True)
        self.nodes[node.name] = node
        self.resources.update(node.allocatable.keys())
        self._touch(node.name)

    def _drop_node(self, name: str, *, count_only: bool = False) -> None:
        old = self.nodes.get(name)
        if old is not None:
            subtract(self.resources, old.allocatable)
            if not count_only:
                del self.nodes[name]
            self._touch(name)

    def _set_aside(self, event: Refused) -> None:
        """An object that cannot be read any more is not acted upon; pods that run stay charged."""
        self._said.set_aside(event)
        if event.queue:
            self.queues.apply(event, self.resources)
        if event.kind == "Node":
            self._drop_node(event.name)
        if event.kind in {"Pod", "PodDisruptionBudget"}:
            near = self._said.tasks_in(event.name.partition("/")[0])
            if event.kind == "PodDisruptionBudget":
                self.budgets.apply(event, near)
            else:
                for task in near:
                    if task.full_name == event.name and task.state is State.PENDING:
                        self._drop_task(task.uid)

    def _refresh_label_keys(self) -> None:
        """Shapes keep the labels that some selector reads. When that changes, every shape does."""
        terms = (term for uid in self._links.repelling for term in self.tasks[uid].repels if term.selector)
        keys = self._plugin_keys.union(r.key for term in terms if term.selector for r in term.selector.requirements)
        if keys != self._label_keys:
            self._label_keys = keys
            self._dirty_gangs.update(self.members)
            for node in self.nodes:
                self._node_rows.touch(node)

    def _unfinished(self, key: str) -> list[Task]:
        members = (self.tasks[uid] for uid in self.members.get(key, {}))
        return sorted((task for task in members if task.state not in FINISHED), key=lambda task: task.uid)

    def _refresh_queues(self) -> None:
        told = self.queues.refresh()
        self._dirty_gangs.update((*self.members, *self.moves.gangs) if told is None else told)

    def _tasks_on(self, node: str) -> list[Task]:
        return [self.tasks[uid] for uid in self.on_node.get(node, {})]

    def _work_out(self, key: str) -> None:
        """Write one gang's rows afresh."""
        unfinished, moved = self._unfinished(key), self.moves.of(key)
        gang, said = self._said.gang(key, unfinished or moved, self.queues) if unfinished or moved else (None, None)
        if gang is None or not unfinished:
            self.queues.put(key, said, gang, moved)
            self._gang_rows.put(key, None)
            self._running_rows.drop(key)
            return
        gang = self._rests.laid_on(gang)
        # What is kept for those who are moved is theirs, wherever they are.
        queue = self.queues.put(key, said, gang, [*unfinished, *moved])
        members = [self.tasks[uid] for uid in self.members[key]]
        self._gang_rows.put(key, piece_of(gang, members, moved, self.shape_of), queue)
        here = [(task, self.shape_of(task)) for task in unfinished if task.state in THERE]
        self._running_rows.put(gang, here, members, queue, moved=len(moved))
