"""A made-up device in one plugin, tried out: what it takes is kept and given back without a line of the plugin's own.

Nodes have network cards that are cut into virtual functions, and so much bandwidth; a pod asks for both in its labels.
The plugin declares the counts. Placing, evicting, nominating and checking them is the engine's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.engine.invariants import Violation
from phalanx.engine.invariants import check as check_plan
from phalanx.model.plan import Bind, Plan
from phalanx.model.task import State, Task
from phalanx.plugin_api import UNLIMITED, Column, Int, Plugin, Request, Session, Shape, Snapshot
from phalanx.testing import check, policy_with
from phalanx.testing.stage import Stage

FUNCTIONS, GIGABITS = "nic-functions", "nic-gigabits"


@dataclass(frozen=True, slots=True)
class NetworkCards(Plugin):
    """Count virtual functions and bandwidth, in one column with two counts per node."""

    oversubscribed: int = 1
    name: ClassVar[str] = "network_cards"
    reads_labels: ClassVar[tuple[str, ...]] = (FUNCTIONS, GIGABITS)

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        footprint = np.array([_asked(shape) for shape in snapshot.shapes], np.int64).reshape(-1, 2)
        capacity = np.array([_numbers(labels) for labels in snapshot.nodes.labels], np.int64).reshape(-1, 2)
        return [Column(self.name, footprint, capacity * np.array([1, self.oversubscribed]))]

    def room(self, session: Session, request: Request) -> Int | None:
        ask = _asked(session.snapshot.shapes[request.shape])
        rooms = [session.spare(request, count, self.name) // many for count, many in enumerate(ask) if many]
        return np.maximum(np.minimum.reduce(rooms), 0) if rooms else None

    def ceiling(self, session: Session, request: Request) -> Int:
        ask = _asked(session.snapshot.shapes[request.shape])
        has = np.array([_numbers(labels) for labels in session.snapshot.nodes.labels], np.int64).reshape(-1, 2)
        has[:, 1] *= self.oversubscribed
        rooms = [has[:, count] // many for count, many in enumerate(ask) if many]
        return np.minimum.reduce(rooms) if rooms else np.full(len(has), UNLIMITED)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        functions, gigabits = _asked(session.snapshot.shapes[request.shape])
        return [(len(nodes), f"without {functions} functions and {gigabits} Gb/s of a network card")]


def _asked(shape: Shape) -> list[int]:
    return _numbers(dict(shape.labels))


def _numbers(labels: object) -> list[int]:
    assert hasattr(labels, "get")
    return [int(labels.get(key, 0)) for key in (FUNCTIONS, GIGABITS)]


POLICY = policy_with("resource_fit", NetworkCards(), "gang", "priority", "arrival", actions=("allocate", "preempt"))
CARD = f"label:{FUNCTIONS}=4 label:{GIGABITS}=100"


def asks(functions: int, gigabits: int) -> str:
    return f"label:{FUNCTIONS}={functions} label:{GIGABITS}={gigabits}"


def test_copies_go_where_both_counts_are_left() -> None:
    check(
        given=f"""
            node n1    cpu=64 {CARD}
            node n2    cpu=64 {CARD}
            node n3    cpu=64
            pod  there cpu=1 on=n1 {asks(3, 10)}
            gang g     members=3 cpu=1 {asks(1, 40)}
            pod  none  cpu=1 created=1s
        """,
        policy=POLICY,
        expect="""
            bind g-0 n1
            bind g-1 n2
            bind g-2 n2
            bind none n1
        """,
    )


def test_pods_of_other_schedulers_take_it_too() -> None:
    check(
        given=f"""
            node n1    cpu=64 {CARD}
            pod  other cpu=1 on=n1 scheduler=default-scheduler {asks(4, 1)}
            pod  mine  cpu=1 {asks(1, 1)}
        """,
        policy=POLICY,
        expect="wait mine 1 full: 0/1 nodes: 1 without 1 functions and 1 Gb/s of a network card",
    )


def test_what_no_node_has_is_never_there() -> None:
    check(
        given=f"node n1 cpu=64 {CARD} \n pod big cpu=1 {asks(5, 1)}",
        policy=POLICY,
        expect="wait big 1 never: 0/1 nodes: 1 without 5 functions and 1 Gb/s of a network card",
    )
    argued = policy_with("resource_fit", NetworkCards(2), "gang")
    check(f"node n1 cpu=64 {CARD} \n pod big cpu=1 {asks(1, 200)}", "bind big n1", argued)


def test_an_eviction_gives_it_back_and_only_those_leave_who_hold_it() -> None:
    """`low-0` is the least important, but holds nothing that is asked for."""
    check(
        given=f"""
            node n1   cpu=64 {CARD}
            pod  low0 cpu=1 on=n1
            pod  low1 cpu=1 on=n1 priority=1 {asks(2, 10)}
            pod  low2 cpu=1 on=n1 priority=2 {asks(2, 10)}
            pod  high cpu=1 priority=9 {asks(2, 10)}
        """,
        policy=POLICY,
        expect="""
            evict low1 n1 for high: of higher priority in its queue (9)
            nominate high n1
        """,
    )


def test_a_nomination_keeps_it_until_it_lands() -> None:
    """There is cpu for `late` all the time; the functions are promised from the first cycle on."""
    check(
        given=f"""
            node n1   cpu=64 {CARD}
            pod  low  cpu=1 on=n1 {asks(4, 10)}
            pod  high cpu=1 priority=9 {asks(3, 10)}
            pod  late cpu=1 {asks(2, 10)} created=1s
        """,
        policy=POLICY,
        cycles=2,
        expect="""
            wait late 1 full: 0/1 nodes: 1 without 2 functions and 10 Gb/s of a network card
            evict low n1 for high: of higher priority in its queue (9)
            nominate high n1
            cycle 2
            bind high n1
            wait late 1 full: 0/1 nodes: 1 without 2 functions and 10 Gb/s of a network card
        """,
    )


def test_a_plan_that_takes_more_than_there_is_is_not_carried_out() -> None:
    given = f"node n1 cpu=64 {CARD} \n pod a cpu=1 {asks(3, 1)} \n pod b cpu=1 {asks(3, 1)}"
    cycle = Stage(given, POLICY).cycle()
    assert [type(step).__name__ for step in cycle.plan.steps] == ["Bind", "Wait"]
    tasks, gangs = cycle.snapshot.tasks, cycle.snapshot.gangs.gangs
    binds = [
        Bind(name, uid, "n1", gangs[gang].name, gangs[gang].key)
        for name, uid, gang in zip(tasks.names, tasks.uids, tasks.gang.tolist(), strict=True)
    ]
    check_plan(cycle.snapshot, POLICY, Plan(0.0, tuple(binds[:1])))
    with pytest.raises(Violation, match="by every filter"):
        check_plan(cycle.snapshot, POLICY, Plan(0.0, tuple(binds)))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.sampled_from(["", "on=n1", "on=n2"])), max_size=8))
@settings(max_examples=60)
def test_whatever_comes_no_card_is_given_away_twice(pods: list[tuple[int, int, str]]) -> None:
    """Counted by hand: what is there to stay, and what is promised. Pods that leave are not counted on for now."""
    lines = [f"node n1..n2 cpu=64 {CARD}"]
    there = {"n1": 0, "n2": 0}
    for number, (functions, priority, on) in enumerate(pods):
        node = on.removeprefix("on=")
        if node and there[node] + functions > 4:
            continue
        if node:
            there[node] += functions
        lines.append(f"pod p{number} cpu=1 controlled priority={priority} {on} {asks(functions, 1)}")
    stage = Stage("\n".join(lines), POLICY)
    for minute in range(4):
        stage.cycle(f"{minute}m")
        tasks = list(stage.world.tasks.values())
        for node in there:
            stays = [task for task in tasks if task.node == node and task.state is not State.RELEASING]
            leaves = [task for task in tasks if task.node == node and task.state is State.RELEASING]
            promised = [task for task in tasks if task.node is None and task.nominated == node]
            assert sum(map(_functions, [*stays, *leaves])) <= 4
            assert sum(map(_functions, [*stays, *promised])) <= 4


def _functions(task: Task) -> int:
    return int(task.labels[FUNCTIONS])
