"""What pods say of being moved, and of evicting others."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.task import Task

SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"


def pod(annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": annotations},
        "spec": {"schedulerName": "phalanx", "containers": [{"name": "c"}], **spec},
    }


def task(document: dict[str, Any]) -> Task:
    event = read(document, ["phalanx"])
    assert isinstance(event, TaskSeen), event
    return event.task


@pytest.mark.parametrize(
    ("annotations", "movable"),
    [
        (None, True),
        ({"phalanx.dev/movable": "true"}, True),
        ({"phalanx.dev/movable": "false"}, False),
        ({SAFE: "false"}, False),
        ({SAFE: "true"}, True),
        ({SAFE: "false", "phalanx.dev/movable": "true"}, False),
    ],
)
def test_a_pod_may_forbid_to_be_moved(annotations: dict[str, str] | None, movable: bool) -> None:
    assert task(pod(annotations)).movable is movable
    gang = {"phalanx.dev/gang": "g", "phalanx.dev/minimum": "1"}
    assert task(pod({**(annotations or {}), **gang})).movable is movable


def test_a_slip_in_it_is_refused_and_on_a_node_the_pod_stays_where_it_is() -> None:
    slip = {"phalanx.dev/movable": "no"}
    field, message = "metadata.annotations[phalanx.dev/movable]", "found 'no', allowed is true, false"
    assert read(pod(slip), ["phalanx"]) == Refused("Pod", "default/p", field, message)
    running = task(pod(slip, nodeName="n1"))
    assert not running.movable
    assert str(running.hold) == f"{field}: {message}"


@pytest.mark.parametrize(("policy", "evicts"), [(None, True), ("PreemptLowerPriority", True), ("Never", False)])
def test_a_pod_may_want_nobody_evicted_for_itself(policy: str | None, evicts: bool) -> None:
    assert task(pod(preemptionPolicy=policy)).evicts is evicts


def test_an_unknown_preemption_policy_is_refused() -> None:
    message = "found 'Always', allowed is PreemptLowerPriority, Never"
    assert read(pod(preemptionPolicy="Always"), ["phalanx"]) == Refused(
        "Pod", "default/p", "spec.preemptionPolicy", message
    )
    class_ = {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gold"}, "value": 5,
        "preemptionPolicy": "Always",
    }  # fmt: skip
    assert read(class_, []) == Refused("PriorityClass", "gold", "preemptionPolicy", message)
