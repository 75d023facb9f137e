"""Manifests on top of a cluster: what stands in for what, and what is said of it."""

from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.live import CLUSTER, at_home, homeless, on_top
from phalanx.cli.main import main
from phalanx.sim.manifests import Document

Captured = pytest.CaptureFixture[str]


def thing(kind: str, name: str, api_version: str = "v1", namespace: str | None = None, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata | fields.pop("metadata", {}), **fields}


def laid(cluster: list[dict[str, Any]], files: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    documents, lines = on_top([Document(one, CLUSTER) for one in cluster], [Document(one, "f.yaml") for one in files])
    return [one.object for one in documents], lines


def test_an_object_of_a_file_stands_in_for_the_cluster_s_and_keeps_its_age_and_status() -> None:
    old = thing("Node", "n1", metadata={"uid": "u1"}, status={"allocatable": {"cpu": "8"}})
    other = thing("Node", "n2", metadata={"uid": "u2"})
    found, lines = laid([old, other], [thing("Node", "n1", spec={"unschedulable": True})])
    assert found[0] == other
    assert found[1]["status"] == old["status"]
    assert found[1]["spec"] == {"unschedulable": True}
    assert found[1]["metadata"]["uid"] == "u1"
    assert lines == ["Node n1 (f.yaml): in place of the cluster's"]


def test_a_pod_of_a_file_is_made_anew_in_the_namespace_that_it_leaves_out() -> None:
    old = thing("Pod", "a", namespace="default", spec={"nodeName": "n1"}, status={"phase": "Running"})
    fresh = thing("Pod", "a", spec={"schedulerName": "phalanx"})
    assert laid([old, thing("Pod", "a", namespace="other")], [fresh]) == (
        [thing("Pod", "a", namespace="other"), fresh], ["Pod default/a (f.yaml): in place of the cluster's"],
    )  # fmt: skip


def test_what_names_no_namespace_is_in_that_of_the_context_as_kubectl_would_put_it() -> None:
    named = thing("Pod", "b", namespace="other")
    files = [
        thing("Job", "a", "batch/v1"),
        named,
        thing("Node", "n1"),
        thing("PriorityClass", "high", "scheduling.k8s.io/v1"),
    ]
    found = at_home([Document(one, "f.yaml") for one in files], "ml")
    assert [one.object for one in found] == [thing("Job", "a", "batch/v1", "ml"), *files[1:]]


def test_a_namespace_that_is_not_there_is_named_once() -> None:
    cluster = [Document(thing("Namespace", "ml"), CLUSTER)]
    files = [
        thing("Namespace", "new"),
        *(thing("Pod", name, namespace=name[:3]) for name in ("ml", "new", "odd1", "odd2")),
    ]
    assert homeless(cluster, [Document(one, "f.yaml") for one in files]) == [
        "namespace odd (f.yaml): not on the cluster"
    ]


def test_kinds_of_one_name_in_different_systems_are_different_objects() -> None:
    ours = thing("Queue", "a", "scheduling.phalanx.dev/v1alpha1")
    kais = thing("Queue", "a", "scheduling.run.ai/v2")
    assert laid([kais], [ours]) == ([kais, ours], [])


def test_a_job_whose_pods_are_on_the_cluster_is_not_made_twice() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    pod = thing("Pod", "train-x", namespace="default", metadata={"ownerReferences": [owner]})
    found, lines = laid([pod], [thing("Job", "train", "batch/v1"), thing("Job", "fresh", "batch/v1")])
    assert len(found) == 3
    assert lines == ["Job default/train (f.yaml): not expanded, because pods of it are on the cluster"]


def test_of_many_replaced_objects_a_few_are_named() -> None:
    many = [thing("Node", f"n{number}") for number in range(8)]
    lines = laid(many, many)[1]
    assert lines[:1] == ["Node n0 (f.yaml): in place of the cluster's"]
    assert lines[5:] == ["and 3 objects more in place of the cluster's"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ["--context", "x", "-f", "a"],
            "plan: found --kubeconfig or --context without --live; with --live a cluster is read",
        ),
        (
            ["--live", "--now", "2026-11-01T12:00:00Z"],
            "plan: --now: a cluster has its own time, allowed is --now only without --live",
        ),
        (["--live", "--kubeconfig", "/nowhere"], "kubeconfig /nowhere: No such file or directory"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(options: list[str], line: str, capsys: Captured) -> None:
    assert main(["plan", *options]) == 2
    assert capsys.readouterr() == ("", f"phalanx: {line}\n")


def test_where_nothing_in_the_files_can_be_read_the_cluster_alone_is_no_answer(
    tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "job.yaml").write_text("kind: [Job")
    assert main(["plan", "--live", "--kubeconfig", "/nowhere", "-f", str(tmp_path / "job.yaml")]) == 2
    why = "did not find expected ',' or ']' (while parsing a flow sequence)"
    assert capsys.readouterr() == ("", f"phalanx: {tmp_path}/job.yaml:1: {why}\n")
