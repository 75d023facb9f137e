"""Gaps before a place that is kept: used, but never at the cost of whom it is kept for."""

from dataclasses import replace

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from phalanx.engine.decide import decide
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.task import Shape, State, Task
from phalanx.policy.load import parse_policy
from phalanx.testing.scenario import check
from phalanx.world.world import World

BACKFILL = parse_policy("{extends: default, actions: [{name: allocate}, {name: backfill}]}", "backfill")
STRICT = parse_policy("{extends: default, actions: [{name: allocate, arguments: {strict: true}}]}", "strict")


def test_who_is_gone_in_time_uses_the_gap_and_who_is_not_waits() -> None:
    check(
        """
        node  n1..n2  gpu=8
        pod   r1      gpu=8 on=n1 runtime=2h
        gang  big     members=2 gpu=8 created=10m
        pod   long    gpu=1 created=20m runtime=5h
        pod   short   gpu=1 created=30m runtime=1h
        pod   silent  gpu=1 created=40m
        """,
        """
        wait big 2 full: 2 needed together, 1 fit: 1 of 2 nodes has room, 1 short of nvidia.com/gpu (most free on one \
node: 0 of 8); 2 places are kept for it, and it starts in 80 min if all ends as expected
        wait long 1 full: …
        bind short n2
        wait silent 1 full: …
        """,
        BACKFILL,
        now="40m",
    )


def test_nobody_makes_room_for_himself_on_the_place_that_is_kept_for_another() -> None:
    """Pod q claims a GPU for its queue: it gets that of p8, and the free ones of n1 stay big's."""
    check(
        """
        node  n1..n2  gpu=8
        queue a       quota:gpu=6
        queue b       quota:gpu=10
        pod   r1      gpu=6 on=n1 runtime=2h queue=a
        pod   p1..p8  gpu=1 on=n2 queue=a
        pod   big     gpu=8 created=10m queue=b priority=9 preempts=false
        pod   q       gpu=1 created=20m queue=b
        """,
        """
        wait big 1 full: 0/2 nodes: 2 short of nvidia.com/gpu (most free on one node: 2 of 8); a place is kept for it, \
and it starts in 100 min if all ends as expected; no pod is evicted for it (preemptionPolicy Never)
        evict p8 n2 for q: queue b reclaims its share
        nominate q n2
        """,
        parse_policy("{extends: default, actions: [{name: allocate}, {name: backfill}, {name: reclaim}]}", "both"),
    )


def test_what_is_left_beside_the_kept_place_is_for_everybody() -> None:
    check(
        """
        node  n1..n2  gpu=8
        pod   r1      gpu=8 on=n1 runtime=2h
        gang  big     members=2 gpu=6 created=10m
        pod   p1..p3  gpu=1 created=20m
        """,
        """
        wait big 2 full: …
        bind p1 n2
        bind p2 n2
        wait p3 1 full: …
        """,
        BACKFILL,
    )


def test_nodes_that_are_not_kept_are_for_everybody() -> None:
    check(
        """
        node  n1..n3  gpu=8
        pod   r1      gpu=8 on=n1 runtime=1h
        pod   r2      gpu=6 on=n2 runtime=9h
        gang  big     members=2 gpu=8 created=10m
        pod   long    gpu=2 created=20m runtime=9h
        """,
        """
        wait big 2 full: … 40 min if all ends as expected
        bind long n2
        """.replace(
            "full: … 40 min",
            "full: 2 needed together, 1 fit: 1 of 3 nodes has room, 2 short of nvidia.com/gpu "
            "(most free on one node: 2 of 8); 2 places are kept for it, and it starts in 40 min",
        ),
        BACKFILL,
    )


def test_without_a_known_end_nothing_is_kept_and_others_pass() -> None:
    check(
        """
        node  n1..n2  gpu=8
        pod   r1      gpu=8 on=n1
        gang  big     members=2 gpu=8 created=10m
        pod   p       gpu=1 created=20m
        """,
        """
        wait big 2 full: …
        bind p n2
        """,
        BACKFILL,
    )


