"""Stories about the barrier: the pods of a job start together, or step back and let others pass."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from phalanx_examples.barrier import WINDOW, Barrier

from phalanx.engine.actions.allocate import Allocate
from phalanx.engine.plugins.arrival import Arrival
from phalanx.engine.plugins.gang import Gang
from phalanx.engine.plugins.priority import Priority
from phalanx.engine.plugins.resource_fit import ResourceFit
from phalanx.engine.policy import Policy, Weighted
from phalanx.loop import Loop
from phalanx.model.duration import Seconds
from phalanx.model.events import Event, NodeSeen, TaskGone, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.task import Hold, Shape, Task
from phalanx.world.world import World


def policy(window: Seconds = WINDOW) -> Policy:
    plugins = (ResourceFit(), Barrier(window), Gang(), Priority(), Arrival())
    return Policy("test", (Allocate(),), tuple(Weighted(plugin) for plugin in plugins))


def node(name: str, gpus: int) -> Event:
    return NodeSeen(Node(name, allocatable={"nvidia.com/gpu": gpus * 1000, "pods": 110}))


def pod(name: str, gpus: int, job: str | None = None, size: object = None, created: float = 0) -> Task:
    said = {"job-id": job, "job-size": size}
    labels = {key: str(value) for key, value in said.items() if value is not None}
    return Task(
        name, "default", name, Shape((("nvidia.com/gpu", gpus * 1000), ("pods", 1))), created=created, labels=labels
    )


def decided(at: Sequence[float], *things: Event | Task, by: Policy | None = None) -> list[list[str]]:
    """Return the plan of each moment; the reason of a search, which is the engine's, is cut off."""
    use = by or policy()
    world = World(use.label_keys)
    for thing in things:
        world.apply(TaskSeen(thing) if isinstance(thing, Task) else thing)
    loop = Loop(world, use)
    plans = [loop.cycle(now).text().replace("default/", "").splitlines() for now in at]
    return [[line.partition("; for the next")[0] for line in plan] for plan in plans]


def test_a_job_that_does_not_know_its_size_waits_for_its_window_and_starts_together() -> None:
    assert decided([9, 10], node("n1", 2), pod("a", 1, "x", created=0), pod("b", 1, "x", created=4)) == [
        ["wait a 1 held: 2 pods of job-id x came, more may within 10 s",
         "wait b 1 held: 2 pods of job-id x came, more may within 10 s"],
        ["bind a n1", "bind b n1"],
    ]  # fmt: skip


def test_a_job_that_knows_its_size_starts_as_soon_as_all_are_there() -> None:
    assert decided([1], node("n1", 2), pod("a", 1, "x", 2), pod("b", 1, "x", 2, created=1)) == [
        ["bind a n1", "bind b n1"]
    ]


def test_a_job_whose_pods_do_not_come_in_time_steps_back_and_others_pass() -> None:
    assert decided([5, 10], node("n1", 2), pod("a", 1, "x", 3), pod("b", 1, "x", 3), pod("other", 2, created=7)) == [
        ["wait a 1 held: 2 of 3 pods of job-id x came", "wait b 1 held: 2 of 3 pods of job-id x came", "bind other n1"],
        ["wait a 1 held: 2 of 3 pods of job-id x came within 10 s: stepping back",
         "wait b 1 held: 2 of 3 pods of job-id x came within 10 s: stepping back"],
    ]  # fmt: skip


def test_none_starts_when_not_all_fit_and_what_was_tried_is_free_again() -> None:
    job = [pod(name, 1, "x", 3) for name in "abc"]
    waits = [f"wait {name} 1 full: 3 pods of job-id x start together, 2 fit" for name in "abc"]
    assert decided([0], node("n1", 2), *job, pod("other", 2, created=1)) == [[*waits, "bind other n1"]]


def test_pods_of_different_sizes_are_tried_in_the_order_in_which_they_would_start() -> None:
    """The small one is older and takes the only node that could hold the large one: so neither starts."""
    waits = [f"wait {name} 1 full: 2 pods of job-id x start together, 1 fit" for name in ("small", "large")]
    job = pod("small", 1, "x", 2), pod("large", 2, "x", 2, created=1)
    assert decided([1], node("n1", 2), node("n2", 1), *job) == [waits]


