"""Who may put work into which queue is asked of who applies it, on a real API server with people of few rights."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from phalanx.kube.local.control_plane import ControlPlane
from phalanx.model.keys import QUEUE
from phalanx.testing.control_plane import LocalError
from phalanx.testing.objects import list_all
from phalanx.testing.running import eventually
from tests.kube.admission_cluster import REFUSED, applied, with_policies
from tests.kube.admission_table import Manifest, of, pod

pytestmark = pytest.mark.slow


def rbac(kind: str, name: str, **fields: Any) -> Manifest:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, **fields}


def queue(name: str, **spec: Any) -> Manifest:
    meta = {"name": name}
    return {"apiVersion": "scheduling.phalanx.dev/v1alpha1", "kind": "Queue", "metadata": meta, "spec": spec}


ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
ANYBODY = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}
ALICE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}
CLUSTER = [
    rbac("ClusterRole", "edits", rules=[{"apiGroups": ["", "apps", "batch"], "resources": ["*"], "verbs": ["*"]}]),
    rbac("ClusterRoleBinding", "edits", roleRef={**ROLE, "name": "edits"}, subjects=[ANYBODY]),
    rbac("ClusterRole", "uses", rules=[{"apiGroups": ["scheduling.phalanx.dev"], "resources": ["queues"],
                                        "resourceNames": ["granted"], "verbs": ["use"]}]),
    rbac("ClusterRoleBinding", "uses", roleRef={**ROLE, "name": "uses"}, subjects=[ALICE]),
    queue("open"),
    queue("granted", access="granted"),
    queue("also-granted", access="granted"),
    queue("elsewhere", namespaces=["research", "art"]),
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "labelled", "labels": {QUEUE: "granted"}}},
]  # fmt: skip


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with with_policies() as running:
        running.kubectl("apply", "-f", "-", stdin=applied(CLUSTER))
        eventually("the queues are known", lambda: said(running, "bob", pod(labels={"queue": "granted"})))
        yield running


def said(plane: ControlPlane, user: str, one: Manifest, namespace: str = "default", *verb: str) -> str:
    """What a user is told who creates an object, or does something else with it; nothing where it may."""
    one = one | {"metadata": one["metadata"] | {"namespace": namespace}}
    how = verb or ("create", "--dry-run=server")
    try:
        plane.kubectl(*how, "-f", "-", stdin=applied([one]), kubeconfig=plane.user(user))
    except LocalError as error:
        start, denied, sentence = str(error).partition(REFUSED)
        return sentence if denied else start
    return ""


FIELD = "metadata.labels[phalanx.dev/queue]: "
NOT_BOB = "Queue granted is for who has the verb use on it, which bob has not"
ELSEWHERE = "Queue elsewhere does not take pods of namespace default, only those of art, research"


def test_a_granted_queue_takes_work_only_from_who_was_granted_it(plane: ControlPlane) -> None:
    """Whatever it is that makes the pods."""
    kinds = ["Job", "CronJob", "Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "DaemonSet"]
    labels = {"queue": "granted"}
    objects = {"Pod": pod(labels=labels), **{kind: of(kind, 1, labels) for kind in kinds}}
    at = {"Pod": "", "CronJob": "spec.jobTemplate.spec.template."}
    assert {kind: said(plane, "alice", one) for kind, one in objects.items()} == dict.fromkeys(objects, "")
    refused = {kind: said(plane, "bob", one) for kind, one in objects.items()}
    assert refused == {kind: f"{at.get(kind, 'spec.template.')}{FIELD}{NOT_BOB}" for kind in objects}
    assert said(plane, "alice", pod(labels={"queue": "also-granted"})).endswith("which alice has not")
    assert said(plane, "bob", pod(labels={"queue": "open"})) == ""
    assert said(plane, "admin", pod(labels={"queue": "elsewhere"})) == FIELD + ELSEWHERE
    assert said(plane, "bob", of("Job", 1, {"queue": "elsewhere"})) == "spec.template." + FIELD + ELSEWHERE


def test_who_labelled_the_namespace_has_put_its_pods_into_the_queue(plane: ControlPlane) -> None:
    assert said(plane, "bob", pod(labels={"queue": "granted"}), "labelled") == ""
    assert said(plane, "bob", pod(labels={"queue": "also-granted"}), "labelled") != ""


def test_a_right_can_be_given_for_one_namespace(plane: ControlPlane) -> None:
    binding = rbac("RoleBinding", "uses", roleRef={**ROLE, "name": "uses"}, subjects=[{**ALICE, "name": "carol"}])
    binding["metadata"]["namespace"] = "carols"
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "carols"}}
    plane.kubectl("apply", "-f", "-", stdin=applied([home, binding]))
    one = pod(labels={"queue": "granted"})
    eventually("the right is seen", lambda: said(plane, "carol", one, "carols") == "")
    assert said(plane, "carol", one) != ""


def test_no_way_around_by_relabelling_or_by_labels_of_controllers(plane: ControlPlane) -> None:
    waits = pod(labels={"queue": "open"})
    assert said(plane, "bob", waits, "default", "create") == ""
    for labels in ({QUEUE: "granted"}, {QUEUE: "granted", "pod-template-hash": "x"}):
        relabelled = waits | {"metadata": waits["metadata"] | {"labels": labels}}
        assert said(plane, "bob", relabelled, "default", "apply", "--dry-run=server") == FIELD + NOT_BOB
        assert said(plane, "alice", relabelled, "default", "apply", "--dry-run=server") == ""
    for key in ("batch.kubernetes.io/job-name", "pod-template-hash", "controller-revision-hash"):
        disguised = pod(labels={"queue": "granted"})
        disguised["metadata"]["labels"][key] = "x"
        assert said(plane, "bob", disguised) == FIELD + NOT_BOB
        disguised["metadata"]["ownerReferences"] = [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
        ]
        assert said(plane, "bob", disguised) == FIELD + NOT_BOB
    plane.kubectl("delete", "pod", "p", "--grace-period=0", "--force")


def test_pods_that_controllers_make_are_not_asked_again(plane: ControlPlane) -> None:
    job, deployment = of("Job", 2, {"queue": "granted"}), of("Deployment", 2, {"queue": "granted"})
    for one in (job, deployment):
        assert said(plane, "alice", one, "default", "create") == ""
    eventually("both have their pods", lambda: len(list_all(plane.kubeconfig, "/api/v1/namespaces/default/pods")) == 4)
    plane.kubectl("delete", "job/made", "deployment/made")


def test_the_scheduler_and_the_api_server_know_the_same_words_of_access(plane: ControlPlane) -> None:
    wrong = msgspec.json.encode(queue("bad", access="some")).decode()
    with pytest.raises(LocalError, match=r'supported values: "anybody", "granted"'):
        plane.kubectl("create", "-f", "-", stdin=wrong)
