"""Queues in scenarios: a `queue` line is a real Queue object, and its mistakes name the line and what is allowed."""

from dataclasses import replace
from textwrap import dedent

import pytest

from phalanx.model.axis import CPU, GPU
from phalanx.model.events import QueueSeen
from phalanx.model.queue import UNLIMITED, Queue, Terms
from phalanx.sim.documents import queue_document
from phalanx.sim.lines import ScenarioError
from phalanx.sim.scenario import read_scenario
from phalanx.sim.timeline import Arrive, timeline


def queues(text: str) -> list[Queue]:
    return [event.queue for event in timeline(read_scenario(dedent(text))).others if isinstance(event, QueueSeen)]


def test_a_queue_line_is_a_real_queue() -> None:
    line = (
        "queue team-a parent=research priority=5 quota:gpu=8 limit:gpu=16 weight:gpu=0.5 quota:cpu=unlimited"
        " namespaces=a,b placement=spread borrowing=false preempt-min-runtime=10m reclaim-min-runtime=1h created=5m"
    )
    assert queue_document(read_scenario(line).queues[0]) == {
        "apiVersion": "scheduling.phalanx.dev/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": "team-a", "uid": "queue:team-a", "creationTimestamp": "1970-01-01T00:05:00Z"},
        "spec": {
            "parent": "research",
            "priority": 5,
            "resources": {
                "nvidia.com/gpu": {"quota": "8", "limit": "16", "weight": 0.5},
                "cpu": {"quota": "unlimited"},
            },
            "borrowing": False,
            "preemptMinRuntime": "600s",
            "reclaimMinRuntime": "3600s",
            "namespaces": ["a", "b"],
            "placement": "spread",
        },
    }
    assert queues(line) == [
        Queue(
            "team-a",
            "research",
            5,
            {CPU: Terms(UNLIMITED), GPU: Terms(8000, 16000, 500)},
            borrowing=False,
            preempt_min_runtime=600.0,
            reclaim_min_runtime=3600.0,
            namespaces=frozenset({"a", "b"}),
            placement="spread",
            created=300.0,
            uid="queue:team-a",
        )
    ]


def test_a_queue_that_says_nothing_owns_nothing_and_a_range_is_as_many_queues() -> None:
    assert queues("queue q") == [Queue("q", uid="queue:q")]
    first, second = queues("queue team-1..team-2 quota:mem=1Gi weight:gpu=3")
    assert (first.name, second.name) == ("team-1", "team-2")
    assert replace(second, name="team-1", uid=first.uid) == first
    assert first.terms == {"memory": Terms(2**30), GPU: Terms(weight=3000)}


def test_a_pod_in_no_gang_says_its_queue_its_patience_and_whether_it_may_be_preempted() -> None:
    text = "pod p gpu=1 queue=q patience=5m preemptible=false"
    [task] = [one.task for _, one in timeline(read_scenario(text)).happenings if isinstance(one, Arrive)]
    assert (task.queue, task.patience, task.preemptible) == ("q", 300.0, False)


_FORM = "RESOURCE=AMOUNT with a resource of cpu, memory, mem, gpu, ephemeral-storage, pods, VENDOR/RESOURCE"


@pytest.mark.parametrize(
    ("words", "mistake"),
    [
        (
            "quota:gpuu=8",
            f"queue q: found 'quota:gpuu=8', allowed is quota:{_FORM}; did you mean gpu?",
        ),
        ("limit:gpu", f"queue q: found 'limit:gpu', allowed is limit:{_FORM}"),
        (
            "weight:gpu=x",
            "queue q: weight:gpu: found 'x', allowed is a number with at most 3 decimals, such as 2 or 0.5",
        ),
        (
            "quota:gpu=x",
            "queue q: quota:gpu: found 'x', allowed is a Kubernetes quantity such as 2, 500m, 1.5 or 8Gi, or unlimited",
        ),
        ("quota:gpu=1 quota:nvidia.com/gpu=1", "queue q: quota:nvidia.com/gpu: given twice, allowed is once"),
        ("placement=even", "queue q: placement: found 'even', allowed is pack or spread"),
        (
            "namespaces=a,,b",
            "queue q: namespaces: found 'a,,b', allowed is a name of lower-case letters, digits, - and .",
        ),
        (
            "quota:gpu=8 limit:gpu=4",
            "Queue q: spec.resources[nvidia.com/gpu].quota: found '8', allowed is at most the limit, which is '4'",
        ),
        ("parent=q", "Queue q: spec.parent: found 'q', allowed is another queue than itself"),
        ("\nqueue q", "queue q: found 2 queues of this name, allowed is one"),
    ],
)
def test_a_mistake_in_a_queue_names_the_line_the_word_and_what_is_allowed(words: str, mistake: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        timeline(read_scenario(f"queue q {words}"))
    assert str(raised.value).splitlines()[0] == f"scenario:1: {mistake}"
