"""A minimum of groups: so many subgroups start, each whole; the others follow whole, or wait."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.engine import invariants
from phalanx.engine.invariants import Violation
from phalanx.loop import Loop
from phalanx.model.events import GroupsSeen, NodeSeen, TaskGone, TaskSeen
from phalanx.model.gang import Group, Membership, Subgroup, lacking, leaves
from phalanx.model.node import Node
from phalanx.model.plan import Bind, Plan, Wait
from phalanx.model.reference import Reference
from phalanx.model.task import Shape, State, Task
from phalanx.testing.policies import policy_with
from phalanx.world.world import World

RACK = "topology.kubernetes.io/rack"
OWNER = Reference("Squad", "ns/g")
POLICY = policy_with("node_ready", "resource_fit", "gang")


def part(name: str, minimum: int = 0, *children: Subgroup, groups: int | None = None, rack: bool = False) -> Subgroup:
    return Subgroup(name, minimum, children, "rack" if rack else None, groups=groups)


class Cluster:
    """Racks of one node each, and one gang whose members take a GPU each."""

    def __init__(self, racks: Mapping[str, int], *parts: Subgroup, groups: int | None, minimum: int = 1) -> None:
        self.world = World()
        for name, gpus in racks.items():
            self.world.apply(NodeSeen(Node(name, "", {"gpu": gpus, "pods": 99}, {RACK: name})))
        least = max(minimum, lacking(parts, groups, {}))
        group = Group("g", least, subgroups=parts, groups=groups, disrupted_singly=True)
        self.world.apply(GroupsSeen(OWNER, (group,)))

    def member(self, name: str, of: str, on: str | None = None) -> None:
        said = Membership("ns/g", None, subgroup=of, owner=OWNER, group="g")
        state = State.RUNNING if on else State.PENDING
        shape = Shape(requests=(("gpu", 1), ("pods", 1)))
        task = Task(uid=name, name=name, namespace="ns", shape=shape, membership=said, state=state, node=on)
        self.world.apply(TaskSeen(task))

    def members(self, **counts: int) -> "Cluster":
        for name, count in counts.items():
            for at in range(count):
                self.member(f"{name}-{at}", name)
        return self

    def plan(self, now: float = 1.0) -> tuple[dict[str, list[str]], list[str]]:
        """Decide; return who starts, by subgroup, and why others wait. The plan is checked on the way."""
        snapshot = self.world.compile(now)
        plan = Loop(self.world, POLICY).cycle(now).plan
        invariants.check(snapshot, POLICY, plan)
        found: dict[str, list[str]] = {}
        for step in plan.steps:
            if isinstance(step, Bind):
                name = step.task.partition("/")[2]
                found.setdefault(name.partition("-")[0], []).append(f"{name} {step.node}")
        return found, [step.reason.text for step in plan.steps if isinstance(step, Wait)]


PARTS = [part("a", 2), part("b", 2), part("c", 2)]


def test_two_of_three_groups_start_whole_and_the_third_follows_whole_where_there_is_room() -> None:
    small = Cluster({"r": 5}, *PARTS, groups=2).members(a=2, b=2, c=2)
    started, why = small.plan()
    assert {name: len(tasks) for name, tasks in started.items()} == {"a": 2, "b": 2}
    assert why == ["2 needed together, 1 fit: 1 of 1 node has room, short of gpu (most free on one node: 1 of 5)"]
    large = Cluster({"r": 6}, *PARTS, groups=2).members(a=2, b=2, c=2)
    assert {name: len(tasks) for name, tasks in large.plan()[0].items()} == {"a": 2, "b": 2, "c": 2}


def test_a_group_whose_members_are_not_there_is_passed_over() -> None:
    started, _ = Cluster({"r": 9}, *PARTS, groups=2).members(a=1, b=2, c=2).plan()
    assert {name: len(tasks) for name, tasks in started.items()} == {"b": 2, "c": 2}
    started, why = Cluster({"r": 9}, *PARTS, groups=2).members(a=1, b=2, c=1).plan()
    assert (started, why) == ({}, ["1 of 2 groups are there: 1 of 2 members of subgroup a are there"])


def test_without_the_minimum_of_groups_nothing_starts() -> None:
    started, why = Cluster({"r": 3}, *PARTS, groups=2).members(a=2, b=2, c=2).plan()
    assert started == {}
    assert len(why) == 1
    assert why[0].startswith("4 needed together, 3 fit")


def test_a_group_beyond_its_minimum_grows_one_by_one_only_when_it_is_whole() -> None:
    started, _ = Cluster({"r": 5}, *PARTS, groups=1).members(a=4, b=2, c=1).plan()
    assert {name: len(tasks) for name, tasks in started.items()} == {"a": 3, "b": 2}


def test_groups_of_groups_have_a_minimum_on_each_level_and_racks_of_their_own() -> None:
    """Two of three replicas, each of a head and at least one of two workers groups in one rack."""

    def replica(name: str) -> Subgroup:
        workers = part(f"{name}w", 0, part(f"{name}x", 2), part(f"{name}y", 1), groups=1)
        return part(name, 0, part(f"{name}h", 1), workers, rack=True)

    replicas = [replica(name) for name in "pqr"]
    counts = {f"{name}{one}": size for name in "pqr" for one, size in (("h", 1), ("x", 2), ("y", 1))}
    started, _ = Cluster({"r1": 3, "r2": 3, "r3": 2}, *replicas, groups=2).members(**counts).plan()
    where = {name: {line.split()[1] for line in lines} for name, lines in started.items()}
    assert {name: len(started[name]) for name in ("ph", "px", "qh", "qx")} == {"ph": 1, "px": 2, "qh": 1, "qx": 2}
    assert where["ph"] == where["px"] != where["qh"] == where["qx"]


def test_a_running_group_is_repaired_before_another_one_starts() -> None:
    cluster = Cluster({"r": 4}, *PARTS, groups=2)
    for name, on in (("b-0", "r"), ("b-1", None), ("a-0", None), ("a-1", None), ("c-0", "r"), ("c-1", "r")):
        cluster.member(name, name[0], on)
    assert cluster.plan()[0] == {"b": ["b-1 r"]}


def test_of_running_groups_none_is_stale_while_enough_of_them_are_whole() -> None:
    cluster = Cluster({"r": 6}, *PARTS, groups=2).members(a=2, b=2, c=2)
    cluster.plan()
    cluster.world.apply(TaskGone("c-0"))
    running = cluster.world.compile(2.0).running
    assert all(running.minimum <= running.count)


def test_the_check_of_plans_refuses_a_group_that_would_be_split() -> None:
    cluster = Cluster({"r": 9}, *PARTS, groups=1).members(a=2, b=2)
    snapshot = cluster.world.compile(1.0)

    def binds(*names: str) -> Plan:
        tasks = [cluster.world.tasks[name] for name in names]
        return Plan(1.0, tuple(Bind(task.full_name, task.uid, "r", "ns/g", "Squad/ns/g") for task in tasks))

    invariants.check(snapshot, POLICY, binds("b-0", "b-1"))
    for wrong in (("a-0", "b-0"), ("a-0", "a-1", "b-0"), ("a-0",)):
        with pytest.raises(Violation, match=r"no (subgroup|gang) is split below its minimum"):
            invariants.check(snapshot, POLICY, binds(*wrong))


@st.composite
def games(draw: st.DrawFn) -> tuple[dict[str, int], list[int], list[int], int, bool]:
    """Racks with room; per group its minimum and its members; how many must start; and whether each is in one rack."""
    racks = {f"r{at}": draw(st.integers(0, 4)) for at in range(draw(st.integers(1, 3)))}
    minimums = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    members = [draw(st.integers(0, minimum + 1)) for minimum in minimums]
    return racks, minimums, members, draw(st.integers(1, len(minimums))), draw(st.booleans())


@given(games())
@settings(max_examples=150)
def test_the_groups_whose_turn_it_is_start_whenever_there_is_a_way(
    game: tuple[dict[str, int], list[int], list[int], int, bool],
) -> None:
    """All ways are tried by hand: the oldest groups that have their members, so many as must start."""
    racks, minimums, members, groups, near = game
    names = "abcd"[: len(minimums)]
    parts = [part(name, least, rack=near) for name, least in zip(names, minimums, strict=True)]
    cluster = Cluster(racks, *parts, groups=groups).members(**dict(zip(names, members, strict=True)))
    started, _ = cluster.plan()
    counts = Counter({name: len(lines) for name, lines in started.items()})
    able = [least for least, there in zip(minimums, members, strict=True) if there >= least]
    way = len(able) >= groups and _fits(list(racks.values()), able[:groups], near=near)
    assert bool(counts) == way, (counts, way)
    for one in leaves(tuple(parts)):
        assert counts[one.name] == 0 or counts[one.name] >= one.minimum
        assert not near or len({line.split()[1] for line in started.get(one.name, [])}) <= 1
    assert not counts or sum(counts[one.name] >= one.minimum for one in parts) >= groups


def _fits(racks: Sequence[int], wanted: Sequence[int], *, near: bool) -> bool:
    if not near:
        return sum(racks) >= sum(wanted)
    return any(
        all(sum(size for size, rack in zip(wanted, way, strict=True) if rack == at) <= room
            for at, room in enumerate(racks))
        for way in product(range(len(racks)), repeat=len(wanted))
    )  # fmt: skip
