"""The pretend cluster: carries out plans, lets gangs work and end, and loses nodes.

A gang works only while enough of its members run. Members of a gang that is not whole hold their places and
do nothing, as a training job does that waits for its last peer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from phalanx.model.events import NodeSeen, TaskGone, TaskSeen
from phalanx.model.node import Node
from phalanx.model.outcome import Bound, Result
from phalanx.model.plan import Evict, Plan
from phalanx.model.task import State, Task
from phalanx.model.usage import ByUser
from phalanx.sim.agenda import Agenda
from phalanx.sim.life import Life, enough, life_key
from phalanx.sim.meter import Meter
from phalanx.sim.places import Places
from phalanx.sim.queue_meter import QueueMeter
from phalanx.sim.timeline import Arrive, Fail, Planned, Relabel, Return, Scale, Timeline, Withdraw
from phalanx.sim.user_report import user_key
from phalanx.world.views import task_of, tasks_of, tasks_on
from phalanx.world.world import World


@dataclass(frozen=True, slots=True)
class End:
    """A gang's work is done, unless it was interrupted since: then `attempt` is not its last."""

    life: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Leave:
    """An evicted pod is gone: its grace has passed."""

    uid: str


@dataclass(frozen=True, slots=True)
class Wake:
    """Nothing happens, but a cycle that had to wait for its turn is due."""


Happening = Planned | End | Leave | Wake


