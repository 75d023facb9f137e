"""For any small cluster with arrivals: for whom somebody is evicted lands, or the plan says what made it vain.

Within a minute or two; only a gang that lost members may keep its places for the ten minutes of every nomination.

`make properties` is the long form.
"""

import os
import sys
from dataclasses import dataclass, field, replace

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from phalanx.loop import Loop
from phalanx.model.events import Event, NodeSeen, TaskGone, TaskSeen
from phalanx.model.node import Taint
from phalanx.model.plan import Bind, Evict, Nominate, Plan, Release, Wait
from phalanx.model.selectors import HostPort
from phalanx.model.snapshot import NOMINATION_DEADLINE
from phalanx.model.task import State, Task
from phalanx.sim.cycles import carry_out, release
from phalanx.testing.stage import Stage
from phalanx.world.world import World
from tests.oracles.crowds import crowded
from tests.oracles.exhaustive import gang_name
from tests.oracles.room import CONSOLIDATE, PREEMPT, RECLAIM, STALE, policy_of, world_of

RUNS = int(os.environ.get("RUNS") or 60)
#: Runs so far; told where there are many.
PLAYED = [0]
FEW = settings(max_examples=RUNS, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
ALL = policy_of("{name: backfill}", CONSOLIDATE, RECLAIM, PREEMPT, STALE)
#: Seconds from one cycle to the next; arrivals, ends and taints come in the first cycles; so many are played.
PERIOD, EVENTFUL, CYCLES = 10.0, 12, 40
#: Within so many cycles who is promised a place lands, or the plan says why not.
SOON = 8
#: So long after them nobody may be left for whom somebody was evicted.
AT_LAST = 2 * NOMINATION_DEADLINE
PORT = st.sampled_from([(), (), (), (80,)])


@dataclass
class Run:
    """One run: who was promised a place for which somebody left, and has not landed yet."""

    #: By uid: in which cycle, and for which gang who left.
    owed: dict[str, tuple[int, str, list[str]]] = field(default_factory=dict[str, tuple[int, str, list[str]]])
    #: Releases, which name what made it vain.
    named: list[str] = field(default_factory=list[str])
    told: list[str] = field(default_factory=list[str])
    #: Gangs that wait for members who are not there, by the last plan.
    incomplete: set[str] = field(default_factory=set[str])

    def note(self, cycle: int, plan: Plan) -> None:
        """Take in a plan."""
        self.told.append(f"cycle {cycle}\n{plan.text()}")
        victims: dict[str, list[str]] = {}
        for step in plan.steps:
            if isinstance(step, Evict) and step.beneficiary is not None:
                victims.setdefault(step.beneficiary, []).append(step.task)
            elif isinstance(step, Release) and self.owed.pop(step.uid, None) is not None:
                assert step.reason
                self.named.append(step.reason)
        waits = [step for step in plan.steps if isinstance(step, Wait)]
        self.incomplete = {step.gang for step in waits if " members " in step.reason.text}
        evicted = {step.uid for step in plan.steps if isinstance(step, Evict)}
        for step in plan.steps:
            if isinstance(step, Bind):
                self.owed.pop(step.uid, None)
            elif isinstance(step, Nominate) and step.gang in victims and step.uid not in evicted:
                self.owed[step.uid] = (cycle, step.gang, victims[step.gang])

    def gone(self, uid: str) -> None:
        """Let a pod be taken away: nobody waits for it any more."""
        self.owed.pop(uid, None)


@FEW
@given(crowded(), st.data())
def test_for_whom_somebody_is_evicted_lands_or_the_plan_says_what_made_it_vain(
    events: list[Event], data: st.DataObject
) -> None:
    world, to_come = split(events, data)
    loop = Loop(world, ALL)
    run = play(loop, to_come, data)
    tell_how_far()
    late = {uid: owed for uid, owed in run.owed.items() if owed[0] < CYCLES - SOON and owed[1] not in run.incomplete}
    assert not late, "\n".join([str(late), *run.told])
    play_on(loop, run)
    for reason in run.named:
        event(reason.partition(":")[0].partition(" by ")[0][:40])
    late = {uid: owed for uid, owed in run.owed.items() if owed[0] < CYCLES}
    assert not late, "\n".join([str(late), *run.told])


def tell_how_far() -> None:
    PLAYED[0] += 1
    if RUNS >= 1000 and PLAYED[0] % 100 == 0:
        print(f"{PLAYED[0]:,} runs", file=sys.stderr, flush=True)  # noqa: T201 (a progress line)


def split(events: list[Event], data: st.DataObject) -> tuple[World, list[tuple[int, Task]]]:
    """Return the world with who runs, and who waits with the cycle in which it arrives, gang by gang."""
    tasks = [one.task for one in events if isinstance(one, TaskSeen)]
    running = {gang_name(task) for task in tasks if task.node}
    arrives = {
        name: data.draw(st.integers(0, EVENTFUL))
        for name in dict.fromkeys(map(gang_name, tasks))
        if name not in running
    }
    ports = {name: data.draw(PORT) for name in arrives}
    there = [one for one in events if not isinstance(one, TaskSeen) or gang_name(one.task) in running]
    to_come = [(arrives[gang_name(task)], with_port(task, ports)) for task in tasks if gang_name(task) in arrives]
    return world_of(there), to_come


def with_port(task: Task, ports: dict[str, tuple[int, ...]]) -> Task:
    """Return the task with the host port that its gang has."""
    own = tuple(HostPort(port) for port in ports[gang_name(task)])
    return replace(task, shape=replace(task.shape, host_ports=own)) if own else task


def play(loop: Loop, to_come: list[tuple[int, Task]], data: st.DataObject) -> Run:
    """Decide when it is due, without a broken plan; some who run end, and a node may be tainted."""
    run, world = Run(), loop.world
    tainted = data.draw(st.none() | st.tuples(st.integers(1, EVENTFUL), st.sampled_from(sorted(world.nodes))))
    for cycle in range(CYCLES):
        now = time_of(cycle)
        release(world, now)
        for at, task in to_come:
            if at == cycle:
                world.apply(TaskSeen(replace(task, created=now)))
        if tainted is not None and tainted[0] == cycle:
            node = world.nodes[tainted[1]]
            world.apply(NodeSeen(replace(node, taints=(Taint("broken", "", "NoSchedule"),))))
        if cycle < EVENTFUL and data.draw(st.integers(0, 5)) == 5:
            there = sorted(uid for uid, task in world.tasks.items() if task.state is State.RUNNING)
            for uid in data.draw(st.sets(st.sampled_from(there), max_size=1)) if there else ():
                world.apply(TaskGone(uid))
                run.gone(uid)
        decide(loop, run, cycle)
    return run


def play_on(loop: Loop, run: Run) -> None:
    """Go on, while somebody is promised a place for which somebody left; nothing happens any more."""
    cycle = CYCLES
    while run.owed and time_of(cycle) < time_of(CYCLES) + AT_LAST:
        release(loop.world, time_of(cycle))
        decide(loop, run, cycle)
        cycle += 1


def time_of(cycle: int) -> float:
    return 10.0 + cycle * PERIOD


def decide(loop: Loop, run: Run, cycle: int) -> None:
    """Decide if it is due, and let every step of the plan succeed."""
    if loop.due(time_of(cycle)) is None:
        return
    decided = loop.cycle(time_of(cycle))
    assert decided.broken == (), "\n".join([*map(str, decided.broken), *run.told])
    run.note(cycle, decided.plan)
    carry_out(loop.world, decided.plan)


def test_nobody_leaves_for_a_gang_of_which_a_member_is_only_being_moved() -> None:
    """Gang e may have one pod: e-0 comes back on n3, and then e-1 has no use for the place of low."""
    stage = Stage(
        """
        node  n0    gpu=2
        node  n1    gpu=1
        node  n3    gpu=2
        pod   x     gpu=1 on=n3 preemptible=false priority=5
        pod   low   gpu=1 on=n1
        gang  e     members=1 minimum=1 maximum=1 gpu=1 priority=1 on=n0
        gang  e     members=1 gpu=1 priority=1 created=10s
        pod   big   gpu=2 priority=2 created=1m
        """,
        policy_of(CONSOLIDATE, PREEMPT),
    )
    stage.check("1m", "wait e 1 held: …\nevict e-0 n0 for big: moved …\nnominate big n0\nnominate e-0 n3")
    stage.check("70s", "wait e 1 held: …\nnominate big n0")
    stage.check("2m", "bind big n0\nbind e-0 n3\nwait e 1 held: …")
    assert stage.pod("low").state is State.RUNNING


def test_what_a_gang_has_beyond_its_minimum_takes_its_promise_after_the_minimum() -> None:
    """On n2 one GPU is free before the others: it is the minimum's, whose other place is free too."""
    stage = Stage(
        """
        node  n1   gpu=1
        node  n2   gpu=3
        pod   x    gpu=1 on=n2 preemptible=false priority=50
        pod   low  gpu=2 on=n2
        gang  g    subgroup=a members=2 subgroup-minimum=1 gpu=1 priority=9 created=1m minimum=2
        gang  g    subgroup=b members=1 subgroup-minimum=1 gpu=1 priority=9 created=1m
        """,
        policy_of(PREEMPT),
    )
    stage.check("1m", "evict low n2 for g: …\nnominate g-a-0 n1\nnominate g-b-0 n2\nnominate g-a-1 n2")
    stage.lose("x")
    stage.check("70s", "bind g-a-0 n1\nbind g-b-0 n2\nnominate g-a-1 n2")
    stage.check("2m", "bind g-a-1 n2")


def test_growth_gives_its_promise_up_while_its_gang_waits_for_its_minimum() -> None:
    """What is promised to g-a-1 brings queue q to its limit, and g-a-1 cannot start before g-b-1."""
    stage = Stage(
        """
        queue  q    limit:gpu=3
        node   n1..n3  gpu=1
        gang   g    subgroup=a members=1 subgroup-minimum=1 gpu=1 priority=9 on=n1 minimum=2 queue=q
        gang   g    subgroup=b members=1 subgroup-minimum=1 gpu=1 priority=9 on=n2 queue=q
        gang   g    subgroup=a members=1 subgroup-minimum=1 gpu=1 priority=9 created=1m queue=q
        gang   g    subgroup=b members=1 subgroup-minimum=1 gpu=1 priority=9 created=80s queue=q
        pod    low  gpu=1 on=n3 queue=q
        pod    x    gpu=1 priority=50 created=70s queue=q
        """,
        policy_of(PREEMPT),
    )
    stage.check("1m", "evict low n3 for g: …\nnominate g-a-1 n3")
    stage.lose("g-b-0")
    stage.check("70s", "bind x n2\nnominate g-a-1 n3")
    stage.check("80s", "wait g 2 held: queue q has 3 of its limit …\nrelease g-a-1 n3: the minimum of its gang waits")
    stage.check("2m", "bind g-b-1 n3\nwait g 1 held: …")
