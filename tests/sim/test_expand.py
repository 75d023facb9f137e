"""Controllers without pods are expanded into them; controllers with pods are left alone."""

from typing import Any

import pytest

from phalanx.model.events import Refused
from phalanx.sim.admission import Admission
from phalanx.sim.expand import expand

GROUPS = {"Job": "batch/v1", "CronJob": "batch/v1", "Pod": "v1", "PodTemplate": "v1"}


def controller(
    kind: str, name: str = "train", uid: str | None = None, status: Any = None, **spec: Any
) -> dict[str, Any]:
    metadata = {"name": name, "creationTimestamp": "2026-11-01T12:00:00Z", **({"uid": uid} if uid else {})}
    template = {
        "metadata": {"labels": {"app": "x"}, "annotations": {"note": "y"}},
        "spec": {"schedulerName": "phalanx"},
    }
    return Admission().identify({
        "apiVersion": GROUPS.get(kind, "apps/v1"), "kind": kind, "metadata": metadata,
        "spec": {"template": template, **spec}, "status": status,
    })  # fmt: skip


def owned_by(kind: str, name: str, uid: str | None = None, pod_kind: str = "Pod", pod: str = "p") -> dict[str, Any]:
    reference = {"kind": kind, "name": name, **({"uid": uid} if uid else {})}
    metadata = {"name": pod, "ownerReferences": [reference]}
    spec: dict[str, Any] = {"template": {"spec": {}}} if pod_kind == "ReplicaSet" else {}
    return Admission().identify({
        "apiVersion": GROUPS.get(pod_kind, "apps/v1"), "kind": pod_kind, "metadata": metadata, "spec": spec,
    })  # fmt: skip


def names(*objects: dict[str, Any]) -> list[str]:
    """Return the names of all pods that expansion makes."""
    made = [pods for _, pods in expand(objects)]
    assert not any(isinstance(pods, Refused) for pods in made)
    return [one.object["metadata"]["name"] for pods in made if not isinstance(pods, Refused) for one in pods]


def test_a_job_becomes_pods_as_its_controller_would_write_them() -> None:
    ((_, made),) = expand([controller("Job", parallelism=2, completions=2, completionMode="Indexed")])
    assert not isinstance(made, Refused)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "Job/default/train", "controller": True}
    assert [one.object for one in made] == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"train-{index}",
                "namespace": "default",
                "uid": f"Pod/default/train-{index}",
                "creationTimestamp": "2026-11-01T12:00:00Z",
                "labels": {
                    "app": "x", "job-name": "train", "batch.kubernetes.io/job-name": "train",
                    "batch.kubernetes.io/job-completion-index": str(index),
                },
                "annotations": {"note": "y"},
                "ownerReferences": [owner],
            },
            "spec": {"schedulerName": "phalanx"},
        }
        for index in range(2)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "count"),
    [
        (controller("Job"), 1),
        (controller("Job", parallelism=4), 4),
        (controller("Job", parallelism=4, completions=3), 3),
        (controller("Job", parallelism=2, completions=8), 2),
        (controller("Job", parallelism=4, completions=8, status={"succeeded": 6}), 2),
        (controller("Job", parallelism=0), 0),
        (controller("Job", parallelism=4, suspend=True), 0),
        (controller("Job", parallelism=4, status={"conditions": [{"type": "Complete", "status": "True"}]}), 0),
        (controller("Deployment"), 1),
        (controller("Deployment", replicas=3), 3),
        (controller("ReplicaSet", replicas=0), 0),
        (controller("StatefulSet", replicas=2), 2),
        (controller("CronJob", parallelism=4), 0),
        (controller("PodTemplate"), 0),
        ({**controller("Job", parallelism=4), "apiVersion": "batch.example/v1alpha1"}, 0),
    ],
)
def test_a_controller_makes_as_many_pods_as_it_would_now(one: dict[str, Any], count: int) -> None:
    assert names(one) == [f"train-{index}" for index in range(count)]


