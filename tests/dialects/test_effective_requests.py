"""What a pod takes of a node, in numbers: every branch of the formula."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.axis import AMOUNT_MAX
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.task import Shape

MI = 2**20


def container(name: str = "c", **resources: Any) -> dict[str, Any]:
    return {"name": name, "resources": {key: value for key, value in resources.items() if value is not None}}


def asks(cpu: Any = None, memory: Any = None, name: str = "c", **more: Any) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory}
    return {**container(name, requests={key: value for key, value in amounts.items() if value is not None}), **more}


def sidecar(cpu: str, name: str = "s") -> dict[str, Any]:
    return asks(cpu, name=name, restartPolicy="Always")


def read_shape(spec: dict[str, Any], status: dict[str, Any] | None = None) -> Shape:
    """Return the shape of a pod: on a node when there is a status."""
    spec = {"schedulerName": "phalanx", **spec, **({"nodeName": "n1"} if status is not None else {})}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec, "status": status}
    event = read(document, ["phalanx"])
    assert isinstance(event, TaskSeen), event
    return event.task.shape


def taken(spec: dict[str, Any], status: dict[str, Any] | None = None) -> dict[str, int]:
    """Return the amounts, without the one pod that every pod takes."""
    amounts = dict(read_shape(spec, status).requests)
    assert amounts.pop("pods") == 1
    return amounts


def test_containers_add_up_and_everything_is_sorted_with_one_pod() -> None:
    spec = {"containers": [
        container(requests={"nvidia.com/gpu": "1", "cpu": "500m", "memory": "1Gi", "example.com/dongle": 2}),
        container(requests={"cpu": "1", "ephemeral-storage": "10M", "hugepages-2Mi": "4Mi"}),
    ]}  # fmt: skip
    assert read_shape(spec).requests == (
        ("cpu", 1500), ("ephemeral-storage", 10_000_000), ("example.com/dongle", 2), ("hugepages-2Mi", 4 * MI),
        ("memory", 1024 * MI), ("nvidia.com/gpu", 1000), ("pods", 1),
    )  # fmt: skip


def test_a_pod_that_asks_for_nothing_still_takes_one_pod() -> None:
    assert read_shape({"containers": [{}]}).requests == (("pods", 1),)


def test_zero_is_not_an_amount() -> None:
    assert taken({"containers": [asks("0", "1Mi")]}) == {"memory": MI}


def test_a_resource_with_only_a_limit_asks_for_its_limit() -> None:
    spec = {"containers": [container(requests={"cpu": "1"}, limits={"cpu": "4", "nvidia.com/gpu": 8})]}
    assert taken(spec) == {"cpu": 1000, "nvidia.com/gpu": 8000}


def test_init_containers_run_one_at_a_time_so_the_largest_counts() -> None:
    spec = {"containers": [asks("1"), asks("1")], "initContainers": [asks("1500m"), asks("3"), asks("500m")]}
    assert taken(spec) == {"cpu": 3000}


def test_init_containers_smaller_than_the_rest_cost_nothing() -> None:
    spec = {"containers": [asks("2", "1Mi")], "initContainers": [asks("1", "5Mi")]}
    assert taken(spec) == {"cpu": 2000, "memory": 5 * MI}


def test_sidecars_run_beside_the_containers() -> None:
    assert taken({"containers": [asks("1")], "initContainers": [sidecar("200m"), sidecar("300m")]}) == {"cpu": 1500}


def test_an_init_container_runs_beside_the_sidecars_before_it_and_not_those_after() -> None:
    inits = [sidecar("1"), asks("4"), sidecar("2")]
    assert taken({"containers": [asks("1")], "initContainers": inits}) == {"cpu": 5000}
    assert taken({"containers": [asks("3")], "initContainers": inits}) == {"cpu": 6000}


def test_overhead_is_added_once() -> None:
    spec = {"containers": [asks("1"), asks("1")], "overhead": {"cpu": "250m", "memory": "8Mi"}}
    assert taken(spec) == {"cpu": 2250, "memory": 8 * MI}


def test_amounts_for_the_whole_pod_replace_the_sum_of_cpu_memory_and_huge_pages_only() -> None:
    spec = {
        "containers": [container(requests={"cpu": "4", "memory": "1Mi", "nvidia.com/gpu": "1"})],
        "resources": {"requests": {"cpu": "2", "hugepages-2Mi": "2Mi", "nvidia.com/gpu": "7"}},
        "overhead": {"cpu": "100m"},
    }
    assert taken(spec) == {"cpu": 2100, "memory": MI, "hugepages-2Mi": 2 * MI, "nvidia.com/gpu": 1000}


def test_a_limit_for_the_whole_pod_is_its_request_unless_containers_say_what_they_need() -> None:
    spec = {"containers": [asks("1")], "resources": {"limits": {"cpu": "8", "memory": "64Mi"}}}
    assert taken(spec) == {"cpu": 1000, "memory": 64 * MI}


@pytest.mark.parametrize(
    ("spec", "scored"),
    [
        ({"containers": [{}]}, (100, 200 * MI)),
        ({"containers": [{}, {}]}, (200, 400 * MI)),
        ({"containers": [asks("1"), {}]}, (1100, 400 * MI)),
        ({"containers": [asks("0", "0")]}, (0, 0)),
        ({"containers": [asks("1", "1Mi")], "initContainers": [{}]}, (1000, 200 * MI)),
        ({"containers": [asks("1", "1Mi")], "initContainers": [sidecar("1")]}, (2000, 201 * MI)),
        ({"containers": [{}], "overhead": {"cpu": "1"}}, (1100, 200 * MI)),
        ({"containers": [{}, {}], "resources": {"requests": {"cpu": "2"}}}, (2000, 400 * MI)),
        ({"containers": [asks(memory="1Mi"), {}], "resources": {"requests": {"cpu": "2"}}}, (2000, MI)),
    ],
)
def test_scores_count_a_container_that_names_no_amount_as_a_little(
    spec: dict[str, Any], scored: tuple[int, int]
) -> None:
    assert read_shape(spec).scored == scored


def resized(spec: str | None, status: str | None, allocated: str | None, **more: Any) -> dict[str, int]:
    """Return what a pod on a node takes whose one container asks for, has and was given these."""
    one = {
        "name": "c",
        "resources": None if status is None else {"requests": {"cpu": status}},
        "allocatedResources": None if allocated is None else {"cpu": allocated},
    }
    return taken({"containers": [asks(spec)]}, {"phase": "Running", "containerStatuses": [one], **more})


INFEASIBLE = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
DEFERRED = [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]


@pytest.mark.parametrize(
    ("spec", "status", "allocated", "conditions", "cpu"),
    [
        ("2", "1", "1", None, 2000),
        ("1", "2", "1", None, 2000),
        ("1", "1", "2", None, 2000),
        ("9", "1", "2", DEFERRED, 9000),
        ("9", "1", "2", INFEASIBLE, 2000),
        ("9", "1", None, INFEASIBLE, 1000),
        ("9", None, "2", INFEASIBLE, 9000),
    ],
)
def test_a_pod_being_resized_takes_the_most_of_what_it_wants_has_and_was_given(
    spec: str, status: str, allocated: str, conditions: Any, cpu: int
) -> None:
    assert resized(spec, status, allocated, conditions=conditions) == {"cpu": cpu}


def test_a_resize_says_nothing_about_ordinary_init_containers() -> None:
    status = {
        "initContainerStatuses": [
            {"name": "i", "resources": {"requests": {"cpu": "7"}}},
            {"name": "s", "resources": {"requests": {"cpu": "3"}}},
        ]
    }
    inits = [asks("5", name="i"), sidecar("1", name="s")]
    assert taken({"containers": [asks("1")], "initContainers": inits}, status) == {"cpu": 5000}
    assert taken({"containers": [asks("3")], "initContainers": inits}, status) == {"cpu": 6000}


def test_a_pending_pod_goes_by_its_spec_alone() -> None:
    status = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "7"}}}]}
    spec = {"schedulerName": "phalanx", "containers": [asks("1")]}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec, "status": status}
    event = read(document, ["phalanx"])
    assert isinstance(event, TaskSeen)
    assert event.task.shape.requests == (("cpu", 1000), ("pods", 1))


@pytest.mark.parametrize(("conditions", "cpu"), [(None, 4000), (INFEASIBLE, 3000)])
def test_a_resize_of_the_whole_pod_takes_the_most_too(conditions: Any, cpu: int) -> None:
    spec = {"containers": [{}], "resources": {"requests": {"cpu": "4"}}}
    status = {
        "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}, "conditions": conditions,
    }  # fmt: skip
    assert taken(spec, status) == {"cpu": cpu}


def test_a_bad_quantity_of_a_pending_pod_is_refused_by_its_full_path() -> None:
    spec = {"schedulerName": "phalanx", "containers": [{}, container(requests={"cpu": "1", "memory": "8GB"})]}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ml"}, "spec": spec}
    assert read(document, ["phalanx"]) == Refused(
        "Pod", "ml/p", "spec.containers[1].resources.requests.memory",
        "found '8GB', allowed is a Kubernetes quantity such as 2, 500m, 1.5 or 8Gi",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": [container(limits={"nvidia.com/gpu": 0.5})]},
         "spec.containers[0].resources.limits[nvidia.com/gpu]"),
        ({"containers": [{}], "initContainers": [asks("x")]}, "spec.initContainers[0].resources.requests.cpu"),
        ({"containers": [{}], "overhead": {"cpu": []}}, "spec.overhead.cpu"),
        ({"containers": [{}], "resources": {"requests": {"memory": "-1"}}}, "spec.resources.requests.memory"),
        ({"containers": [container(requests={"pods": "5"})]}, "spec.containers[0].resources.requests.pods"),
        ({"containers": [container(requests={"a b\n": "5"})]}, r"spec.containers[0].resources.requests['a b\n']"),
        ({"containers": [asks("5e12")] * 2}, "spec.containers"),
        ({"containers": []}, "spec.containers"),
    ],
)  # fmt: skip
def test_every_place_of_a_quantity_has_a_name(spec: dict[str, Any], field: str) -> None:
    document = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"schedulerName": "phalanx", **spec},
    }  # fmt: skip
    event = read(document, ["phalanx"])
    assert isinstance(event, Refused)
    assert event.field == field


def test_an_absurd_quantity_of_a_running_pod_fills_its_node_in_that_resource() -> None:
    """Its room is not known, so nobody is put beside it."""
    spec = {"containers": [asks("1e30", "1Mi")], "overhead": {"cpu": "1"}}
    assert taken(spec, {"phase": "Running"}) == {"cpu": AMOUNT_MAX, "memory": MI}
