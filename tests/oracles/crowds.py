"""Clusters that are about full, and all that makes it hard to make room in them: for hypothesis."""

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from phalanx.model.budget import Budget, Portion
from phalanx.model.events import BudgetSeen, Event, NodeSeen, QueueSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.queue import UNLIMITED, Queue, Terms
from phalanx.model.selectors import LabelSelector, Requirement
from phalanx.model.task import Shape, State, Task
from tests.oracles.exhaustive import core_of

GPU = "nvidia.com/gpu"
#: Running tasks, where every way to make room is tried.
MOST = 12
_APPS = st.sampled_from(["none", "web", "web", "db"])
_PORTIONS = st.builds(Portion, st.sampled_from([1, 1, 2, 3, 0])) | st.builds(Portion, st.just(50), st.just(True))


@dataclass(frozen=True, slots=True)
class Wish:
    """What of a crowd is drawn. Every queue lists the same resources, so that its rights can be worked out by hand."""

    limits: bool = True
    elastic: bool = True
    queues: int = 4
    #: Gangs with subgroups, and with a maximum.
    subgroups: bool = True
    #: Disruption budgets, pods of other schedulers, pods that leave, gangs that lost members, pods that must not be
    #: moved or for whom nobody is evicted, queues that do not borrow or are not to be consolidated.
    hindered: bool = True
    #: Places that were promised in an earlier cycle.
    nominated: bool = True
    #: Always small work that lies about and large work that waits, not only now and then.
    scattered: bool = False


#: Nothing of which a search over all ways knows.
PLAIN = Wish(limits=False, subgroups=False, hindered=False, nominated=False)


@dataclass
class _Crowd:
    """A cluster while it is drawn."""

    wish: Wish
    resources: list[str]
    #: Whole GPUs and cores that are left, by node.
    left: dict[str, dict[str, int]]
    #: Small work lies about and large work waits: only moving helps.
    scattered: bool
    leaves: list[str] = field(default_factory=list[str])


def rarely(draw: st.DrawFn, one_in: int) -> bool:
    """Draw a yes that shrinks to no."""
    return draw(st.integers(0, one_in - 1)) == one_in - 1


@st.composite
def crowded(draw: st.DrawFn, wish: Wish = Wish()) -> list[Event]:  # noqa: B008 (frozen)
    """Draw a cluster that is about full: gangs that run wherever they fit, and gangs that want their places."""
    resources = [GPU, "cpu"] if rarely(draw, 4) else [GPU]
    scattered = wish.scattered or rarely(draw, 3)
    sizes = st.just(4) if scattered else st.integers(1, 4)
    left = {f"n{number}": {GPU: draw(sizes), "cpu": 8} for number in range(draw(st.integers(1 + 2 * scattered, 4)))}
    crowd = _Crowd(wish, resources, left, scattered)
    found: list[Event] = [
        NodeSeen(Node(name, allocatable={**{key: 1000 * amount for key, amount in has.items()}, "pods": 50}))
        for name, has in left.items()
    ]
    tree = draw(_teams(crowd))
    found += [QueueSeen(queue) for queue in tree]
    crowd.leaves = [queue.name for queue in tree if all(other.parent != queue.name for other in tree)]
    if wish.hindered:
        found += draw(_others(crowd))
    running, waiting = draw(st.integers(2, 5 if scattered else 9)), draw(st.integers(1, 4))
    for number in range(running + waiting):
        tasks = draw(_wishing(crowd, f"g{number}", runs=number < running))
        if number < running:
            tasks = draw(_settled(crowd, tasks))
        elif wish.nominated and rarely(draw, 8):
            tasks = [replace(task, nominated=draw(st.sampled_from(sorted(left)))) for task in tasks]
        found += [TaskSeen(task) for task in tasks]
    return found


@st.composite
def _teams(draw: st.DrawFn, crowd: _Crowd) -> list[Queue]:
    queues: list[Queue] = []
    runtimes = st.sampled_from([None, None, None, 120.0])
    for number in range(draw(st.integers(1, crowd.wish.queues))):
        terms = {
            name: Terms(
                1000 * draw(st.integers(0, 4)),
                draw(st.sampled_from([UNLIMITED] * 5 + [2000, 4000])) if crowd.wish.limits else UNLIMITED,
                draw(st.sampled_from([1000, 1000, 2000, 0])),
            )
            for name in crowd.resources
        }
        above = draw(st.sampled_from([None, None, *(queue.name for queue in queues)]))
        one = Queue(
            f"q{number}", above, draw(st.sampled_from([0, 0, 0, 1])), terms,
            preempt_min_runtime=draw(runtimes), reclaim_min_runtime=draw(runtimes),
        )  # fmt: skip
        if crowd.wish.hindered:
            one = replace(one, borrowing=not rarely(draw, 8), consolidation=not rarely(draw, 8))
        queues.append(one)
    return queues


