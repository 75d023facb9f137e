"""The world: what is known of the cluster between cycles.

Books are never kept by adding and subtracting: an event marks a node or a gang as dirty, and `compile` works
out dirty rows afresh from the tasks that are there. What was forgotten once would stay wrong for ever.
"""

from itertools import chain

from phalanx.model.device import DEVICE_RESOURCES
from phalanx.model.events import (
    BudgetGone,
    BudgetSeen,
    DomainGone,
    DomainSeen,
    Event,
    NodeGone,
    OfGangs,
    OfNodes,
    QueueGone,
    QueueSeen,
    Refused,
    TaskGone,
    TaskSeen,
)
from phalanx.model.gang import Gang
from phalanx.model.outcome import Outcome, Result
from phalanx.model.plan import Bind, Evict, Nominate, Plan, Release
from phalanx.model.reference import Reference
from phalanx.model.snapshot import WAVE_DEADLINE, NodeTable, Snapshot
from phalanx.model.task import Shape, State, Task, changed
from phalanx.model.usage import ByUser, Memory
from phalanx.world.assumptions import Assumptions
from phalanx.world.budgets import Budgets
from phalanx.world.descriptions import Descriptions
from phalanx.world.failures import Failures
from phalanx.world.gangs import gang_key
from phalanx.world.links import Links
from phalanx.world.moves import Move, Moves
from phalanx.world.needs import Volumes
from phalanx.world.nodes import Nodes
from phalanx.world.nominations import Nominations
from phalanx.world.queues import Queues
from phalanx.world.rests import Rest, Rests
from phalanx.world.rows import FINISHED, Rows, stuck_at
from phalanx.world.sharing import Sharings
from phalanx.world.users import Users