def test_strict_means_that_nobody_is_passed_over_in_his_queue() -> None:
    check(
        """
        node  n1      gpu=8
        queue a       quota:gpu=4
        queue b       quota:gpu=4
        pod   r       gpu=4 on=n1 queue=b
        pod   big     gpu=8 queue=a
        pod   small   gpu=1 queue=a created=1m
        pod   other   gpu=1 queue=b created=1m
        """,
        """
        bind other n1
        wait big 1 full: …
        wait small 1 full: behind big, which finds no place (allocate is strict)
        """,
        STRICT,
    )


def _pod(name: str, gpus: int, runtime: int | None, node: str | None, created: float) -> Task:
    shape = Shape((("nvidia.com/gpu", gpus * 1000), ("pods", 1)))
    task = Task(name, "d", name, shape, created=created, expected_runtime=runtime)
    return task if node is None else replace(task, state=State.RUNNING, node=node, started=0.0)


#: When what ends where, and how many GPUs it gives back.
Ends = list[tuple[float, str, int]]


def _first_start(ends: Ends, free: dict[str, int], gpus: int, members: int) -> float | None:
    """Return the first moment at which the gang fits, if all ends as expected."""
    for moment in sorted({end for end, _, _ in ends}):
        back = {node: sum(size for end, at, size in ends if at == node and end <= moment) for node in free}
        if sum((room + back[node]) // gpus for node, room in free.items()) >= members:
            return moment
    return None


def _cluster(running: list[tuple[int, int | None, int]]) -> tuple[World, dict[str, int], Ends]:
    """Return three nodes of 4 GPUs with as many of these pods as fit, what is free, and what ends when."""
    free = {f"n{number}": 4 for number in range(3)}
    world = World()
    world.look_for_victims(wanted=True)
    for name in free:
        world.apply(NodeSeen(Node(name, allocatable={"nvidia.com/gpu": 4000, "pods": 50})))
    ends: Ends = []
    for number, (size, runtime, at) in enumerate(running):
        node = f"n{at}"
        if free[node] >= size:
            free[node] -= size
            world.apply(TaskSeen(_pod(f"r{number}", size, runtime, node, 0.0)))
            ends += [] if runtime is None else [(float(runtime), node, size)]
    return world, free, ends


# Most clusters have room for the gang at once: these are no examples, however they are drawn.
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.integers(2, 4), st.sampled_from([100, 200, 300, None]), st.integers(0, 2)), min_size=3, max_size=6
    ),
    st.integers(1, 3),
    st.integers(2, 4),
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from([None, 50, 150, 400])), max_size=5),
)
def test_backfill_never_delays_the_gang_for_which_a_place_is_kept(
    running: list[tuple[int, int | None, int]], members: int, gpus: int, others: list[tuple[int, int | None]]
) -> None:
    """The first moment at which it fits, if all ends as expected, is no later with the others than without them."""
    world, free, ends = _cluster(running)
    said = Membership("d/big", members)
    for number in range(members):
        world.apply(TaskSeen(replace(_pod(f"big-{number}", gpus, None, None, 1.0), membership=said)))
    for number, (size, runtime) in enumerate(others):
        world.apply(TaskSeen(_pod(f"o{number}", size, runtime, None, 2.0 + number)))
    now = 10.0
    plan = decide(world.compile(now), BACKFILL)
    before = _first_start(ends, free, gpus, members)
    assume(before is not None and all(bind.gang != "d/big" for bind in plan.binds))
    for bind in plan.binds:
        task = world.tasks[bind.uid]
        size = dict(task.shape.requests)["nvidia.com/gpu"] // 1000
        free[bind.node] -= size
        ends += [] if task.expected_runtime is None else [(now + task.expected_runtime, bind.node, size)]
    after = _first_start(ends, free, gpus, members)
    assert before is not None
    assert after is not None
    assert after <= max(before, now)