@st.composite
def _others(draw: st.DrawFn, crowd: _Crowd) -> list[Event]:
    """Draw disruption budgets, and perhaps a pod of another scheduler, or one that leaves."""
    found: list[Event] = []
    for number in range(draw(st.sampled_from([0, 1, 1, 1, 2]))):
        app, portion, least = draw(st.sampled_from(["web", "db"])), draw(_PORTIONS), rarely(draw, 3)
        selector = LabelSelector((Requirement("app", "In", (app,)),))
        budget = Budget(
            "default", f"b{number}", selector, minimum=portion if least else None, maximum=None if least else portion
        )
        found.append(BudgetSeen(budget))
    for name, ours in (("other", False), ("leaving", True)):
        room = [node for node, has in crowd.left.items() if has[GPU]]
        if room and rarely(draw, 4):
            node = draw(st.sampled_from(room))
            crowd.left[node][GPU] -= 1
            state, gone_at = (State.RELEASING, 40.0) if ours else (State.RUNNING, None)
            shape, queue = Shape(((GPU, 1000), ("pods", 1))), draw(st.sampled_from(crowd.leaves)) if ours else None
            found.append(
                TaskSeen(
                    Task(
                        name, "default", name, shape, state, node, ours=ours, started=0.0, gone_at=gone_at, queue=queue,
                        labels={"app": "web"},
                    )
                )
            )  # fmt: skip
    return found


@st.composite
def _wishing(draw: st.DrawFn, crowd: _Crowd, name: str, *, runs: bool) -> list[Task]:
    """Draw a gang of equal tasks, or a pod alone, that waits."""
    wish = crowd.wish
    size = draw(st.sampled_from([1, 1, 1, 2, 3, 4]))
    alone = size == 1 and draw(st.booleans())
    preemptible, controlled = not rarely(draw, 10), not rarely(draw, 6)
    minimum = draw(st.integers(1, size)) if wish.elastic and draw(st.booleans()) else size
    said = Membership(f"default/{name}", minimum, preemptible=preemptible)
    gpus = (st.just(1) if runs else st.integers(3, 4)) if crowd.scattered else st.integers(1, 3)
    amounts = {GPU: 1000 * draw(gpus), "pods": 1}
    if "cpu" in crowd.resources:
        amounts["cpu"] = 1000 * draw(st.integers(0, 3))
    requests = tuple(sorted((key, amount) for key, amount in amounts.items() if amount))
    shape, created = Shape(requests, priority=draw(st.integers(0, 2))), float(draw(st.integers(0, 3)))
    made = Task(
        name, "default", name, shape, created=created, queue=draw(st.sampled_from(crowd.leaves)),
        membership=None if alone else said, preemptible=preemptible, owner=f"job-{name}" if controlled else None,
    )  # fmt: skip
    if wish.hindered:
        made = replace(made, movable=not rarely(draw, 8), evicts=not rarely(draw, 8), labels={"app": draw(_APPS)})
    tasks = [replace(made, uid=f"{name}-{number}", name=f"{name}-{number}") for number in range(size)]
    if alone or not wish.subgroups or size == 1:
        return tasks
    if rarely(draw, 6):
        said = replace(said, maximum=draw(st.integers(minimum, size)))
    parts = rarely(draw, 4)
    return [
        replace(
            task,
            membership=replace(said, subgroup=["left", "right"][number % 2], subgroup_minimum=1) if parts else said,
        )
        for number, task in enumerate(tasks)
    ]


