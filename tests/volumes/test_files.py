"""What an API server and its controllers would have done with claims is done for files too."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.cli.main import main
from tests.volumes.cluster import ZONE, Object, claim, node, pod, storage_class, volume

DEFAULT = "storageclass.kubernetes.io/is-default-class"
NODES = [node("n1", "a"), node("n2", "b")]


class Planned:
    """What `phalanx plan -f` says of objects."""

    def __init__(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._file, self._capsys = tmp_path / "all.yaml", capsys
        self.errors = ""

    def __call__(self, *objects: Object) -> dict[str, Any]:
        """Return for each pod where it goes with which volumes, or why it waits."""
        self._file.write_text(yaml.safe_dump_all([*NODES, *objects]))
        assert main(["plan", "-f", str(self._file), "-o", "json"]) in {0, 2}
        printed = self._capsys.readouterr()
        self.errors = printed.err.replace(str(self._file), "FILE")
        steps = json.loads(printed.out)["cycles"][0]["steps"]
        return {
            step.get("pod") or step["gang"]: (step["node"], step.get("volumes"))
            if step["step"] == "bind" else step["reason"] for step in steps
        }  # fmt: skip


@pytest.fixture
def planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Planned:
    return Planned(tmp_path, capsys)


def made_in(zone: str, name: str, **metadata: Any) -> Object:
    """A class that makes volumes in one zone alone."""
    one = storage_class(name, allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": [zone]}]}])
    one["metadata"] |= metadata
    return one


def default(zone: str, name: str, created: str | None = "2026-11-01T12:00:00Z", key: str = DEFAULT) -> Object:
    return made_in(zone, name, annotations={key: "true"}, creationTimestamp=created)


def classless(name: str = "c", **spec: Any) -> Object:
    one = claim(name)
    del one["spec"]["storageClassName"]
    one["spec"] |= spec
    return one


def test_a_claim_that_names_no_class_gets_the_default_one(planned: Planned) -> None:
    classes = [made_in("a", "other"), default("b", "usual")]
    assert planned(pod("p", "c"), classless(), *classes) == {"ml/p": ("n2", {"ml/c": None})}
    older_word = default("b", "usual", key="storageclass.beta.kubernetes.io/is-default-class")
    assert planned(pod("p", "c"), classless(), older_word) == {"ml/p": ("n2", {"ml/c": None})}


def test_of_several_default_classes_the_newest_counts_then_the_first_by_name(planned: Planned) -> None:
    def chosen(*classes: Object) -> str:
        (((node, _),)) = planned(pod("p", "c"), classless(), *classes).values()
        return str(node)

    assert chosen(default("b", "late", "2026-11-02T12:00:00Z"), default("a", "early")) == "n2"
    assert chosen(default("a", "early"), default("b", "late", "2026-11-02T12:00:00Z")) == "n2"
    assert chosen(default("a", "late"), default("b", "early")) == "n2"
    # What nobody has made yet is made last.
    assert chosen(default("a", "late", "2026-11-02T12:00:00Z"), default("b", "early", None)) == "n2"


@pytest.mark.parametrize("said", ["false", "True", ""])
def test_only_the_word_true_makes_a_class_the_default(planned: Planned, said: str) -> None:
    one = made_in("a", "usual", annotations={DEFAULT: said})
    assert planned(pod("p", "c"), classless(), one) == {
        "ml/p": "spec.volumes[0].persistentVolumeClaim.claimName: claim ml/c waits until a volume is bound to it "
        "(it has no class)"
    }


def test_a_claim_that_says_which_class_keeps_it_the_empty_one_too(planned: Planned) -> None:
    usual, other = default("b", "usual"), made_in("a", "other")
    assert planned(pod("p", "c"), claim("c", storage_class="other"), usual, other)["ml/p"][0] == "n1"
    old = classless()
    old["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "other"}
    assert planned(pod("p", "c"), old, usual, other)["ml/p"][0] == "n1"
    assert "it has no class" in planned(pod("p", "c"), classless(storageClassName=""), usual)["ml/p"]


def test_a_default_class_that_cannot_be_read_is_named_and_the_older_one_counts(planned: Planned) -> None:
    broken = default("a", "broken", "2026-11-02T12:00:00Z") | {"volumeBindingMode": "Later"}
    assert planned(pod("p", "c"), classless(), broken, default("b", "usual"))["ml/p"][0] == "n2"
    assert "StorageClass broken: volumeBindingMode: found 'Later'" in planned.errors


def stateful(name: str = "db", count: int = 2, claims: Any = None, *, minimum: int = 0, **spec: Any) -> Object:
    """A StatefulSet of which each pod has a claim `data`."""
    template = {"metadata": {"name": "data"}, "spec": claim("data", storage_class="usual")["spec"]}
    notes = {"phalanx.dev/gang": name, "phalanx.dev/minimum": str(minimum)} if minimum else {}
    return {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "replicas": count, "podManagementPolicy": "Parallel", "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"annotations": notes, "labels": {"app": name}}, "spec": pod("x")["spec"]},
            "volumeClaimTemplates": [template] if claims is None else claims, **spec,
        },
    }  # fmt: skip


def test_the_pods_of_a_stateful_set_get_a_claim_of_each_template(planned: Planned) -> None:
    assert planned(stateful(), made_in("b", "usual")) == {
        "ml/db-0": ("n2", {"ml/data-db-0": None}),
        "ml/db-1": ("n2", {"ml/data-db-1": None}),
    }
    assert planned.errors == ""
    logs = {"metadata": {"name": "logs"}, "spec": classless()["spec"]}
    two = [logs, {"metadata": {"name": "data"}, "spec": claim("data", storage_class="other")["spec"]}]
    assert planned(
        stateful(count=1, claims=two, ordinals={"start": 4}), default("b", "usual"), made_in("b", "other")
    ) == {"ml/db-4": ("n2", {"ml/logs-db-4": None, "ml/data-db-4": None})}


def test_a_gang_of_a_stateful_set_starts_whole_with_local_volumes_or_not_at_all(planned: Planned) -> None:
    local = storage_class("usual", "kubernetes.io/no-provisioner")
    disks = [volume(f"disk-{host}", host=host, storageClassName="usual") for host in ("n1", "n2")]
    both = planned(local, *disks, stateful(minimum=2))
    assert sorted(both.values()) == [("n1", {"ml/data-db-0": "disk-n1"}), ("n2", {"ml/data-db-1": "disk-n2"})]
    (reason,) = planned(local, disks[0], stateful(minimum=2)).values()
    assert reason.startswith("2 needed together, 1 fit: ")


def test_a_claim_that_is_there_is_not_made_again(planned: Planned) -> None:
    old = [claim("data-db-1", "pv", storage_class="usual"), volume("pv", of="data-db-1", host="n1")]
    assert planned(stateful(), made_in("b", "usual"), *old) == {
        "ml/db-0": ("n2", {"ml/data-db-0": None}),
        "ml/db-1": ("n1", None),
    }
    assert planned.errors == ""


def test_a_claim_that_is_there_and_cannot_be_read_holds_its_pod_alone(planned: Planned) -> None:
    found = planned(stateful(), made_in("b", "usual"), claim("data-db-1", size="much"))
    assert found["ml/db-0"] == ("n2", {"ml/data-db-0": None})
    assert "claim ml/data-db-1 cannot be read: spec.resources.requests.storage" in found["ml/db-1"]


def test_a_claim_takes_the_place_of_the_volume_that_has_its_name(planned: Planned) -> None:
    one = stateful(count=1)
    one["spec"]["template"]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "nowhere"}}]
    assert planned(one, made_in("b", "usual")) == {"ml/db-0": ("n2", {"ml/data-db-0": None})}


@pytest.mark.parametrize(
    ("claims", "field", "found"),
    [
        ({"data": {}}, "", "found a map, allowed is a list of claims"),
        (["data"], "[0]", "found 'data', allowed is a claim"),
        ([{"spec": {}}], "[0].metadata.name", "found null, allowed is a name"),
        ([{"metadata": {"name": "Data"}}], "[0].metadata.name", "found 'Data-db-0', allowed is"),
        ([{"metadata": {"name": "a"}, "spec": {"accessModes": ["RW"]}}], "[0].spec.accessModes[0]", "found 'RW'"),
    ],
)
def test_a_bad_template_is_one_mistake_of_its_stateful_set_and_nobody_elses(
    planned: Planned, claims: Any, field: str, found: str
) -> None:
    beside = [pod("p", "c"), claim("c", storage_class="usual"), made_in("b", "usual")]
    assert planned(stateful(claims=claims), *beside) == {"ml/p": ("n2", {"ml/c": None})}
    (line,) = planned.errors.splitlines()
    assert f"StatefulSet ml/db: spec.volumeClaimTemplates{field}: {found}" in line


def scratch(template: Any = None) -> Object:
    """A volume of which each pod has a claim of its own."""
    made = {"metadata": {"labels": {"app": "x"}}, "spec": claim("x", storage_class="usual")["spec"]}
    return {"name": "scratch", "ephemeral": {"volumeClaimTemplate": made if template is None else template}}


def test_the_claims_of_ephemeral_volumes_are_made_for_each_pod(planned: Planned) -> None:
    """As their controller would, for pods that are written out and for those of a controller."""
    assert planned(pod("p", volumes=[scratch()]), made_in("b", "usual")) == {"ml/p": ("n2", {"ml/p-scratch": None})}
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "ml"},
        "spec": {"parallelism": 2, "completions": 2, "template": {"spec": pod("x", volumes=[scratch()])["spec"]}},
    }  # fmt: skip
    assert planned(job, made_in("b", "usual")) == {
        "ml/j-0": ("n2", {"ml/j-0-scratch": None}),
        "ml/j-1": ("n2", {"ml/j-1-scratch": None}),
    }
    assert planned.errors == ""


def test_an_ephemeral_claim_that_is_there_is_not_made_again_and_must_be_its_pods(planned: Planned) -> None:
    """Wherever it stands in the files."""
    old = claim("p-scratch", "pv", storage_class="usual")
    there = [pod("p", volumes=[scratch()]), made_in("b", "usual"), volume("pv", of="p-scratch", host="n1")]
    (reason,) = planned(*there, old).values()
    assert "ml/p-scratch" in reason
    old["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}
    ]
    assert planned(*there, old) == {"ml/p": ("n1", None)}


@pytest.mark.parametrize(
    ("template", "field", "found"),
    [
        ("data", "", "found 'data', allowed is a claim"),
        ({"spec": {"accessModes": ["RW"]}}, ".spec.accessModes[0]", "found 'RW'"),
        ({"metadata": {"labels": 3}, "spec": {}}, ".metadata.labels", "found"),
    ],
)
def test_a_bad_template_of_an_ephemeral_volume_is_one_mistake_of_who_has_it(
    planned: Planned, template: Any, field: str, found: str
) -> None:
    path = "spec.volumes[0].ephemeral.volumeClaimTemplate"
    beside = [pod("q", "c"), claim("c", storage_class="usual"), made_in("b", "usual")]
    waits = planned(pod("p", volumes=[scratch(template)]), *beside)
    assert waits["ml/q"] == ("n2", {"ml/c": None})
    assert "its controller has not made it yet" in waits["ml/p"]
    (line,) = planned.errors.splitlines()
    assert f"Pod ml/p: {path}{field}: {found}" in line
    one = stateful(count=3, claims=[])
    one["spec"]["template"]["spec"]["volumes"] = [scratch(template)]
    assert planned(one, *beside) == {"ml/q": ("n2", {"ml/c": None})}
    (line,) = planned.errors.splitlines()
    assert f"StatefulSet ml/db: spec.template.{path}{field}: {found}" in line
