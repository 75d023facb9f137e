"""Ranks of members, by what controllers write on pods, and the segments that follow from them."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.node import Node
from phalanx.model.task import Task
from phalanx.world.ranks import ranked
from phalanx.world.world import World

JOB = "batch.kubernetes.io/job-completion-index"
JOBSET = "jobset.sigs.k8s.io/job-global-index"
GROUP, WORKER = "leaderworkerset.sigs.k8s.io/group-index", "leaderworkerset.sigs.k8s.io/worker-index"
OPERATOR = "training.kubeflow.org/replica-index"
GANG = {"phalanx.dev/gang": "g", "phalanx.dev/segment-size": "2", "phalanx.dev/segment-topology": "node"}


def task(name: str, labels: dict[str, str], node: str | None = None, minimum: int = 2, **status: Any) -> Task:
    container = {"name": "main", "image": "train"}
    annotations = {**GANG, "phalanx.dev/minimum": str(minimum)}
    found = read({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "uid": name, "annotations": annotations, "labels": labels},
        "spec": {"schedulerName": "phalanx", "containers": [container], "nodeName": node}, "status": status,
    }, ["phalanx"])  # fmt: skip
    assert isinstance(found, TaskSeen), found
    return found.task


def segments(*tasks: Task) -> dict[str, int]:
    """Return the segment of each task that waits, by the end of its name."""
    world = World()
    world.apply(NodeSeen(Node("n1", allocatable={"pods": 110})))
    for one in tasks:
        world.apply(TaskSeen(one))
    table = world.compile(0.0).tasks
    return {name.removeprefix("ml/"): at for name, at in zip(table.names, table.segment.tolist(), strict=True)}


@pytest.mark.parametrize(
    ("said", "index"),
    [
        ({JOB: "11"}, (11,)),
        ({JOBSET: "1", JOB: "3"}, (1, 3)),
        ({GROUP: "2", WORKER: "0"}, (2, 0)),
        ({OPERATOR: "5"}, (5,)),
        ({"apps.kubernetes.io/pod-index": "7"}, (7,)),
        ({"kueue.x-k8s.io/pod-group-pod-index": "1"}, (1,)),
        ({JOB: "first"}, ()),
        ({JOB: "9999999999"}, ()),
        ({GROUP: "2"}, ()),
        ({}, ()),
    ],
)
def test_the_index_is_what_the_controller_says(said: dict[str, str], index: tuple[int, ...]) -> None:
    assert task("p", said).index == index


def test_members_are_ranked_by_index_and_by_the_numbers_in_names_where_one_has_none() -> None:
    """The end of an Indexed Job's pod name is drawn by chance."""
    names = ["train-2-aaaaa", "train-10-bbbbb", "train-1-zzzzz"]
    indexed = [task(name, {JOB: name.split("-")[1]}) for name in names]
    assert [one.name for one in ranked(indexed)] == ["train-1-zzzzz", "train-2-aaaaa", "train-10-bbbbb"]
    named = [task(name, {}) for name in ("w-10", "w-9", "w-1")]
    assert [one.name for one in ranked(named)] == ["w-1", "w-9", "w-10"]
    twice = [task("master-0", {OPERATOR: "0"}), task("worker-1", {OPERATOR: "1"}), task("worker-0", {OPERATOR: "0"})]
    assert [one.name for one in ranked(twice)] == ["master-0", "worker-0", "worker-1"]


def test_jobs_of_a_jobset_stand_one_after_the_other() -> None:
    pods = [task(f"p{job}{at}", {JOBSET: job, JOB: at}) for job in "10" for at in "10"]
    assert [one.name for one in ranked(pods)] == ["p00", "p01", "p10", "p11"]


def test_one_that_is_missing_leaves_a_gap_where_there_are_indexes() -> None:
    """Index 1 has not been made again: 2 and 3 are still the second segment."""
    pods = [task(f"p-{at}-x", {JOB: at}) for at in "023"]
    assert segments(*pods) == {"p-0-x": 0, "p-2-x": 1, "p-3-x": 1}


def test_who_runs_counts_and_who_has_failed_or_leaves_does_not() -> None:
    running = task("w-0", {}, node="n1", phase="Running")
    failed = task("w-0-old", {}, node="n1", phase="Failed")
    assert segments(running, failed, task("w-1", {}), task("w-2", {})) == {"w-1": 0, "w-2": 1}
