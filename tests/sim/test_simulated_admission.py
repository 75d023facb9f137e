"""Admission fills in what an API server would have, and nothing else."""

from typing import Any

import pytest

from phalanx.model.events import PriorityClassSeen, Refused
from phalanx.sim.admission import Admission


def pod(spec: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "a", "namespace": "ml"}, "spec": spec}


def admitted(spec: dict[str, Any], *classes: PriorityClassSeen, runtime: dict[str, Any] | None = None) -> Any:
    """Return the spec after admission, or what refused the pod."""
    admission = Admission()
    for one in classes:
        admission.learn_priority(one)
    if runtime is not None:
        admission.learn_runtime(runtime)
    result = admission.admit(pod(spec))
    return result if isinstance(result, Refused) else result["spec"]


def test_an_object_gets_a_namespace_and_a_uid_that_is_the_same_every_time() -> None:
    assert Admission().identify({"kind": "Pod", "metadata": {"name": "a"}})["metadata"] == {
        "name": "a", "namespace": "default", "uid": "Pod/default/a",
    }  # fmt: skip
    assert Admission().identify({"kind": "Node", "metadata": {"name": "n"}})["metadata"] == {
        "name": "n",
        "uid": "Node/n",
    }


def test_what_an_object_has_already_is_left_alone() -> None:
    metadata = {"name": "a", "namespace": "ml", "uid": "7", "creationTimestamp": "2026-11-01T12:00:00Z"}
    assert Admission().identify({"kind": "Pod", "metadata": metadata})["metadata"] == metadata


def test_generated_names_are_numbered() -> None:
    admission = Admission()
    pods = [admission.identify({"kind": "Pod", "metadata": {"generateName": "train-"}}) for _ in range(2)]
    assert [one["metadata"]["name"] for one in pods] == ["train-0", "train-1"]


def test_limits_become_requests_where_there_are_none() -> None:
    spec = {
        "containers": [{"resources": {"limits": {"cpu": "2", "nvidia.com/gpu": 1}, "requests": {"cpu": "1"}}}],
        "initContainers": [{"resources": {"limits": {"memory": "1Gi"}}}, {"name": "bare"}],
    }
    assert admitted(spec) == {
        "containers": [
            {"resources": {"limits": {"cpu": "2", "nvidia.com/gpu": 1}, "requests": {"nvidia.com/gpu": 1, "cpu": "1"}}}
        ],
        "initContainers": [
            {"resources": {"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}}}, {"name": "bare"}
        ],
    }  # fmt: skip


def test_a_limit_of_the_whole_pod_is_its_request_unless_its_containers_say_what_they_need() -> None:
    spec = {
        "resources": {"limits": {"cpu": "4", "memory": "8Gi", "hugepages-2Mi": "4Mi"}},
        "containers": [{"resources": {"requests": {"cpu": "1", "hugepages-2Mi": "2Mi"}}}],
    }
    assert admitted(spec)["resources"]["requests"] == {"memory": "8Gi", "hugepages-2Mi": "4Mi"}


@pytest.mark.parametrize(
    ("spec", "priority"),
    [
        ({"priorityClassName": "gold"}, 1000),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000),
        ({"priorityClassName": "system-cluster-critical"}, 2_000_000_000),
        ({}, 5),
        ({"priorityClassName": "gold", "priority": 7}, 7),
        ({"priority": 0}, 0),
    ],
)
def test_priority_comes_from_the_class_unless_the_pod_has_one(spec: dict[str, Any], priority: int) -> None:
    classes = [
        PriorityClassSeen("gold", 1000),
        PriorityClassSeen("usual", 5, default=True),
        PriorityClassSeen("also", 6, default=True),
    ]
    assert admitted(spec, *classes)["priority"] == priority


def test_a_pod_of_a_class_that_does_not_exist_is_refused_unless_it_is_on_a_node() -> None:
    message = "found 'gold', allowed is the name of a PriorityClass that exists"
    assert admitted({"priorityClassName": "gold"}) == Refused("Pod", "ml/a", "spec.priorityClassName", message)
    running = {"priorityClassName": "gold", "nodeName": "n1"}
    assert admitted(running) == running


def test_a_runtime_class_adds_its_cost_and_where_it_runs() -> None:
    kata = {
        "kind": "RuntimeClass", "metadata": {"name": "kata"}, "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {"nodeSelector": {"kata": "yes"}, "tolerations": [{"key": "kata"}]},
    }  # fmt: skip
    spec = {"runtimeClassName": "kata", "nodeSelector": {"gpu": "h100"}, "tolerations": [{"key": "gpu"}]}
    assert admitted(spec, runtime=kata) == {
        "runtimeClassName": "kata", "overhead": {"cpu": "250m"},
        "nodeSelector": {"gpu": "h100", "kata": "yes"}, "tolerations": [{"key": "gpu"}, {"key": "kata"}],
    }  # fmt: skip
    message = "found 'kata', allowed is the name of a RuntimeClass that exists"
    assert admitted(spec) == Refused("Pod", "ml/a", "spec.runtimeClassName", message)


@pytest.mark.parametrize(
    "spec",
    [
        None, [], "text", {"containers": None}, {"containers": {"name": "main"}}, {"containers": [None, "main", 5]},
        {"containers": [{"resources": []}]}, {"containers": [{"resources": {"limits": ["cpu"], "requests": 5}}]},
        {"containers": [{"resources": {"limits": {"cpu": 1}, "requests": "all"}}]}, {"resources": {"limits": None}},
        {"priority": "high"}, {"priorityClassName": None}, {"runtimeClassName": ""},
    ],
)  # fmt: skip
def test_what_has_a_wrong_type_passes_untouched(spec: Any) -> None:
    assert Admission().admit({"kind": "Pod", "spec": spec}) == {"kind": "Pod", "spec": spec}


@pytest.mark.parametrize("metadata", [None, [], "text", {"namespace": []}, {"name": {}}, {"uid": []}])
def test_an_object_with_odd_metadata_is_identified_without_a_crash(metadata: Any) -> None:
    assert Admission().identify({"kind": "Pod", "metadata": metadata})["kind"] == "Pod"


def test_an_admitted_object_is_a_copy() -> None:
    spec = {"containers": [{"resources": {"limits": {"cpu": 1}}}]}
    given = pod(spec)
    Admission().admit(given)
    assert given == pod({"containers": [{"resources": {"limits": {"cpu": 1}}}]})


def test_a_class_that_never_preempts_says_so_for_its_pods() -> None:
    meek = PriorityClassSeen("meek", 7, evicts=False)
    filled = {"priorityClassName": "meek", "priority": 7, "preemptionPolicy": "Never"}
    assert admitted({"priorityClassName": "meek"}, meek) == filled
    assert admitted({}, PriorityClassSeen("meek", 7, default=True, evicts=False)) == filled
    assert admitted({"priorityClassName": "bold"}, meek, PriorityClassSeen("bold", 7)) == {
        "priorityClassName": "bold",
        "priority": 7,
    }
    # A pod that has a priority was admitted by a real API server, and has its own word.
    assert admitted({"priorityClassName": "meek", "priority": 7}, meek) == {"priorityClassName": "meek", "priority": 7}
