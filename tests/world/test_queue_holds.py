"""Which queue a gang is in, and what it is told when it must not use it."""

from dataclasses import replace

import pytest

from phalanx.model.events import (
    Event,
    GroupsSeen,
    NamespaceSeen,
    PriorityClassGone,
    PriorityClassSeen,
    QueueGone,
    QueueSeen,
    Refused,
    TaskSeen,
)
from phalanx.model.gang import Gang, Group, Membership
from phalanx.model.queue import Queue
from phalanx.model.reference import Reference
from phalanx.model.task import Shape, Task
from phalanx.world.world import World

LABEL = "metadata.labels[phalanx.dev/queue]"
BAD = Refused("Queue", "bad", "spec.priority", "found x", queue=True)


def pod(queue: str | None = None, *, foreign: bool = False) -> Task:
    key = "kai.scheduler/queue" if foreign else "phalanx.dev/queue"
    label, field = ({key: queue}, f"metadata.labels[{key}]") if queue else ({}, None)
    return Task("p", "research", "p", Shape((("cpu", 1), ("pods", 1))), queue=queue, queue_field=field, labels=label)


def gang_of(world: World) -> Gang:
    return world.compile(0.0).gangs.gangs[0]


def told(task: Task, *events: Event) -> str | None:
    world = World()
    for event in (*events, TaskSeen(task)):
        world.apply(event)
    return gang_of(world).hold


def queues(*names: str) -> list[QueueSeen]:
    """`child<parent`"""
    return [QueueSeen(Queue(name, parent=above or None)) for name, _, above in (one.partition("<") for one in names)]


ONLY = QueueSeen(Queue("theirs", namespaces=frozenset({"dev", "art"})))
NOBODY = QueueSeen(Queue("nobody", namespaces=frozenset()))


@pytest.mark.parametrize(
    ("queue", "known", "hold"),
    [
        (None, [], None),
        ("default", [], None),
        ("x", [], f"{LABEL}: there is no Queue x"),
        ("a", queues("a"), None),
        (None, queues("a"), f"{LABEL}: missing, and there is no Queue default"),
        (None, queues("a", "default"), None),
        ("x", queues("a"), f"{LABEL}: there is no Queue x"),
        ("Team_A", queues("team-a"), f"{LABEL}: there is no Queue Team_A, did you mean team-a?"),
        ("a", queues("a", "b<a", "c<a"), f"{LABEL}: Queue a has queues below it, and pods live in leaves: b, c"),
        (
            "top",
            queues("top", *(f"q{n}<top" for n in range(9))),
            f"{LABEL}: Queue top has queues below it, and pods live in leaves: q0, q1, q2, q3, q4, and more",
        ),
        ("theirs", [ONLY], f"{LABEL}: Queue theirs does not take pods of namespace research, only those of art, dev"),
        ("nobody", [NOBODY], f"{LABEL}: Queue nobody does not take pods of namespace research, and those of no other"),
        ("bad", [BAD], f"{LABEL}: Queue bad is set aside: spec.priority: found x"),
        (None, [BAD], f"{LABEL}: missing, and there is no Queue default"),
        ("a", queues("a<b"), f"{LABEL}: Queue a is set aside: spec.parent: there is no Queue b"),
    ],
)
def test_a_pod_is_told_in_one_line_why_its_queue_does_not_take_it(
    queue: str | None, known: list[Event], hold: str | None
) -> None:
    assert told(pod(queue), *known) == hold


def test_a_namespace_names_the_queue_of_pods_that_name_none() -> None:
    labelled = NamespaceSeen("research", {"phalanx.dev/queue": "a"})
    assert told(pod(), *queues("a"), labelled) is None
    assert told(pod(), *queues("b"), labelled) == f"Namespace research: {LABEL}: there is no Queue a"
    assert told(pod("b"), *queues("b"), labelled) is None


GRANTED = QueueSeen(Queue("a", granted=True))
ALONE = "Queue a is for who was granted it, and is named by the label phalanx.dev/queue alone"


