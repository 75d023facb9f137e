"""Promises of the world about groups, for any sequence of events that hypothesis can think of."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from phalanx.engine.decide import decide
from phalanx.engine.invariants import check
from phalanx.model.events import Event, GroupsGone, GroupsSeen, NodeSeen, Refused, TaskGone, TaskSeen
from phalanx.model.gang import Group, Membership
from phalanx.model.node import Node
from phalanx.model.reference import Reference
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Shape, State, Task
from phalanx.policy.load import load_policy
from phalanx.world.world import World

DEFAULT = load_policy("default")
OWNERS = (Reference("Workload", "ml/w"), Reference("PodGroup", "ml/g"), Reference("PodGroup", "ml/h"))
MEMBERSHIPS = (
    Membership("ml/w/a", None, owner=Reference("Workload", "ml/w"), group="a"),
    Membership("ml/w/a/0", None, owner=Reference("Workload", "ml/w"), group="a", replica="0"),
    Membership("ml/w/b/0", None, owner=Reference("Workload", "ml/w"), group="b", replica="0"),
    Membership("ml/g", None, start_timeout=300.0, owner=Reference("PodGroup", "ml/g"), group="g"),
    Membership("ml/h", None, owner=Reference("PodGroup", "ml/h"), group="h"),
    Membership("ml/g", 2),
    Membership("ml/x", 2, owner=Reference("PodGroup", "ml/g"), group="g"),
    Membership("ml/x", 2, owner=Reference("PodGroup", "ml/h"), group="h"),
    None,
)
NODE = Node("n1", allocatable={"cpu": 3000, "pods": 9})


@st.composite
def groups(draw: st.DrawFn) -> Event:
    """Draw an object, with none, some or all of the groups that pods name; or its end; or that it is unreadable."""
    owner = draw(st.sampled_from(OWNERS))
    uid = draw(st.sampled_from(["u1", "u2"]))
    kind, name = owner
    if draw(st.integers(0, 3)) == 0:
        gone: Event = GroupsGone(owner, draw(st.none() | st.just(uid)))
        return draw(st.sampled_from([gone, Refused(kind, name, "spec", "bad")]))
    inside = ["a", "b", "c"] if kind == "Workload" else [name.partition("/")[2]]
    found = [
        Group(
            one,
            draw(st.none() | st.integers(1, 3)),
            priority=draw(st.none() | st.integers(0, 1)),
            priority_binds=draw(st.booleans()),
            hold=draw(st.none() | st.just("spec.x: not honoured by this version")),
        )
        for one in draw(st.lists(st.sampled_from(inside), unique=True))
    ]
    return GroupsSeen(owner, tuple(found), uid=uid, generation=draw(st.integers(0, 2)))


@st.composite
def pods(draw: st.DrawFn) -> Event:
    """Draw a pod that comes, changes or goes."""
    name = f"p{draw(st.integers(0, 5))}"
    if draw(st.integers(0, 4)) == 0:
        return TaskGone(name)
    shape = Shape((("cpu", 1000), ("pods", 1)), priority=draw(st.integers(0, 1)))
    task = Task(name, "ml", name, shape, membership=draw(st.sampled_from(MEMBERSHIPS)))
    runs = draw(st.integers(0, 3)) == 0
    return TaskSeen(replace(task, state=State.RUNNING, node="n1", started=1.0) if runs else task)


def facts(snapshot: Snapshot) -> tuple[object, ...]:
    """Return everything that a group can change."""
    gangs, tasks = snapshot.gangs, snapshot.tasks
    return gangs.gangs, gangs.running.tolist(), gangs.count.tolist(), tasks.uids, tasks.gang.tolist()


@given(st.lists(groups() | pods() | st.none(), max_size=30))
def test_a_world_kept_up_to_date_equals_one_built_from_a_fresh_list(events: list[Event | None]) -> None:
    """None stands for a cycle in between, after which only what changed is worked out again."""
    world = World()
    world.apply(NodeSeen(NODE))
    for event in events:
        if event is None:
            world.compile(1.0)
        else:
            world.apply(event)
    fresh = World()
    for task in reversed(list(world.tasks.values())):
        fresh.apply(TaskSeen(task))
    for bad in world.refused.values():
        fresh.apply(bad)
    for seen in world.groups.values():
        fresh.apply(seen)
    fresh.apply(NodeSeen(NODE))
    assert facts(world.compile(2.0)) == facts(fresh.compile(2.0))


@given(st.lists(groups() | pods(), max_size=20))
def test_nothing_of_a_group_that_is_missing_or_held_is_bound_and_no_group_is_split(events: list[Event]) -> None:
    """Looked up here by hand, from the objects."""
    world = World()
    for event in (NodeSeen(NODE), *events):
        world.apply(event)
    snapshot = world.compile(10.0)
    plan = decide(snapshot, DEFAULT)
    check(snapshot, DEFAULT, plan)
    bound = {bind.uid for bind in plan.binds}
    for uid in bound:
        said = world.tasks[uid].membership
        if said is None or said.owner is None:
            continue
        found = [one for one in world.groups[said.owner].groups if one.name == said.group]
        assert len(found) == 1
        assert found[0].hold is None
        assert said.owner not in world.refused
        mates = [task for task in world.tasks.values() if task.membership and task.membership.gang == said.gang]
        there = sum(task.uid in bound or task.state is State.RUNNING for task in mates)
        assert there >= (said.minimum or found[0].minimum or 1)