class World:
    """Apply events; compile snapshots."""

    def __init__(self, label_keys: frozenset[str] = frozenset(), devices: tuple[str, ...] = DEVICE_RESOURCES) -> None:
        #: By uid: a name can be used again.
        self.tasks: dict[str, Task] = {}
        self.links = links = Links()
        self.on_node, self.nominated, self.members = links.on_node, links.nominated, links.members
        self.resources, self.reservations = links.resources, links.reservations
        self.said = said = Descriptions(self.tasks, links)
        self.namespaces, self.refused, self.groups = said.namespaces, said.refused, said.groups
        self.queues, self.budgets, self.sharings, self.users = Queues(), Budgets(), Sharings(), Users()
        self._nodes = Nodes(self.resources, self.sharings, said.domains)
        self.nodes = self._nodes.known
        self.volumes = Volumes(links.storage, self.refused)
        #: Places for those who were asked to leave and will be made again.
        self.moves = Moves()
        self.failures = Failures()
        self._assumed, self._rests, self._nominations = Assumptions(), Rests(), Nominations()
        self._rows = Rows(self._rests, self._nominations, label_keys)
        #: A gang that did not come together in so many seconds steps back.
        self.wave_deadline = WAVE_DEADLINE
        #: Something changed that the last plan did not decide itself.
        self._news = False
        self.read_devices(devices)

    def apply(self, event: Event) -> None:
        """Take in one event. Events that change nothing we look at leave nothing dirty."""
        match event:
            case TaskSeen(task):
                self.said.read(Reference("Pod", task.full_name))
                old = self.tasks.get(task.uid)
                self._set_task(self._back(old, self._assumed.seen(old, task)))
            case TaskGone(uid):
                self._drop_task(uid)
                self.moves.gone(uid)
            case NodeGone(name):
                self._touch(*self._nodes.drop(name))
            case _ if isinstance(event, OfNodes):
                self._touch(*self.said.about_nodes(event))
            case DomainSeen() | DomainGone():
                self._news = self.said.about_domains(event) or self._news
            case _ if isinstance(event, OfGangs):
                self.said.apply(event)
            case BudgetSeen() | BudgetGone():
                self.said.read(Reference("PodDisruptionBudget", event.full_name))
                self.budgets.apply(event, self.said.tasks_in(event.full_name.partition("/")[0]))
            case QueueSeen() | QueueGone():
                self.said.read(event.queue.object if isinstance(event, QueueSeen) else event.object)
                self.queues.apply(event, self.resources)
            case Refused():
                self._set_aside(event)
            case _:  # a node, or what describes its devices
                self.said.read(event.object)
                self._touch(*self._nodes.apply(event))
        self._mark(*self.said.drain())

    def assume(self, plan: Plan) -> None:
        """Charge a plan before it is carried out. News: promises given up; places taken, for who wants to be near."""
        news = self._news
        self.queues.assume(self.tasks[step.uid] for step in plan.binds)
        self.users.assume(self.tasks[step.uid] for step in plan.binds)
        for step in plan.acts:
            if isinstance(step, Bind):
                self.links.storage.assume(step)
                # The place that was kept for it stays noted: should its bind be refused, nobody else gets it.
                self._set_task(changed(self.tasks[step.uid], state=State.BINDING, node=step.node, groups=step.devices))
            elif isinstance(step, Nominate):
                leaves = self._assumed.leaving(step.uid)
                if leaves is None:
                    self.nominate(step.uid, step.node, step.devices)
                else:
                    self._mark_move(self.moves.keep(leaves, step.node, plan.now, step.devices))
            elif isinstance(step, Release):
                self.nominate(step.uid, None)
                news = True
            elif isinstance(step, Evict):
                task = self.tasks[step.uid]
                self._set_task(self._assumed.evict(task, plan.now + task.grace))
        self._news = news or bool(plan.binds and self.links.hopeful)

    def confirm(self, outcome: Outcome) -> None:
        """Take in what became of a step. An unknown outcome keeps its charge; what went well is no news."""
        news = self._news or outcome.result is Result.REFUSED
        self.links.storage.confirm(outcome)
        task = self._assumed.confirm(self.tasks.get(outcome.uid), outcome)
        if task is not None:
            self._set_task(task)
            if task.state is not State.RELEASING:
                self._mark_move(self.moves.drop(task.uid))
        self._news = news

    def nominate(self, uid: str, node: str | None, groups: tuple[str, ...] = ()) -> None:
        """Keep a place for a waiting task, on devices of these groups, or (None) no longer."""
        task = self.tasks.get(uid)
        if task is not None and (task.nominated, task.groups) != (node, groups):
            self._set_task(self._assumed.nominate(task, node, groups))

    def _expire(self, now: float) -> None:
        """Let go of what took too long: places of moved pods, pods that do not leave, gangs that rest."""
        for late in self.moves.expire(now):
            self._mark_move(late)
        for uid in [uid for uid in self.links.leaving if stuck_at(self.tasks[uid]) <= now]:
            self._set_task(changed(self.tasks[uid], stuck=True))
            self._mark_move(self.moves.drop(uid))
        self._rows.dirty_gangs.update(self._rests.expire(now))

    def read_labels(self, keys: frozenset[str]) -> None:
        """Say which labels of tasks plugins look at, when the policy changes."""
        self._rows.plugin_keys = keys

    def read_devices(self, resources: tuple[str, ...]) -> None:
        """Say which resources of nodes are devices, when the policy changes."""
        if self._rows.nodes.devices.read(resources):
            self._touch(*self.nodes)

    def rest(
        self, key: str, until: float, why: str, *, ours: bool = False, forfeits: bool = False, stays: bool = False
    ) -> None:
        """Leave a gang alone for a while: it was tried and turned away, or (ours) we failed on it.

        `forfeits`: what is promised to it is given up. `stays`: it is only not asked to leave.
        """
        self._rests.put(key, Rest(until, why if ours else f"resting: {why}", ours, forfeits, stays))
        self._mark(key)

    def due(self, now: float) -> str | None:
        """Return why a new decision could differ from the last one, or what queues have from what they had then."""
        if now >= self.next_due:
            return "a time came"
        news = self._news or self.queues.stale
        if not self.links.waiting:
            return "an event" if news and (self.queues.seen or self._rows.running.wanted) else None
        return "an event" if news or (self._rows.running.wanted and self.budgets.stale) else None

    @property
    def next_due(self) -> float:
        """Return when to decide although nothing changes; infinity: never."""
        return min(self._rows.next_turn, self._rests.next_end)

    def remember(self, memory: Memory | None) -> None:
        """Say how long use of the queues is remembered, when the policy changes; None: not at all."""
        self.queues.remember(memory)

    def remember_users(self, wish: ByUser | None) -> None:
        """Say whose use is remembered inside queues, when the policy changes; None: nobody's."""
        if self.users.remember(wish, self.queues.charges):
            self._mark(*self.members)

    def look_for_victims(self, *, wanted: bool) -> None:
        """Say whether decisions look at what runs, when the policy changes."""
        self._rows.running.wanted = wanted

    def _mark(self, *keys: str) -> None:
        """Something of these gangs changed."""
        self._rows.dirty_gangs.update(keys)
        self._news = self._news or bool(keys)

    def shape_of(self, task: Task) -> Shape:
        """Return the shape of a task in snapshots."""
        return self._rows.shape_of(self, task)

    def compile(self, now: float) -> Snapshot:
        """Return a snapshot; only what changed since the last one is worked out again."""
        self._expire(now)
        others = (self.sharings, self.reservations, self.said.compositions)
        for task in chain.from_iterable(one.outdated(self.tasks) for one in others):
            self._set_task(task)
        snapshot = self._rows.snapshot(self, now)
        self._news = False
        return snapshot

    def node_table(self) -> NodeTable:
        """Return the nodes as a snapshot would have them."""
        return self._rows.nodes.table(self)[0]

    def gang_of(self, task: Task) -> Gang | None:
        """Return the gang of a task of ours; None for others' and for finished ones."""
        if not task.ours or task.state in FINISHED:
            return None
        return self._rows.gang(self, gang_key(task))

    def _set_task(self, task: Task) -> None:
        task = self.said.compositions.composed(self.reservations.sized(self.sharings.sized(task)))
        old = self.tasks.get(task.uid)
        if old == task:
            return
        if old is not None:
            self._unlink(old)
        self.failures.note(old, task, self)
        if old is None or old.nominated != task.nominated:
            self._nominations.forget(task.uid)
        self.tasks[task.uid] = task
        self.links.count(old, task)
        self.budgets.put(task)
        self._touch(*self.links.put(task))
        if task.ours:
            self._mark(gang_key(task))

    def _back(self, old: Task | None, task: Task) -> Task:
        """Return a task with the place that is kept for it, if it is who was asked to leave, made anew."""
        fresh = old is None or old.state is State.RELEASING
        if not (fresh and task.ours and task.state is State.PENDING and task.nominated is None):
            return task
        move = self.moves.arrived(task)
        self._mark_move(move)
        return task if move is None else self._assumed.nominate(task, move.node, move.groups)

    def _mark_move(self, move: Move | None) -> None:
        """A place is kept for a moved task from now on, or no longer."""
        if move is not None:
            self._news = True
            self._touch(move.node)
            self._rows.dirty_gangs.add(gang_key(move.task))

    def _drop_task(self, uid: str) -> None:
        old = self.tasks.pop(uid, None)
        self._assumed.forget(uid)
        self._nominations.forget(uid)
        if old is not None:
            self.budgets.drop(old)
            self.links.count(old, None)
            self._unlink(old)
            self.failures.note(old, None, self)

    def _unlink(self, task: Task) -> None:
        """Take a task out of every index, and mark what it was part of."""
        self._touch(*self.links.take(task))
        if task.ours:
            self._mark(gang_key(task))

    def _touch(self, *nodes: str) -> None:
        """Something on these nodes changed."""
        self._news = self._news or bool(nodes)
        for node in nodes:
            self._rows.nodes.touch(node)
            self.queues.touch(node)

    def _set_aside(self, event: Refused) -> None:
        """An object that cannot be read any more is not acted upon; pods that run stay charged."""
        self._news = self.said.set_aside(event) or self._news
        self._touch(*self._nodes.apply(event))
        if event.queue:
            self.queues.apply(event, self.resources)
        if event.kind == "Node":
            self._touch(*self._nodes.drop(event.name))
        if event.kind == "PodDisruptionBudget":
            self.budgets.apply(event, self.said.tasks_in(event.name.partition("/")[0]))
        for task in self.said.tasks_of(event) if event.kind == "Pod" else ():
            if task.state is State.PENDING:
                self._drop_task(task.uid)
