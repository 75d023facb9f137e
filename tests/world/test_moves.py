"""Who is moved has a place until he is back: nobody takes it, and no queue forgets that it has it."""

from dataclasses import replace

import pytest

from phalanx.loop import Loop
from phalanx.model.events import Event, NodeSeen, QueueSeen, TaskGone, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.outcome import Evicted, Result
from phalanx.model.queue import Queue, Terms
from phalanx.model.task import Shape, State, Task
from phalanx.world.moves import STUCK, SUCCESSOR_DEADLINE
from tests.oracles.room import CONSOLIDATE, policy_of, world_of

GPU = "nvidia.com/gpu"


def pod(name: str, gpus: int, on: str | None = None, **more: object) -> Task:
    shape = Shape(((GPU, gpus * 1000), ("pods", 1)))
    state, started = (State.RUNNING, 1.0) if on else (State.PENDING, None)
    task = Task(name, "default", name, shape, state, on, created=1.0, started=started, owner="set")
    return replace(task, **more)  # type: ignore[arg-type]


class Story:
    """Two nodes of four GPUs, half of each in use; a pod of four comes, and one of two is moved for it."""

    def __init__(self, *more: Event, queue: str | None = None, **small: object) -> None:
        nodes = [NodeSeen(Node(name, allocatable={GPU: 4000, "pods": 20})) for name in ("n1", "n2")]
        self.small = pod("small", 2, "n1", queue=queue, **small)
        fixed, big = pod("fixed", 2, "n2", queue=queue, preemptible=False), pod("big", 4, queue=queue, owner=None)
        self.world = world_of([*nodes, *more, *map(TaskSeen, (self.small, fixed, big))])
        self.loop = Loop(self.world, policy_of(CONSOLIDATE))
        assert self.steps(100.0) == [
            "evict default/small n1 for default/big", "nominate default/big n1", "nominate default/small n2"
        ]  # fmt: skip

    def steps(self, now: float) -> list[str]:
        return [step.text().partition(":")[0] for step in self.loop.cycle(now).plan.steps]

    def comes(self, *tasks: Task) -> None:
        for task in tasks:
            self.world.apply(TaskSeen(task))


RIVAL = pod("a-rival", 2, owner="other", created=0.0)


def test_his_place_is_kept_while_he_leaves_and_goes_to_the_pod_that_his_controller_makes() -> None:
    story = Story()
    story.comes(RIVAL)
    waits = ["nominate default/big n1", "wait default/a-rival 1 full"]
    assert sorted(story.steps(101.0)) == waits
    story.world.apply(TaskGone("small"))
    assert sorted(story.steps(130.0)) == ["bind default/big n1", "wait default/a-rival 1 full"]
    story.comes(pod("small-again", 2))
    assert sorted(story.steps(131.0)) == ["bind default/small-again n2", "wait default/a-rival 1 full"]


def test_a_controller_may_make_the_next_pod_before_the_first_is_gone() -> None:
    story = Story()
    story.comes(RIVAL, pod("small-again", 2))
    assert sorted(story.steps(101.0)) == [
        "bind default/small-again n2", "nominate default/big n1", "wait default/a-rival 1 full"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "other", [pod("other", 2, owner="other"), pod("other", 1), pod("other", 2, ours=False)], ids=str
)
def test_nobody_else_takes_it(other: Task) -> None:
    story = Story()
    story.comes(other)
    story.steps(101.0)
    assert (story.world.tasks["other"].node, story.world.tasks["other"].nominated) == (None, None)


def test_whoever_is_back_under_his_own_uid_has_it_too() -> None:
    story = Story(owner="")
    story.comes(replace(story.small, state=State.RELEASING, gone_at=110.0), RIVAL)
    story.steps(101.0)
    story.comes(replace(story.small, state=State.PENDING, node=None, started=None))
    assert sorted(story.steps(120.0)) == [
        "bind default/big n1", "bind default/small n2", "wait default/a-rival 1 full"
    ]  # fmt: skip


