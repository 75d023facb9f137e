"""Never bind what is not understood: each such pod is held, and names the field."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.events import TaskSeen
from phalanx.model.task import Hold, Task

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LATER = "not honoured by this version"


def read_task(spec: dict[str, Any] | None = None, scheduler: str = "phalanx", **meta: Any) -> Task:
    document = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **meta},
        "spec": {"schedulerName": scheduler, "containers": [{}], **(spec or {})},
    }  # fmt: skip
    event = read(document, ["phalanx"])
    assert isinstance(event, TaskSeen), event
    return event.task


def held(meta: dict[str, Any]) -> Hold | None:
    return read_task(**meta).hold


TERM = {"topologyKey": "zone", "labelSelector": {}}


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"schedulingGates": [{"name": "example.com/a"}, {"name": "b\n"}]}, "schedulingGates",
         r"waits until 'example.com/a', 'b\n' is lifted"),
        ({"resourceClaims": [{"name": "gpu"}]}, "resourceClaims", LATER),
    ],
)  # fmt: skip
def test_a_hard_constraint_of_the_spec_holds_the_pod(spec: dict[str, Any], field: str, message: str) -> None:
    assert read_task(spec).hold == Hold(f"spec.{field}", message)


@pytest.mark.parametrize(
    ("kind", "key", "message"),
    [
        ("annotations", "gang.scheduling.koordinator.sh/name", "gangs of Koordinator are not read by this version"),
        ("annotations", "yunikorn.apache.org/task-group-name", "gangs of YuniKorn are not read by this version"),
        ("annotations", "yunikorn.apache.org/task-groups", "gangs of YuniKorn are not read by this version"),
        ("labels", "pod-group.scheduling.sigs.k8s.io", "gangs of coscheduling are not read by this version"),
        ("labels", "pod-group.scheduling.sigs.k8s.io/name", "gangs of coscheduling are not read by this version"),
        ("labels", "scheduling.x-k8s.io/pod-group", "gangs of coscheduling are not read by this version"),
        ("labels", "kueue.x-k8s.io/pod-group-name", "gangs of Kueue are not read by this version"),
    ],
)
def test_another_systems_marker_holds_the_pod(kind: str, key: str, message: str) -> None:
    assert held({kind: {"app": "x", key: "0.5"}}) == Hold(f"metadata.{kind}[{key}]", message)


KNOWN = (
    "gang, minimum, maximum, subgroup, subgroup-minimum, start-timeout, expected-runtime, preemptible, "
    "topology-required, topology-preferred, subgroup-topology-required, subgroup-topology-preferred, "
    "segment-size, segment-topology, subgroup-segment-size, subgroup-segment-topology, "
    "topology-exclusive, topology-exclusive-against, subgroup-topology-exclusive, "
    "replica-of, topology-spread, subgroup-topology-spread, "
    "patience, movable, gpu-model, gpu-memory-minimum, gpu-together, "
    "gpu-fraction, gpu-memory, gpu-devices, gpu-group, gpu-ids"
)


@pytest.mark.parametrize(
    ("kind", "key", "message"),
    [
        ("annotations", "phalanx.dev/minimun",
         "unknown key phalanx.dev/minimun, did you mean phalanx.dev/minimum"),
        ("annotations", "phalanx.dev/qqqqqqqqqqqqqqqqqqqqqqqq",
         f"unknown key phalanx.dev/qqqqqqqqqqqqqqqqqqqqqqqq, allowed under phalanx.dev/ are {KNOWN}"),
        ("annotations", "phalanx.dev/queue", "is read as label only, not as annotation"),
        ("labels", "phalanx.dev/gang", "is read as annotation only, not as label"),
        ("labels", "phalanx.dev/queues",
         "unknown key phalanx.dev/queues, did you mean phalanx.dev/queue"),
        ("labels", "phalanx.dev/gangs", "unknown key phalanx.dev/gangs, did you mean phalanx.dev/gang"),
        ("labels", "phalanx.dev/scheduler-name", "is read on a Namespace only, not on a Pod"),
    ],
)  # fmt: skip
def test_a_slip_in_a_key_of_ours_holds_the_pod_and_names_the_nearest(kind: str, key: str, message: str) -> None:
    assert held({kind: {key: "8"}}) == Hold(f"metadata.{kind}[{key}]", message)


def test_an_odd_key_is_shown_escaped() -> None:
    hold = read_task(annotations={"phalanx.dev/\x1b[2J": ""}).hold
    assert hold is not None
    assert hold.field == r"metadata.annotations['phalanx.dev/\x1b[2J']"


def test_a_pending_pod_that_is_being_deleted_is_held() -> None:
    task = read_task(deletionTimestamp="2026-11-01T12:00:00Z")
    assert task.hold == Hold("metadata.deletionTimestamp", "it is being deleted")


@pytest.mark.parametrize(
    "spec",
    [
        {"affinity": {"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": TERM}]}}},
        {"affinity": {"podAffinity": {REQUIRED: [TERM]}, "podAntiAffinity": {REQUIRED: [TERM]}}},
        {"affinity": {"podAntiAffinity": {REQUIRED: []}}},
        {"topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]},
        {"volumes": [{"emptyDir": {}}, {"configMap": {"name": "c"}}, {"hostPath": {"path": "/"}}, {"nfs": {}}]},
        {"schedulingGates": [], "resourceClaims": [], "volumes": None},
        {"hostUsers": False},
        {"hostUsers": False, "hostNetwork": True},
        {"containers": [{"restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
    ],
)
def test_preferences_and_harmless_volumes_hold_nobody(spec: dict[str, Any]) -> None:
    assert read_task(spec).hold is None


def test_others_pods_are_not_ours_to_hold() -> None:
    assert read_task({"schedulingGates": [{"name": "a"}]}, scheduler="another").hold is None