def test_the_room_that_was_found_for_a_job_is_not_taken_by_who_came_between_its_pods() -> None:
    job = pod("a", 1, "x", 2, created=0), pod("b", 1, "x", 2, created=2)
    [plan] = decided([2], node("n1", 2), *job, pod("other", 1, created=1))
    assert plan[:2] == ["bind a n1", "bind b n1"]
    assert plan[2].startswith("wait other 1 full: ")


def test_two_jobs_of_the_same_moment_do_not_mix() -> None:
    first, second = [[pod(f"{name}-{job}", 1, job, 2) for name in "ab"] for job in "xy"]
    waits = [f"wait {name}-y 1 full: 2 pods of job-id y start together, 1 fit" for name in "ab"]
    plan = decided([0], node("n1", 3), first[0], second[0], first[1], second[1])
    assert plan == [["bind a-x n1", "bind b-x n1", *waits]]


def test_jobs_of_other_namespaces_are_others() -> None:
    elsewhere = pod("b", 1, "x", 2)
    elsewhere = replace(elsewhere, namespace="team", shape=replace(elsewhere.shape, namespace="team"))
    waits = [f"wait {name} 1 held: 1 of 2 pods of job-id x came" for name in ("a", "team/b")]
    assert decided([0], node("n1", 2), pod("a", 1, "x", 2), elsewhere) == [waits]


def test_gangs_keep_their_own_rules_whatever_their_labels_say() -> None:
    member = replace(pod("a", 1, "x", 5), membership=Membership("default/g", 1))
    assert decided([0], node("n1", 2), member) == [["bind a n1"]]


def test_a_pod_that_is_held_holds_its_job() -> None:
    gated = replace(pod("b", 1, "x", 2), hold=Hold("spec.schedulingGates", "gated"))
    [plan] = decided([0], node("n1", 2), pod("a", 1, "x", 2), gated)
    assert "wait a 1 held: b of job-id x is held: spec.schedulingGates: gated" in plan
    assert not [line for line in plan if line.startswith("bind")]


def test_pods_that_contradict_each_other_are_held_and_told_why() -> None:
    important = pod("b", 1, "x")
    important = replace(important, shape=replace(important.shape, priority=5))
    said = "the pods of job-id x differ in priority, so that others would come between them"
    assert decided([10], node("n1", 2), pod("a", 1, "x"), important) == [
        [f"wait b 1 held: {said}", f"wait a 1 held: {said}"]
    ]
    said = "label job-size of job-id x: found '2', 'two', allowed is one whole number"
    assert decided([10], node("n1", 2), pod("a", 1, "x", 2), pod("b", 1, "x", "two")) == [
        [f"wait a 1 held: {said}", f"wait b 1 held: {said}"]
    ]


def test_the_window_is_an_argument() -> None:
    assert decided([3], node("n1", 2), pod("a", 1, "x"), by=policy(Seconds(3.0))) == [["bind a n1"]]


def test_a_job_starts_once_the_room_it_stepped_back_for_is_free_again() -> None:
    use = policy()
    world = World(use.label_keys)
    for event in (node("n1", 2), TaskSeen(replace(pod("old", 2), created=-1))):
        world.apply(event)
    loop = Loop(world, use)
    assert loop.cycle(0).text() == "bind default/old n1"
    for task in (pod("a", 1, "x", 2), pod("b", 1, "x", 2)):
        world.apply(TaskSeen(task))
    assert [wait.reason.code.value for wait in loop.cycle(5).waits] == ["full", "full"]
    world.apply(TaskGone("old"))
    assert [bind.task for bind in loop.cycle(60).binds] == ["default/a", "default/b"]


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.lists(st.tuples(st.sampled_from(["x", "y", None]), st.integers(1, 3), st.integers(0, 3)), max_size=9),
)
def test_whatever_comes_a_job_starts_whole_or_not_at_all(
    nodes: list[int], pods: list[tuple[str | None, int, int]]
) -> None:
    things = [pod(f"p{number}", gpus, job, created=created) for number, (job, gpus, created) in enumerate(pods)]
    [plan] = decided([20], *(node(f"n{number}", gpus) for number, gpus in enumerate(nodes)), *things)
    bound = {line.split()[1] for line in plan if line.startswith("bind")}
    for job in "xy":
        own = {task.name for task in things if task.labels.get("job-id") == job}
        assert own <= bound or not own & bound