def test_a_stateful_set_counts_from_its_first_ordinal_and_its_pods_claim_volumes() -> None:
    labelled = {"name": "data", "uid": "u", "labels": {"app": "y", "disk": "z"}, "annotations": {"note": "y"}}
    claims = [{"metadata": labelled, "spec": {"accessModes": []}, "status": {"phase": "Lost"}}]
    one = controller(
        "StatefulSet", replicas=2, ordinals={"start": 5}, volumeClaimTemplates=claims,
        selector={"matchLabels": {"app": "x"}},
    )  # fmt: skip
    ((_, made),) = expand([one])
    assert not isinstance(made, Refused)
    assert [one for one in made if one.object["kind"] != "Pod"] == [
        (
            {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"accessModes": []},
                "metadata": {
                    "name": f"data-train-{ordinal}", "namespace": "default", "labels": {"app": "x", "disk": "z"},
                    "annotations": {"note": "y"},
                },
            },
            "spec.volumeClaimTemplates[0].",
        ) for ordinal in (5, 6)
    ]  # fmt: skip
    pods = [one.object for one in made if one.object["kind"] == "Pod"]
    assert [(pod["metadata"]["name"], pod["spec"]["volumes"]) for pod in pods] == [
        ("train-5", [{"name": "data", "persistentVolumeClaim": {"claimName": "data-train-5"}}]),
        ("train-6", [{"name": "data", "persistentVolumeClaim": {"claimName": "data-train-6"}}]),
    ]
    assert pods[0]["metadata"]["labels"] == {
        "app": "x", "statefulset.kubernetes.io/pod-name": "train-5", "apps.kubernetes.io/pod-index": "5",
    }  # fmt: skip


def test_a_controller_whose_pods_are_there_is_left_alone() -> None:
    assert names(controller("Job", uid="1"), owned_by("Job", "train", uid="1")) == []
    assert names(controller("Job", uid="1"), owned_by("Job", "train")) == []
    assert names(controller("Job"), owned_by("Job", "train", uid="1")) == []


def test_pods_of_another_controller_do_not_count() -> None:
    assert names(controller("Job", uid="1"), owned_by("Job", "train", uid="2")) == ["train-0"]
    assert names(controller("Job"), owned_by("Job", "other")) == ["train-0"]
    assert names(controller("Job"), owned_by("ReplicaSet", "train")) == ["train-0"]


def test_a_deployment_is_known_through_its_replica_sets() -> None:
    deployment, middle = (
        controller("Deployment", "web", replicas=2),
        owned_by("Deployment", "web", "", "ReplicaSet", "web-7d9f"),
    )
    assert names(deployment, middle) == ["web-7d9f-0"]
    assert names(deployment, middle, owned_by("ReplicaSet", "web-7d9f")) == []


def test_a_deployment_is_known_by_its_pods_when_the_replica_sets_are_missing() -> None:
    assert names(controller("Deployment", "web", replicas=2), owned_by("ReplicaSet", "web-7d9f")) == []


@pytest.mark.parametrize(
    ("found", "said"), [(-1, "-1"), (100_001, "100001"), ("8", "'8'"), (1.5, "1.5"), (True, "true"), ([], "a list")]
)
def test_an_absurd_number_of_pods_refuses_the_controller(found: Any, said: str) -> None:
    message = f"found {said}, allowed is a whole number from 0 to 100000"
    for kind, key in (("Job", "parallelism"), ("Job", "completions"), ("Deployment", "replicas")):
        refused = Refused(kind, "default/train", f"spec.{key}", message)
        assert [made for _, made in expand([controller(kind, **{key: found})])] == [refused]


@pytest.mark.parametrize(
    ("template", "field", "message"),
    [
        (None, "spec.template", "found null, allowed is a pod template"),
        ("x", "spec.template", "found 'x', allowed is a pod template"),
        ({"metadata": [1]}, "spec.template.metadata", "found a list, allowed is a map"),
    ],
)
def test_a_controller_without_a_template_is_refused(template: Any, field: str, message: str) -> None:
    ((_, made),) = expand([controller("Job", template=template)])
    assert made == Refused("Job", "default/train", field, message)


@pytest.mark.parametrize("references", [None, "x", [None], [{}], [{"name": []}]])
def test_odd_owner_references_are_nobodys(references: Any) -> None:
    metadata = {"name": "p", "namespace": "default", "ownerReferences": references}
    assert names(controller("Job"), {"kind": "Pod", "metadata": metadata}) == ["train-0"]