@st.composite
def _settled(draw: st.DrawFn, crowd: _Crowd, tasks: list[Task]) -> list[Task]:
    """Let a gang run where there is room for at least its minimum, and charge for it."""
    after = {name: dict(has) for name, has in crowd.left.items()}
    ask = {key: amount // 1000 for key, amount in tasks[0].shape.requests if key != "pods"}
    said = tasks[0].membership
    least, most = (said.minimum or 1, said.maximum or len(tasks)) if said else (1, 1)
    there: list[Task] = []
    for task in tasks[:most]:
        fits = [name for name, has in after.items() if all(has[key] >= amount for key, amount in ask.items())]
        if not fits:
            break
        node = draw(st.sampled_from(fits))
        for key, amount in ask.items():
            after[node][key] -= amount
        there.append(replace(task, state=State.RUNNING, node=node, started=task.created))
    if len(there) < least or len(core_of(there)) < len(core_of(tasks)):
        return tasks
    crowd.left.update(after)
    if crowd.wish.hindered and len(there) > 1 and rarely(draw, 10):
        # Its last member was lost: the room is free, and it waits to be made whole.
        lost = there.pop()
        for key, amount in ask.items():
            crowd.left[lost.node or ""][key] += amount
    return there + tasks[len(there) :]


@st.composite
def contested(draw: st.DrawFn, *, teams: int) -> list[Event]:
    """Draw a small full cluster in which others have nearly everything, and one gang that wants some of it.

    In most of these there is a way to make room; in most of all clusters there is none.
    """
    left = {f"n{number}": {GPU: draw(st.integers(1, 4)), "cpu": 8} for number in range(draw(st.integers(2, 6)))}
    crowd = _Crowd(PLAIN, [GPU], left, scattered=False)
    queues = [
        Queue(
            f"q{number}", terms={GPU: Terms(1000 * draw(st.integers(0, 4)), weight=draw(st.sampled_from([1000, 2000])))}
        )
        for number in range(teams)
    ]
    if teams > 1 and rarely(draw, 3):
        queues.append(Queue(f"q{teams}", draw(st.sampled_from(["q0", "q1"])), terms={GPU: Terms(1000)}))
    leaves = [queue.name for queue in queues if all(other.parent != queue.name for other in queues)]
    found: list[Event] = [
        NodeSeen(Node(name, allocatable={GPU: 1000 * has[GPU], "pods": 50})) for name, has in left.items()
    ]
    found += [QueueSeen(queue) for queue in queues]
    there = 0
    for number in range(draw(st.integers(4, 12))):
        crowd.leaves = leaves if teams == 1 or rarely(draw, 8) else leaves[:-1]
        tasks = [task for task in draw(_settled(crowd, draw(_wishing(crowd, f"g{number}", runs=True)))) if task.node]
        there += len(tasks)
        if there <= MOST:
            found += [TaskSeen(replace(task, shape=replace(task.shape, priority=0))) for task in tasks]
    crowd.leaves = leaves[-1:]
    asking = draw(_wishing(crowd, "late", runs=False))
    found += [TaskSeen(replace(task, shape=replace(task.shape, priority=1), created=5.0)) for task in asking]
    return found


@st.composite
def pieces(draw: st.DrawFn) -> list[Event]:
    """Draw a small cluster whose free space lies in pieces, and a gang that all of it together would be enough for."""
    left = {f"n{number}": {GPU: draw(st.integers(2, 5)), "cpu": 8} for number in range(draw(st.integers(2, 6)))}
    crowd = _Crowd(PLAIN, [GPU], left, scattered=False, leaves=["q0"])
    found: list[Event] = [
        NodeSeen(Node(name, allocatable={GPU: 1000 * has[GPU], "pods": 50})) for name, has in left.items()
    ]
    found.append(QueueSeen(Queue("q0", terms={GPU: Terms(0)})))
    there = 0
    for number in range(draw(st.integers(2, 9))):
        tasks = [task for task in draw(_settled(crowd, draw(_wishing(crowd, f"g{number}", runs=True)))) if task.node]
        there += len(tasks)
        if there <= MOST:
            found += [TaskSeen(task) for task in tasks]
        if sum(has[GPU] for has in left.values()) < 6:
            break
    size, free = draw(st.sampled_from([1, 1, 2, 3])), [has[GPU] for has in left.values()]
    least = next(gpus for gpus in range(1, 7) if sum(has // gpus for has in free) < size)
    asked = Shape(((GPU, 1000 * draw(st.integers(least, max(least, min(sum(free) // size, 5))))), ("pods", 1)))
    said = Membership("default/late", size)
    found += [
        TaskSeen(Task(f"late-{number}", "default", f"late-{number}", asked, created=5.0, queue="q0", membership=said))
        for number in range(size)
    ]
    return found
