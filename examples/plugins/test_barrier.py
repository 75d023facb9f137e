"""Stories about the barrier: the pods of a job start together, or step back and let others pass."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phalanx_examples.barrier import Barrier

from phalanx.engine.decide import decide
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.node import Node
from phalanx.model.task import Hold, Shape, Task
from phalanx.plugin_api import Seconds
from phalanx.testing import check, check_run, plan, policy_with
from phalanx.world.world import World

POLICY = policy_with("resource_fit", Barrier(), "gang", "priority", "arrival")


def test_a_job_that_does_not_know_its_size_waits_for_its_window_and_starts_together() -> None:
    job = """
        node n1 gpu=2
        pod  a  gpu=1 label:job-id=x
        pod  b  gpu=1 label:job-id=x created=4s
    """
    check(
        job,
        now="9s",
        policy=POLICY,
        expect="""
            wait a 1 held: 2 pods of job-id x came, more may within 10 s
            wait b 1 held: 2 pods of job-id x came, more may within 10 s
        """,
    )
    check(job, "bind a n1 \n bind b n1", POLICY, now="10s")


def test_a_job_that_knows_its_size_starts_as_soon_as_all_are_there() -> None:
    check_run(
        given="""
            node n1 gpu=3
            pod  a  gpu=1 label:job-id=x label:job-size=2 runtime=1h
            pod  b  gpu=1 label:job-id=x label:job-size=2 runtime=1h created=4s
        """,
        policy=POLICY,
        expect="""
            at 0s
            wait a 1 held: 1 of 2 pods of job-id x came
            at 4s
            bind a n1
            bind b n1
        """,
    )


def test_a_job_whose_pods_do_not_come_in_time_steps_back_and_others_pass() -> None:
    check(
        given="""
            node n1    gpu=2
            pod  a     gpu=1 label:job-id=x label:job-size=3
            pod  b     gpu=1 label:job-id=x label:job-size=3
            pod  other gpu=2 created=10s
        """,
        policy=POLICY,
        expect="""
            wait a     1 held: 2 of 3 pods of job-id x came within 10 s: stepping back
            wait b     1 held: 2 of 3 pods of job-id x came within 10 s: stepping back
            bind other n1
        """,
    )


def test_none_starts_when_not_all_fit_and_what_was_tried_is_free_again() -> None:
    check(
        given="""
            node n1    gpu=2
            pod  j1..j3 gpu=1 label:job-id=x label:job-size=3
            pod  other gpu=2 created=1s
        """,
        policy=POLICY,
        expect="""
            wait j1    1 full: 3 pods of job-id x start together, 2 fit; for the next …
            wait j2    1 full: 3 pods of job-id x start together, 2 fit; for the next …
            wait j3    1 full: 3 pods of job-id x start together, 2 fit; for the next …
            bind other n1
        """,
    )


def test_a_job_that_stepped_back_starts_when_there_is_room_for_all_of_it() -> None:
    check_run(
        given="""
            node n1   gpu=3
            pod  old  gpu=2 runtime=1m
            pod  a    gpu=1 label:job-id=x label:job-size=2 runtime=1h created=5s
            pod  b    gpu=1 label:job-id=x label:job-size=2 runtime=1h created=5s
        """,
        policy=POLICY,
        expect="""
            at 0s
            bind old n1
            at 5s
            wait a 1 full: 2 pods of job-id x start together, 1 fit; for the next …
            wait b 1 full: 2 pods of job-id x start together, 1 fit; for the next …
            at 1m
            bind a n1
            bind b n1
        """,
    )


def test_pods_of_different_sizes_are_tried_in_the_order_in_which_they_would_start() -> None:
    """The small one is older and takes the only node that could hold the large one: so neither starts."""
    check(
        given="""
            node n1    gpu=2
            node n2    gpu=1
            pod  small gpu=1 label:job-id=x label:job-size=2
            pod  large gpu=2 label:job-id=x label:job-size=2 created=1s
        """,
        policy=POLICY,
        expect="""
            wait small 1 full: 2 pods of job-id x start together, 1 fit; for the next …
            wait large 1 full: 2 pods of job-id x start together, 1 fit; for the next …
        """,
    )


def test_who_came_between_the_pods_of_a_job_does_not_take_the_room_that_was_found_for_it() -> None:
    check(
        given="""
            node n1    gpu=2
            pod  a     gpu=1 label:job-id=x label:job-size=2
            pod  other gpu=1 created=1s
            pod  b     gpu=1 label:job-id=x label:job-size=2 created=2s
        """,
        policy=POLICY,
        expect="""
            bind a n1
            bind b n1
            wait other 1 full: …
        """,
    )


def test_two_jobs_of_the_same_moment_do_not_mix() -> None:
    check(
        given="""
            node n1  gpu=3
            pod  a   gpu=1 label:job-id=x label:job-size=2
            pod  b   gpu=1 label:job-id=y label:job-size=2
            pod  c   gpu=1 label:job-id=x label:job-size=2
            pod  d   gpu=1 label:job-id=y label:job-size=2
        """,
        policy=POLICY,
        expect="""
            bind a n1
            bind c n1
            wait b 1 full: 2 pods of job-id y start together, 1 fit; for the next …
            wait d 1 full: 2 pods of job-id y start together, 1 fit; for the next …
        """,
    )


def test_equal_ids_in_two_namespaces_are_two_jobs() -> None:
    check(
        given="""
            node n1 gpu=2
            pod  a  gpu=1 label:job-id=x label:job-size=2
            pod  b  gpu=1 label:job-id=x label:job-size=2 namespace=team
        """,
        policy=POLICY,
        expect="""
            wait a      1 held: 1 of 2 pods of job-id x came
            wait team/b 1 held: 1 of 2 pods of job-id x came
        """,
    )


def test_gangs_keep_their_own_rules_whatever_their_labels_say() -> None:
    given = "node n1 gpu=2 \n gang g members=1 gpu=1 label:job-id=x label:job-size=5"
    check(given, "bind g-0 n1", POLICY)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("priority=1", "priority=1", None),
        ("priority=1", "priority=2", "the pods of job-id x differ in priority, so that others would come between them"),
        ("label:job-size=2", "", "label job-size of job-id x: found '', '2', allowed is one whole number"),
        ("label:job-size=a", "label:job-size=a", "label job-size of job-id x: found 'a', allowed is one whole number"),
    ],
)
def test_pods_that_contradict_each_other_are_held_and_told_why(one: str, other: str, said: str | None) -> None:
    pods = f"pod a gpu=1 label:job-id=x {one} \n pod b gpu=1 label:job-id=x {other}"
    decided = plan(f"node n1 gpu=2 \n {pods}", POLICY, now="10s")
    assert {str(wait.reason) for wait in decided.waits} == ({said} if said else set())
    assert len(decided.binds) == (0 if said else 2)


def test_a_pod_that_is_held_holds_its_job() -> None:
    world = World(POLICY.label_keys)
    world.apply(NodeSeen(Node("n1", allocatable={"pods": 9})))
    for name, hold in (("a", None), ("b", Hold("spec.schedulingGates", "gated"))):
        labels = {"job-id": "x", "job-size": "2"}
        world.apply(TaskSeen(Task(name, "default", name, Shape((("pods", 1),)), labels=labels, hold=hold)))
    decided = decide(world.compile(0.0), POLICY)
    said = {wait.gang: str(wait.reason) for wait in decided.waits}
    assert said["default/a"] == "default/b of job-id x is held: spec.schedulingGates: gated"
    assert decided.binds == ()


def test_the_window_is_an_argument() -> None:
    given = "node n1 gpu=1 \n pod a gpu=1 label:job-id=x"
    check(
        given, "bind a n1", policy_with("resource_fit", Barrier(Seconds(3.0)), "gang", "priority", "arrival"), now="3s"
    )


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.lists(st.tuples(st.sampled_from("xyz"), st.integers(1, 3), st.integers(0, 3)), max_size=9),
)
def test_whatever_comes_a_job_starts_whole_or_not_at_all(nodes: list[int], pods: list[tuple[str, int, int]]) -> None:
    """`z` is no job: pods of all sizes and ages beside the jobs."""
    lines = [f"node n{number} gpu={gpus}" for number, gpus in enumerate(nodes)]
    jobs: defaultdict[str, set[str]] = defaultdict(set)
    for number, (job, gpus, created) in enumerate(pods):
        label = "" if job == "z" else f"label:job-id={job}"
        lines.append(f"pod p{number} gpu={gpus} created={created}s {label}")
        jobs[job].add(f"default/p{number}")
    bound = {bind.task for bind in plan("\n".join(lines), POLICY, now="20s").binds}
    assert [job for job in "xy" if jobs[job] & bound not in (set(), jobs[job])] == []
