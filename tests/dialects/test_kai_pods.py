"""Pods as KAI's users write them: their PodGroup, their queue, and whether they may be preempted."""

from typing import Any

import pytest

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.reference import Reference
from phalanx.model.task import Hold, Task

GROUP = "PodGroup.scheduling.run.ai"
QUEUE = "kai.scheduler/queue"
PREEMPTIBILITY = "kai.scheduler/preemptibility"


def document(
    labels: dict[str, str], annotations: dict[str, str], scheduler: str, priority: int, **spec: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ml", "labels": labels, "annotations": annotations},
        "spec": {"schedulerName": scheduler, "priority": priority, "containers": [{}], **spec},
    }  # fmt: skip


def task(
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    scheduler: str = "kai-scheduler",
    priority: int = 0,
    **spec: Any,
) -> Task:
    event = read(document(labels or {}, annotations or {}, scheduler, priority, **spec), ["phalanx", "kai-scheduler"])
    assert isinstance(event, TaskSeen), event
    return event.task


@pytest.mark.parametrize("scheduler", ["kai-scheduler", "phalanx"])
def test_the_annotation_names_a_pod_group_of_the_same_namespace(scheduler: str) -> None:
    found = task({"kai.scheduler/subgroup-name": "workers"}, {"pod-group-name": "pg-train"}, scheduler)
    owner = Reference(GROUP, "ml/pg-train")
    assert found.membership == Membership("ml/pg-train", None, subgroup="workers", owner=owner, group="pg-train")
    assert found.hold is None


def test_wishes_of_ours_add_to_what_the_pod_group_says() -> None:
    found = task(annotations={"pod-group-name": "g", "phalanx.dev/patience": "10m"})
    assert found.membership == Membership("ml/g", None, owner=Reference(GROUP, "ml/g"), group="g", patience=600.0)


@pytest.mark.parametrize(
    ("labels", "phalanx", "kai"),
    [
        ({}, None, "default-queue"),
        ({"project": "vision"}, None, "vision"),
        ({"project": "vision", QUEUE: "team-a"}, "team-a", "team-a"),
        ({QUEUE: "team-a", "phalanx.dev/queue": "team-b"}, "team-b", "team-b"),
        ({QUEUE: "", "project": ""}, None, "default-queue"),
    ],
)
def test_a_queue_is_found_as_kai_finds_it(labels: dict[str, str], phalanx: str | None, kai: str) -> None:
    assert (task(labels, scheduler="phalanx").queue, task(labels).queue) == (phalanx, kai)


@pytest.mark.parametrize(
    ("labels", "annotations", "scheduler", "priority", "preemptible"),
    [
        ({}, {}, "kai-scheduler", 99, True),
        ({}, {}, "kai-scheduler", 100, False),
        ({}, {}, "phalanx", 100, True),
        ({PREEMPTIBILITY: "preemptible"}, {}, "kai-scheduler", 100, True),
        ({PREEMPTIBILITY: "non-preemptible"}, {}, "kai-scheduler", 0, False),
        ({PREEMPTIBILITY: "non-preemptible"}, {}, "phalanx", 0, False),
        ({}, {"phalanx.dev/preemptible": "true"}, "kai-scheduler", 100, True),
        ({PREEMPTIBILITY: "preemptible"}, {"phalanx.dev/preemptible": "false"}, "kai-scheduler", 0, False),
    ],
)
def test_a_pod_in_no_gang_is_preemptible_by_its_own_word_else_by_priority(
    labels: dict[str, str], annotations: dict[str, str], scheduler: str, priority: int, preemptible: bool
) -> None:
    assert task(labels, annotations, scheduler, priority).preemptible is preemptible


@pytest.mark.parametrize(
    ("labels", "annotations", "field", "message"),
    [
        ({}, {"pod-group-name": "A"}, "annotations[pod-group-name]", f"found 'A', allowed is {NAME_ALLOWED}"),
        ({"kai.scheduler/subgroup-name": "A"}, {"pod-group-name": "a"}, "labels[kai.scheduler/subgroup-name]",
         f"found 'A', allowed is {NAME_ALLOWED}"),
        ({QUEUE: "A"}, {}, f"labels[{QUEUE}]", f"found 'A', allowed is {NAME_ALLOWED}"),
        ({"project": "A b"}, {}, "labels[project]", f"found 'A b', allowed is {NAME_ALLOWED}"),
        ({PREEMPTIBILITY: "maybe"}, {}, f"labels[{PREEMPTIBILITY}]",
         "found 'maybe', allowed is preemptible, non-preemptible"),
    ],
)  # fmt: skip
def test_a_mistake_refuses_a_waiting_pod_and_names_the_field(
    labels: dict[str, str], annotations: dict[str, str], field: str, message: str
) -> None:
    bad = document(labels, annotations, "kai-scheduler", 0)
    assert read(bad, ["kai-scheduler"]) == Refused("Pod", "ml/p", f"metadata.{field}", message)
    running = task(labels, annotations, nodeName="n1")
    assert (running.hold, running.node) == (Hold(f"metadata.{field}", message), "n1")


def test_a_pod_of_two_gangs_is_held() -> None:
    found = task(annotations={"pod-group-name": "g"}, schedulingGroup={"podGroupName": "h"})
    field = "metadata.annotations[pod-group-name]"
    why = f"contradicts {field}: a pod is in one gang, and one of them says which"
    assert found.hold == Hold("spec.schedulingGroup", why)
    assert task(annotations={"pod-group-name": "g", "phalanx.dev/gang": "h"}).hold == Hold(
        field, why.replace(field, "metadata.annotations[phalanx.dev/gang]")
    )


def test_what_else_one_container_asks_of_a_gpu_is_held() -> None:
    key = "nvidia.com/container.main.gpu-compute.request"
    assert task(annotations={key: "20"}).hold == Hold(
        f"metadata.annotations[{key}]", "what one container asks of a GPU so is not honoured by this version"
    )
    assert task(annotations={"nvidia.com/other": "x"}).hold is None
