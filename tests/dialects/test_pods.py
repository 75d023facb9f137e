"""A pod's life as the scheduler sees it: state, node, times, owner, names."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.task import Hold, Shape, State, Task

NOON = "2026-11-01T12:00:00Z"
AT_NOON = 1793534400.0


def document(spec: dict[str, Any] | None = None, status: Any = None, **meta: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **meta},
        "spec": {"schedulerName": "phalanx", "containers": [{}], **(spec or {})}, "status": status,
    }  # fmt: skip


def read_task(spec: dict[str, Any] | None = None, status: Any = None, **meta: Any) -> Task:
    event = read(document(spec, status, **meta), ["phalanx", "other"])
    assert isinstance(event, TaskSeen), event
    return event.task


def test_the_smallest_pod_has_kubernetes_defaults() -> None:
    assert read_task() == Task(
        uid="default/p", namespace="default", name="p", state=State.PENDING, node=None, ours=True, scheduler="phalanx",
        shape=Shape(requests=(("pods", 1),), scored=(100, 200 * 2**20)),
    )  # fmt: skip


def test_everything_a_pod_says_is_there() -> None:
    found = read_task(
        {"schedulerName": "other", "priority": -7, "terminationGracePeriodSeconds": 5},
        {"nominatedNodeName": "n9"},
        namespace="ml", uid="abc", labels={"app": "x"}, creationTimestamp=NOON,
        ownerReferences=[{"kind": "Other", "uid": "o"}, {"kind": "Job", "controller": True, "uid": "j"}],
    )  # fmt: skip
    assert found == Task(
        uid="abc", namespace="ml", name="p", scheduler="other", created=AT_NOON, grace=5.0, owner="j",
        nominated="n9", labels={"app": "x"},
        shape=Shape(requests=(("pods", 1),), scored=(100, 200 * 2**20), priority=-7, namespace="ml"),
    )  # fmt: skip


def test_whose_a_pod_is_stands_in_its_scheduler_name() -> None:
    assert read_task({"schedulerName": "another"}).ours is False
    assert read_task({"schedulerName": None}).scheduler == "default-scheduler"
    assert read_task({"schedulerName": ""}).ours is False


@pytest.mark.parametrize(
    ("node", "phase", "deleted", "state", "charged"),
    [
        (None, None, None, State.PENDING, False),
        ("", "Pending", None, State.PENDING, False),
        (None, "Pending", NOON, State.PENDING, False),
        ("n1", None, None, State.RUNNING, True),
        ("n1", "Pending", None, State.RUNNING, True),
        ("n1", "Running", None, State.RUNNING, True),
        ("n1", "Unknown", None, State.RUNNING, True),
        ("n1", "Running", NOON, State.RELEASING, True),
        ("n1", "Succeeded", None, State.SUCCEEDED, False),
        ("n1", "Failed", NOON, State.FAILED, False),
        (None, "Failed", None, State.FAILED, False),
    ],
)
def test_node_and_phase_and_deletion_tell_the_state(
    node: str | None, phase: str | None, deleted: str | None, state: State, charged: bool
) -> None:
    task = read_task({"nodeName": node}, {"phase": phase}, deletionTimestamp=deleted)
    assert (task.state, task.charged) == (state, charged)


def test_a_terminating_pod_is_gone_at_its_deletion_time() -> None:
    task = read_task({"nodeName": "n1"}, None, deletionTimestamp=NOON, deletionGracePeriodSeconds=7)
    assert (task.gone_at, task.grace, task.hold) == (AT_NOON, 7.0, None)


@pytest.mark.parametrize(
    ("seconds", "grace"), [(None, 30.0), (0, 0.0), (-5, 0.0), (10**400, float(2**31))], ids=["none", "0", "-5", "huge"]
)
def test_grace_is_a_sane_number_of_seconds(seconds: int | None, grace: float) -> None:
    assert read_task({"terminationGracePeriodSeconds": seconds}).grace == grace


SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": NOON}


@pytest.mark.parametrize(
    ("status", "started"),
    [
        ({"startTime": NOON, "conditions": [{**SCHEDULED, "lastTransitionTime": "1970-01-01T00:00:09Z"}]}, AT_NOON),
        ({"conditions": [{"type": "Ready", "lastTransitionTime": "1970-01-01T00:00:09Z"}, SCHEDULED]}, AT_NOON),
        ({"conditions": [{**SCHEDULED, "status": "False"}]}, 5.0),
        ({"conditions": [{**SCHEDULED, "lastTransitionTime": None}]}, 5.0),
        (None, 5.0),
    ],
)
def test_a_pod_holds_its_node_since_its_start_else_its_binding_else_its_creation(status: Any, started: float) -> None:
    assert read_task({"nodeName": "n1"}, status, creationTimestamp="1970-01-01T00:00:05Z").started == started


def test_a_finished_pod_ended_with_its_last_container() -> None:
    ends = ["2026-11-01T12:00:00Z", "2026-11-01T12:00:30Z", None]
    statuses = [{"state": {"terminated": {"finishedAt": end}}} for end in ends] + [{"state": None}, {}]
    task = read_task({"nodeName": "n1"}, {"phase": "Succeeded", "startTime": NOON, "containerStatuses": statuses})
    assert (task.started, task.finished) == (AT_NOON, AT_NOON + 30)
    nothing_known = read_task({"nodeName": "n1"}, {"phase": "Failed"})
    assert (nothing_known.started, nothing_known.finished) == (None, None)


def test_a_bad_time_refuses_a_pending_pod_and_not_a_running_one() -> None:
    event = read(document(creationTimestamp="yesterday"), ["phalanx"])
    message = "found 'yesterday', allowed is a time such as 2026-11-01T12:00:00Z"
    assert event == Refused("Pod", "default/p", "metadata.creationTimestamp", message)
    running = read_task({"nodeName": "n1"}, creationTimestamp="yesterday")
    assert (running.created, running.hold) == (0.0, Hold("metadata.creationTimestamp", message))


def test_a_node_that_cannot_exist_is_shown_escaped() -> None:
    task = read_task({"nodeName": "\x1b[2J"}, {"nominatedNodeName": "n\n"})
    assert (task.node, task.nominated, task.charged) == (r"'\x1b[2J'", r"'n\n'", True)


def test_a_priority_beyond_32_bits_is_refused() -> None:
    event = read(document({"priority": 2**31}), ["phalanx"])
    message = "found 2147483648, allowed is a whole number <= 2147483647"
    assert event == Refused("Pod", "default/p", "spec.priority", message)