def test_a_granted_queue_is_named_only_where_the_api_server_asks_for_the_right() -> None:
    """It sees who applies our label; another system's label or object would go past it."""
    assert told(pod("a"), GRANTED) is None
    assert told(pod(), GRANTED, NamespaceSeen("research", {"phalanx.dev/queue": "a"})) is None
    assert told(pod("a", foreign=True), GRANTED) == f"metadata.labels[kai.scheduler/queue]: {ALONE}"
    owner = Reference("PodGroup.scheduling.run.ai", "research/g")
    member = replace(pod(), membership=Membership("research/g", None, owner=owner, group="g"))
    described = GroupsSeen(owner, (Group("g", 1, queue="a", queue_field="spec.queue"),))
    assert told(member, described, GRANTED) == f"{owner}: spec.queue: {ALONE}"
    default = replace(GRANTED, queue=Queue("default", granted=True))
    assert told(pod(), default) == f"{LABEL}: missing, and {ALONE.replace('Queue a', 'Queue default')}"


def test_a_foreign_label_is_named_as_it_is_written() -> None:
    assert told(pod("x", foreign=True)) == "metadata.labels[kai.scheduler/queue]: there is no Queue x"


def test_a_pod_that_names_no_queue_is_told_of_the_one_that_its_own_system_puts_it_in() -> None:
    put = replace(pod(), queue="default-queue", queue_field=None)
    assert told(put) == f"{LABEL}: missing, and there is no Queue default-queue"


def test_the_object_that_describes_a_gang_names_its_queue() -> None:
    owner = Reference("PodGroup.scheduling.run.ai", "research/g")
    member = replace(pod(), membership=Membership("research/g", None, owner=owner, group="g"))
    described = GroupsSeen(owner, (Group("g", 1, queue="a", queue_field="spec.queue"),))
    assert told(member, described, *queues("a")) is None
    assert told(member, described, *queues("b")) == f"{owner}: spec.queue: there is no Queue a"


def test_gangs_are_told_anew_when_their_queue_comes_changes_and_goes() -> None:
    world = World()
    world.apply(TaskSeen(pod("a")))
    steps: list[tuple[Event, str | None]] = [
        (QueueSeen(Queue("b")), "there is no Queue a"),
        (QueueSeen(Queue("a", parent="c")), "Queue a is set aside: spec.parent: there is no Queue c"),
        (QueueSeen(Queue("c")), None),
        (QueueSeen(Queue("d", parent="a")), "Queue a has queues below it, and pods live in leaves: d"),
        (QueueGone(Reference("Queue", "d")), None),
        (Refused("Queue", "c", "", "odd", queue=True), "Queue a is set aside: spec.parent: Queue c is set aside: odd"),
        (QueueSeen(Queue("c", uid="2")), None),
        (QueueGone(Reference("Queue", "c"), "1"), None),
        (QueueGone(Reference("Queue", "c"), "2"), "Queue a is set aside: spec.parent: there is no Queue c"),
        (QueueGone(Reference("Queue", "a")), "there is no Queue a"),
        (QueueGone(Reference("Queue", "b")), "there is no Queue a"),
    ]  # fmt: skip
    for event, hold in steps:
        world.apply(event)
        assert gang_of(world).hold == (None if hold is None else f"{LABEL}: {hold}")
    assert world.refused == {}


def test_a_priority_class_that_comes_and_goes_changes_the_gangs_that_name_it() -> None:
    owner = Reference("PodGroup.scheduling.run.ai", "research/g")
    world = World()
    world.apply(TaskSeen(replace(pod(), membership=Membership("research/g", None, owner=owner, group="g"))))
    world.apply(GroupsSeen(owner, (Group("g", 1, priority_class="high", priority_absent=50, fixed_from=100),)))
    found = []
    events: tuple[Event, ...] = (
        PriorityClassSeen("other", 7),
        PriorityClassSeen("high", 125),
        Refused("PriorityClass", "high", "value", "found x"),
        PriorityClassSeen("high", 90),
        PriorityClassGone("high"),
    )
    for event in events:
        world.apply(event)
        found.append((gang_of(world).priority, gang_of(world).preemptible))
    assert found == [(50, True), (125, False), (50, True), (90, True), (50, True)]
