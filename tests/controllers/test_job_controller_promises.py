"""Whatever happens, and wherever its controller is killed, a Job ends as without kills, and leaves nothing behind."""

import copy
import random
from collections.abc import Iterator
from itertools import count, repeat
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.controllers.pretend import Pretend, on, task

EVENTS = ["PodFailed", "PodEvicted", "TaskCompleted", "TaskFailed", "*"]
ACTIONS = ["AbortJob", "RestartJob", "RestartTask", "RestartPod", "TerminateJob", "CompleteJob"]
PODS = ["a-0", "a-1", "b-0", "b-1"]

policies = st.lists(
    st.builds(on, st.sampled_from(ACTIONS), st.sampled_from(EVENTS)), max_size=2, unique_by=lambda one: one["event"]
).filter(lambda found: len(found) < 2 or all(one["event"] != "*" for one in found))


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    tasks = [task("a", draw(st.integers(1, 2)), policies=draw(policies)), task("b", draw(st.integers(0, 2)))]
    if draw(st.booleans()):
        tasks[1]["dependsOn"] = {"name": ["a"]}
    total = sum(one["replicas"] for one in tasks)
    least, retries = draw(st.integers(1, total)), draw(st.integers(1, 4))
    plugins: dict[str, list[str]] = draw(st.sampled_from([{}, {"svc": [], "env": []}]))
    success: dict[str, int] = draw(st.sampled_from([{}, {}, {"minSuccess": 1}]))
    return success | {
        "tasks": tasks, "policies": draw(policies), "minAvailable": least, "plugins": plugins, "maxRetry": retries,
    }  # fmt: skip


happenings = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["run", "succeed", "fail", "evict"]), st.sampled_from([*PODS, ""])),
        st.tuples(st.just("scale"), st.sampled_from(["1", "2", "3"])),
        st.tuples(st.just("command"), st.sampled_from([*ACTIONS, "ResumeJob"])),
        st.tuples(st.just("collect"), st.just("")),
    ),
    max_size=8,
)


def live(spec: dict[str, Any], story: list[tuple[str, str]], kills: Iterator[bool], *, lingering: bool) -> Pretend:
    job = Pretend(copy.deepcopy(spec), kills, lingering=lingering)
    job.rest()
    job.run()
    job.rest()
    for number, (what, whom) in enumerate(story):
        if what == "run":
            job.run(*[whom] if whom else [])
        elif what in {"succeed", "fail"}:
            # Only what runs ends.
            running = [name.removeprefix("j-") for name, pod in job.pods.items() if pod.phase == "Running"]
            chosen = [name for name in running if whom in {name, ""}]
            if chosen:
                getattr(job, what)(*chosen)
        elif what == "evict":
            job.evict(whom)
        elif what == "scale":
            job.spec["tasks"][0] |= {"replicas": int(whom)}
            job.spec["minAvailable"] = 1
        elif what == "command":
            job.command(whom, number)
        else:
            job.collect()
        job.rest()
    job.collect()
    job.rest()
    return job


@settings(max_examples=150, deadline=None)
@given(specs(), happenings, st.integers(0, 2**32), st.booleans())
def test_a_job_ends_as_without_kills(
    spec: dict[str, Any], story: list[tuple[str, str]], seed: int, lingering: bool
) -> None:
    chance = random.Random(seed)  # noqa: S311 (chance, not secrecy)
    kills = (chance.random() < 0.4 for _ in count())
    calm = live(spec, story, repeat(False), lingering=lingering)
    killed = live(spec, story, kills, lingering=lingering)
    assert (killed.state, killed.versions()) == (calm.state, calm.versions())
    assert killed.phases == calm.phases
    assert set(killed.objects) == set(calm.objects)


@settings(max_examples=100, deadline=None)
@given(specs(), happenings, st.booleans())
def test_nothing_is_left_that_does_not_belong_to_the_job_as_it_is(
    spec: dict[str, Any], story: list[tuple[str, str]], lingering: bool
) -> None:
    job = live(spec, story, repeat(False), lingering=lingering)
    status = job.read
    replicas = {one["name"]: one["replicas"] for one in job.spec["tasks"]}
    for pod in job.pods.values():
        assert pod.finished or pod.version == status.version
        assert pod.index < replicas[pod.task]
    if status.phase in {"Completed", "Failed", "Terminated", "Aborted"}:
        assert job.objects == {}
        assert job.group is None
        assert all(pod.finished for pod in job.pods.values())
    # Nothing stops on its way.
    assert status.phase in {"Pending", "Running", "Completed", "Failed", "Terminated", "Aborted"}
    assert status.terminating == 0
    ended = [phase for phase in job.phases if phase in {"Completed", "Failed", "Terminated"}]
    assert len(ended) <= 1