def test_it_is_given_back_when_nobody_comes_for_it() -> None:
    story = Story()
    story.comes(RIVAL)
    story.world.apply(TaskGone("small"))
    story.steps(130.0)
    story.steps(131.0)
    assert not story.world.due(130.0 + SUCCESSOR_DEADLINE - 1)
    assert story.world.due(130.0 + SUCCESSOR_DEADLINE)
    assert story.steps(130.0 + SUCCESSOR_DEADLINE) == ["bind default/a-rival n2"]


def test_it_is_given_back_when_he_stays_after_all_or_never_goes() -> None:
    stays, stuck = Story(), Story()
    stays.world.confirm(Evicted("small", Result.REFUSED))
    # What is promised to big is given up too, since small stays where that place is. Two of n1 are free from then on.
    for story, now in ((stays, 101.0), (stuck, 100.0 + stuck.small.grace + STUCK)):
        story.comes(RIVAL)
        assert sorted(story.steps(now)) == [
            "bind default/a-rival n1", "release default/big n1", "wait default/big 1 full"
        ]  # fmt: skip


def test_his_queue_has_what_is_kept_for_him() -> None:
    """Fixed and small have four GPUs of it, wherever small is; big has none yet."""
    story = Story(QueueSeen(Queue("q", terms={GPU: Terms(quota=8000)})), queue="q")
    for now, gone in ((101.0, "nobody"), (130.0, "small")):
        story.world.apply(TaskGone(gone))
        assert story.world.compile(now).queues.allocated.tolist() == [[4000]]
    story.world.compile(130.0 + SUCCESSOR_DEADLINE)
    assert story.world.compile(131.0 + SUCCESSOR_DEADLINE).queues.allocated.tolist() == [[2000]]


def test_his_queue_has_it_still_when_it_lists_other_resources() -> None:
    story = Story(QueueSeen(Queue("q", terms={GPU: Terms(quota=8000)})), queue="q")
    story.world.apply(TaskGone("small"))
    story.world.compile(130.0)
    story.world.apply(QueueSeen(Queue("q", terms={GPU: Terms(quota=8000), "zpu": Terms(quota=9)})))
    assert story.world.compile(131.0).queues.allocated.tolist() == [[4000, 0]]


def test_a_pod_that_never_goes_does_not_keep_a_place_for_ever() -> None:
    """Its node is lost, so nobody tells of its end."""
    story = Story()
    story.comes(RIVAL)
    late = 100.0 + story.small.grace + STUCK
    story.steps(101.0)
    assert sorted(story.steps(late - 1)) == ["nominate default/big n1", "wait default/a-rival 1 full"]
    assert story.world.due(late)
    assert "bind default/a-rival n1" in story.steps(late)
    assert not story.world.moves.places


def test_a_gang_that_is_moved_comes_back_whole_though_another_waits_for_the_same_nodes() -> None:
    said = Membership("default/g", 2)
    nodes = [NodeSeen(Node(name, allocatable={GPU: 4000, "pods": 20})) for name in ("n1", "n2", "n3")]
    gang = [pod(f"g-{n}", 1, f"n{n}", membership=said) for n in (1, 2)]
    fixed = [pod("fixed", 2, "n3", preemptible=False), pod("fast", 3, "n2", preemptible=False)]
    world = world_of([*nodes, *map(TaskSeen, [*gang, *fixed, pod("big", 4, owner=None)])])
    loop = Loop(world, policy_of(CONSOLIDATE))
    loop.cycle(100.0)
    kept = {uid: move.node for uid, move in world.moves.places.items()}
    assert sorted(kept) == ["g-1", "g-2"]
    world.apply(TaskSeen(pod("rival", 2, owner="other", created=0.0)))
    for task in gang:
        world.apply(TaskGone(task.uid))
        loop.cycle(130.0)
    assert world.tasks["rival"].node is None
    for number in (1, 2):
        world.apply(TaskSeen(pod(f"h-{number}", 1, membership=said)))
        loop.cycle(131.0)
    assert [world.tasks[f"h-{number}"].state for number in (1, 2)] == [State.BINDING] * 2
