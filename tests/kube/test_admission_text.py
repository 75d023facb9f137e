"""What is installed when the admission policies are chosen, part by part, and what takes them away again."""

import pytest
import yaml

from phalanx.cli.main import main
from phalanx.kube.install import Installation, Values, objects, removal
from phalanx.kube.installation.values import Admission
from tests.kube.admission_table import Manifest


def policies(namespace: str = "phalanx-system", **parts: bool) -> list[Manifest]:
    chosen = Values(scheduler_names=["a", "null"], admission=Admission(enabled=True, **parts))
    made = objects(Installation("1e3", namespace, chosen))
    return [one for one in made if one["metadata"]["labels"].get("app.kubernetes.io/component") == "admission"]


def names(made: list[Manifest]) -> set[str]:
    return {one["metadata"]["name"].partition(".")[0] for one in made}


def test_they_are_installed_when_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "--print"]) == 0
    without = list(yaml.safe_load_all(capsys.readouterr().out))
    assert main(["install", "--print", "--admission"]) == 0
    chosen = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [one for one in chosen if one not in without] == chosen[len(without) :]
    more = {"keys", "namespaces", "queues", "queues-of-pods", "queues-of-made-pods", "bound"}
    assert names(chosen[len(without) :]) == more


def test_each_part_can_be_had_alone() -> None:
    off = dict.fromkeys(("keys", "queues", "bound", "defaults", "gpus"), False)
    assert policies("phalanx-system", **off) == []
    assert names(policies("phalanx-system", **off | {"bound": True})) == {"bound"}
    assert {one["kind"] for one in policies("phalanx-system", **off | {"defaults": True})} == {
        "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
    }  # fmt: skip


def test_none_can_take_the_cluster_down_and_each_is_bound() -> None:
    made = policies(defaults=True, gpus=True)
    rules = [one for one in made if one["kind"].endswith("Policy")]
    assert {one["spec"]["failurePolicy"] for one in rules} == {"Ignore"}
    bound = {one["spec"]["policyName"] for one in made if one["kind"].endswith("Binding")}
    assert bound == {one["metadata"]["name"] for one in rules}
    for one in rules:
        spec = one["spec"]
        there = spec["matchConstraints"]["namespaceSelector"]["matchExpressions"]
        apart = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "phalanx-system"]}
        assert apart in there


def test_names_that_yaml_would_take_for_something_else_stay_names() -> None:
    made = policies(defaults=True)
    (mutating,) = (one for one in made if one["kind"] == "MutatingAdmissionPolicy")
    chosen, _ = mutating["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
    assert chosen["values"] == ["a", "null"]
    assert {one["metadata"]["labels"]["app.kubernetes.io/name"] for one in made} == {"1e3"}
    assert "${" not in str(made)


def test_two_installations_share_none() -> None:
    one, other = policies(), policies(namespace="other")
    assert not {doc["metadata"]["name"] for doc in one} & {doc["metadata"]["name"] for doc in other}


def test_removal_names_them_all() -> None:
    whole = Installation("a", "b", Values(admission=Admission(enabled=True, defaults=True, gpus=True)))
    gone = {(one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(removal(whole))}
    there = {(one["kind"], one["metadata"]["name"]) for one in objects(whole) if "admission" in str(one["metadata"])}
    assert len(there) == 16
    assert there <= gone