class Cluster:
    """Everything that a real cluster would do by itself."""

    def __init__(
        self, world: World, agenda: Agenda[Happening], timeline: Timeline, by_user: ByUser | None = None
    ) -> None:
        self.world = world
        self.lives: dict[str, Life] = {}
        self.meter = Meter(timeline.nodes)
        self.queues = QueueMeter(self.meter.device)
        #: The same of users inside queues; nothing where the policy does not look at them.
        self.users = QueueMeter(self.meter.device)
        self._by_user = by_user
        self.places = Places(world, timeline)
        self._agenda = agenda
        self._runtimes = timeline.runtimes
        self._nodes = {node.name: node for node in timeline.nodes}
        self._down: dict[str, int] = {}
        self._born_again = 0
        #: Gangs of which something changed since they were looked at.
        self._touched: dict[str, None] = {}
        for event in (*map(NodeSeen, timeline.nodes), *timeline.others):
            world.apply(event)

    def apply(self, happening: Happening, now: float) -> bool:
        """Let something happen; tell whether anything changed by it."""
        match happening:
            case Arrive(task):
                changed = self._arrive(task)
            case Scale():
                changed = self._scale(happening)
            case Withdraw(gang):
                changed = self._withdraw(gang, now)
            case Fail(node):
                changed = self._fail(node, now)
            case Return(node):
                changed = self._return(node)
            case Relabel(node, labels):
                changed = self._relabel(node, labels, now)
            case End(life, attempt):
                changed = self._end(life, attempt, now)
            case Leave(uid):
                changed = self._leave(uid, now)
            case Wake():
                changed = False
        return changed

    def execute(self, plan: Plan) -> None:
        """Carry out a plan: every bind succeeds, at once, and every eviction begins."""
        for step in plan.steps:
            if isinstance(step, Evict):
                self._evict(tasks_of(self.world)[step.uid], step.action, plan.now)
        for step in plan.binds:
            self.world.confirm(Bound(step.uid, step.node, Result.OK, plan.now))
            self._run(tasks_of(self.world)[step.uid])
        for wait in plan.waits:
            # A pod alone is known by its name here: its uid, the gang's key, changes when it is made again.
            key = wait.gang_key if wait.gang_key in self.lives else f"pod/{wait.gang}"
            self.lives[key].reason = wait.reason

    def settle(self, now: float) -> None:
        """Look at what changed: gangs that became whole start their work, those that no longer are stop."""
        for key in self._touched:
            life = self.lives[key]
            if life.members:
                self._settle(key, life, now)
            else:
                self.queues.put(key, None, ())
                self.users.put(key, None, ())
                life.note(now)
                if life.lost and life.working:
                    life.stop()
                    life.working = False
        self._touched.clear()
        self.meter.note(now)
        self.queues.note(now)
        self.users.note(now)

    def _arrive(self, task: Task) -> bool:
        key = life_key(task)
        life = self.lives.get(key)
        if life is None:
            name = task.membership.gang if task.membership else task.full_name
            life = Life(name, task.ours, task.created, self._runtimes.get(name, task.expected_runtime))
            life.priority, life.labels = task.shape.priority, task.labels
            self.lives[key] = life
        elif life.over is not None:
            # The work is done, or nobody wants it any more: its controller makes no more pods.
            return False
        life.members[task.uid] = None
        self.world.apply(TaskSeen(task))
        self._touched[key] = None
        if task.charged:
            self._run(task)
        return True

    def _run(self, task: Task) -> None:
        """Count a task that runs on its node."""
        key = life_key(task)
        self.lives[key].running[task.uid] = None
        self.meter.hold(task, 1)
        if self.lives[key].working:
            self.meter.work(task, 1)
        self._touched[key] = None

    def _evict(self, task: Task, action: str, now: float) -> None:
        """Let a pod terminate: it works no longer, and holds its place for its grace period."""
        key = life_key(task)
        life = self.lives[key]
        life.running.pop(task.uid, None)
        life.evicted[action] += 1
        if life.working:
            self.meter.work(task, -1)
        self.world.apply(TaskSeen(replace(task, state=State.RELEASING, gone_at=now + task.grace)))
        self._agenda.put(now + task.grace, Leave(task.uid))
        self._touched[key] = None

    def _leave(self, uid: str, now: float) -> bool:
        task = task_of(self.world, uid)
        if task is None:
            return False
        self._remove(task)
        self._make_again(task, now)
        return True

    def _make_again(self, task: Task, now: float) -> None:
        """Let the controller of a pod that is gone make another; without one it is lost."""
        if task.controlled:
            self._born_again += 1
            uid = f"{task.namespace}:{task.name}:again-{self._born_again}"
            blank = replace(task, uid=uid, state=State.PENDING, node=None, created=now, started=None)
            self._arrive(replace(blank, gone_at=None, nominated=None, groups=()))
        elif not self.lives[life_key(task)].members:
            self.lives[life_key(task)].lost = True
            self.lives[life_key(task)].over = now

    def _remove(self, task: Task) -> None:
        """Take a task out of the cluster, wherever it is."""
        key = life_key(task)
        life = self.lives[key]
        del life.members[task.uid]
        if task.state is State.RELEASING:
            self.meter.hold(task, -1)
        if task.uid in life.running:
            del life.running[task.uid]
            self.meter.hold(task, -1)
            if life.working:
                self.meter.work(task, -1)
        self.world.apply(TaskGone(task.uid))
        self._touched[key] = None

    def _settle(self, key: str, life: Life, now: float) -> None:
        tasks = [tasks_of(self.world)[uid] for uid in life.members]
        gang = self.world.gang_of(tasks[0])
        if life.complete is None and enough(gang, tasks):
            life.complete = now
        running = [task for task in tasks if task.uid in life.running]
        life.queue = gang.queue if gang else None
        self.queues.put(key, life.queue, running)
        if self._by_user is not None and life.queue is not None:
            life.user = life.user if life.user is not None else self._by_user.name(tasks[0])
            self.users.put(key, user_key(life.queue, life.user), running)
        life.note(now, sum(dict(task.shape.requests).get(self.meter.device, 0) for task in running))
        whole = enough(gang, running)
        if whole == life.working:
            return
        life.working = whole
        for uid in life.running:
            self.meter.work(tasks_of(self.world)[uid], 1 if whole else -1)
        life.attempt += 1
        if not whole:
            life.stop()
            return
        if life.started is None:
            life.started, life.closeness = now, self.places.closeness(running)
        if life.runtime is not None:
            life.stretch = self.places.stretch(life.name, running)
            self._agenda.put(now + life.runtime * life.stretch, End(key, life.attempt))

    def _end(self, key: str, attempt: int, now: float) -> bool:
        """All members of a gang finish. They are deleted at once, as by a time to live of zero."""
        life = self.lives[key]
        if life.attempt != attempt or not life.members:
            return False
        for task in [tasks_of(self.world)[uid] for uid in life.members]:
            self._remove(task)
        life.note(now)
        life.working, life.finished, life.over = False, now, now
        return True

    def _withdraw(self, gang: str, now: float) -> bool:
        """Take a gang away as it is. What would have gone on for ever has then done all that was asked of it."""
        life = self.lives.get(f"gang/{gang}") or self.lives.get(f"pod/{gang}")
        if life is None or life.over is not None:
            return False
        for task in [tasks_of(self.world)[uid] for uid in life.members]:
            self._remove(task)
        life.note(now)
        served = life.runtime is None and life.started is not None
        life.working, life.finished, life.over = False, now if served else None, now
        return True

    def _scale(self, scale: Scale) -> bool:
        key = f"gang/{scale.gang}"
        life = self.lives.get(key)
        if life is None or life.over is not None:
            return False
        for task in [tasks_of(self.world)[uid] for uid in life.members]:
            said = task.membership
            if task.name in scale.leave:
                self._remove(task)
            elif scale.minimum is not None and said is not None:
                self.world.apply(TaskSeen(replace(task, membership=replace(said, minimum=scale.minimum))))
        self._touched[key] = None
        return True

    def _fail(self, name: str, now: float) -> bool:
        self._down[name] = self._down.get(name, 0) + 1
        self._set_node(replace(self._nodes[name], ready=False))
        for task in tasks_on(self.world, name):
            self._remove(task)
            self._make_again(task, now)
        return True

    def _return(self, name: str) -> bool:
        self._down[name] -= 1
        if self._down[name]:
            return False
        self._set_node(self._nodes[name])
        return True

    def _relabel(self, name: str, labels: Mapping[str, str], now: float) -> bool:
        """Change labels of a node, and note which gangs are split by it."""
        old = self._nodes[name]
        kept = {key: value for key, value in {**old.labels, **labels}.items() if value}
        self._nodes[name] = replace(old, labels=kept)
        self._set_node(replace(self._nodes[name], ready=not self._down.get(name) and old.ready))
        self.places.relabelled(now)
        return True

    def _set_node(self, node: Node) -> None:
        self.world.apply(NodeSeen(node))
        self.meter.node(node)
