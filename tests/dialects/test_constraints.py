"""Tolerations, selectors, affinity, host ports, anti-affinity: as Kubernetes means them."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.selectors import (
    HostPort,
    LabelSelector,
    NodeTerm,
    PodTerm,
    Preference,
    Requirement,
    Toleration,
)
from phalanx.model.task import Shape, Task

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod(**spec: Any) -> dict[str, Any]:
    spec = {"schedulerName": "phalanx", "containers": [{}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ml"}, "spec": spec}


def task(**spec: Any) -> Task:
    event = read(pod(**spec), ["phalanx"])
    assert isinstance(event, TaskSeen), event
    return event.task


def shape(**spec: Any) -> Shape:
    return task(**spec).shape


def refusal(**spec: Any) -> tuple[str, str]:
    """Return what is said of a pending pod, after making sure that a running one is still charged."""
    assert task(nodeName="n1", **spec).charged
    event = read(pod(**spec), ["phalanx"])
    assert isinstance(event, Refused), event
    return event.field, event.message


def node_affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def test_tolerations_have_kubernetes_defaults_and_one_order() -> None:
    listed = [
        {"key": "gpu", "value": "h100", "effect": "NoSchedule"},
        {"operator": "Exists", "tolerationSeconds": -1},
        {"key": "gpu", "operator": "Equal", "value": "h100", "effect": "NoSchedule"},
        {"key": "age", "operator": "Gt", "value": "-3"},
    ]
    expected = (
        Toleration("", "Exists"),
        Toleration("age", "Gt", "-3"),
        Toleration("gpu", "Equal", "h100", "NoSchedule"),
    )
    assert shape(tolerations=listed).tolerations == expected
    assert shape(tolerations=listed[::-1]).tolerations == expected


@pytest.mark.parametrize(
    ("toleration", "field", "message"),
    [
        ({"key": "a", "operator": "In"}, "operator", "found 'In', allowed is Exists, Equal, Lt, Gt"),
        (
            {"key": "a", "effect": "Never"},
            "effect",
            "found 'Never', allowed is NoSchedule, PreferNoSchedule, NoExecute",
        ),
        ({"value": "x"}, "key", "found none with Equal, allowed is none only with Exists"),
        ({"key": "a", "operator": "Lt", "value": "1.5"}, "value", "found '1.5', allowed with Lt is a whole number"),
        (
            {"key": "a", "operator": "Gt", "value": "\u0665"},
            "value",
            r"found '\u0665', allowed with Gt is a whole number",
        ),
    ],
)
def test_a_toleration_that_means_nothing_is_refused(toleration: dict[str, str], field: str, message: str) -> None:
    assert refusal(tolerations=[toleration]) == (f"spec.tolerations[0].{field}", message)


def test_a_node_selector_is_a_term_in_which_everything_holds() -> None:
    read_term = shape(nodeSelector={"zone": "a", "disk": "ssd"}).node_selector
    assert read_term == NodeTerm((Requirement("disk", "In", ("ssd",)), Requirement("zone", "In", ("a",))))
    assert shape(nodeSelector={}).node_selector is None


def test_required_node_affinity_keeps_every_operator_and_empty_terms() -> None:
    expressions = [
        {"key": "a", "operator": "In", "values": ["y", "x", "y"]},
        {"key": "b", "operator": "NotIn", "values": ["z"]},
        {"key": "c", "operator": "Exists"},
        {"key": "d", "operator": "DoesNotExist", "values": None},
        {"key": "e", "operator": "Gt", "values": ["abc"]},
        {"key": "f", "operator": "Lt", "values": ["9223372036854775808"]},
    ]
    name = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    terms = shape(affinity=node_affinity({"matchExpressions": expressions, "matchFields": [name]}, {})).node_terms
    assert terms == (
        NodeTerm(
            (
                Requirement("a", "In", ("x", "y")), Requirement("b", "NotIn", ("z",)), Requirement("c", "Exists"),
                Requirement("d", "DoesNotExist"), Requirement("e", "Gt", ("abc",)),
                Requirement("f", "Lt", ("9223372036854775808",)),
            ),
            (Requirement("metadata.name", "In", ("n1",)),),
        ),
        NodeTerm(),
    )  # fmt: skip


def test_no_terms_at_all_is_a_wish_that_no_node_fulfils() -> None:
    assert shape(affinity=node_affinity()).node_terms == ()
    assert shape(affinity={"nodeAffinity": None}).node_terms is None


ALL = "In, NotIn, Exists, DoesNotExist, Gt, Lt"


@pytest.mark.parametrize(
    ("where", "expression", "field", "message"),
    [
        ("matchExpressions", {"key": "a", "operator": "Near"}, "operator", f"found 'Near', allowed is {ALL}"),
        ("matchExpressions", {"key": "a"}, "operator", f"found '', allowed is {ALL}"),
        ("matchExpressions", {"operator": "Exists"}, "key", "missing"),
        ("matchExpressions", {"key": "a", "operator": "In"}, "values",
         "found 0 values, allowed with In is at least one"),
        ("matchExpressions", {"key": "a", "operator": "Exists", "values": ["x"]}, "values",
         "found 1 values, allowed with Exists is none"),
        ("matchExpressions", {"key": "a", "operator": "Gt", "values": ["1", "2"]}, "values",
         "found 2 values, allowed with Gt is exactly 1"),
        ("matchFields", {"key": "metadata.name", "operator": "Exists"}, "operator",
         "found 'Exists', allowed is In, NotIn"),
        ("matchFields", {"key": "metadata.name", "operator": "In", "values": ["a", "b"]}, "values",
         "found 2 values, allowed with In is exactly 1"),
        ("matchFields", {"key": "metadata.uid", "operator": "In", "values": ["a"]}, "key",
         "found 'metadata.uid', allowed is metadata.name"),
    ],
)  # fmt: skip
def test_an_expression_that_cannot_be_understood_is_refused(
    where: str, expression: dict[str, Any], field: str, message: str
) -> None:
    path = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[1].{where}[0].{field}"
    assert refusal(affinity=node_affinity({}, {where: [expression]})) == (path, message)


def test_preferred_node_affinity_keeps_its_weights_and_drops_empty_terms() -> None:
    exists = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    wishes = [{"weight": 30, "preference": exists}, {"weight": 100, "preference": {}}]
    found = shape(affinity={"nodeAffinity": {PREFERRED: wishes}}).preferences
    assert found == (Preference(30, NodeTerm((Requirement("a", "Exists"),))),)


@pytest.mark.parametrize("weight", [0, 101, -1])
def test_a_weight_outside_one_to_a_hundred_is_refused(weight: int) -> None:
    affinity = {"nodeAffinity": {PREFERRED: [{"weight": weight, "preference": {}}]}}
    field, message = refusal(affinity=affinity)
    assert field == f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight"
    assert message == f"found {weight}, allowed is a whole number {'<= 100' if weight > 100 else '>= 1'}"


def test_host_ports_count_for_containers_and_sidecars_only() -> None:
    containers = [{"ports": [
        {"containerPort": 80, "hostPort": 8080},
        {"containerPort": 53, "hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"},
        {"containerPort": 9090},
    ]}]  # fmt: skip
    inits = [
        {"ports": [{"containerPort": 1, "hostPort": 1}]},
        {"ports": [{"containerPort": 2, "hostPort": 2}], "restartPolicy": "Always"},
    ]
    found = shape(containers=containers, initContainers=inits).host_ports
    assert found == (HostPort(2), HostPort(53, "UDP", "10.0.0.1"), HostPort(8080))


def test_on_the_host_network_every_port_is_one_of_the_host() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}, {"containerPort": 80, "hostIP": ""}]
    assert shape(containers=[{"ports": ports}], hostNetwork=True).host_ports == (HostPort(80), HostPort(81))


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        ({"hostUsers": False, "hostNetwork": True}, ("UserNamespacesHostNetworkSupport",)),
        ({"hostUsers": False}, ()),
        ({"hostUsers": True, "hostNetwork": True}, ()),
        ({"hostNetwork": True}, ()),
        ({"containers": [{"restartPolicyRules": [{"action": "Restart"}]}]}, ()),
        ({"containers": [{}, {"restartPolicyRules": [{"action": "Restart"}, {"action": "RestartAllContainers"}]}]},
         ("RestartAllContainersOnContainerExits",)),
        ({"hostUsers": False, "hostNetwork": True,
          "initContainers": [{"restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
         ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport")),
    ],
)  # fmt: skip
def test_what_only_some_kubelets_can_do_is_a_feature_that_the_node_must_declare(
    spec: dict[str, Any], needed: tuple[str, ...]
) -> None:
    assert shape(**spec).features == needed


def test_ports_that_do_not_exist_are_refused() -> None:
    field = "spec.containers[0].ports[0]"
    odd = [{"ports": [{"containerPort": 80, "hostPort": 80, "protocol": "ICMP"}]}]
    high = [{"ports": [{"containerPort": 80, "hostPort": 65536}]}]
    assert refusal(containers=odd) == (f"{field}.protocol", "found 'ICMP', allowed is TCP, UDP, SCTP")
    assert refusal(containers=high) == (f"{field}.hostPort", "found 65536, allowed is a whole number <= 65535")


def anti(*terms: dict[str, Any]) -> tuple[PodTerm, ...]:
    return task(nodeName="n1", affinity={"podAntiAffinity": {REQUIRED: list(terms)}}).repels


@pytest.mark.parametrize(
    ("term", "selector", "namespaces", "namespace_selector"),
    [
        ({}, None, {"ml"}, None),
        ({"labelSelector": {}}, LabelSelector(), {"ml"}, None),
        ({"labelSelector": {}, "namespaces": ["b", "a"]}, LabelSelector(), {"a", "b"}, None),
        ({"labelSelector": {}, "namespaceSelector": {}}, LabelSelector(), set(), LabelSelector()),
        ({"labelSelector": {}, "namespaces": ["a"], "namespaceSelector": {"matchLabels": {"t": "1"}}},
         LabelSelector(), {"a"}, LabelSelector((Requirement("t", "In", ("1",)),))),
        ({"labelSelector": {"matchLabels": {"b": "2", "a": "1"},
                            "matchExpressions": [{"key": "c", "operator": "Exists"}]}},
         LabelSelector((Requirement("a", "In", ("1",)), Requirement("b", "In", ("2",)), Requirement("c", "Exists"))),
         {"ml"}, None),
    ],
)  # fmt: skip
def test_anti_affinity_of_a_running_pod_keeps_its_rules_of_namespaces(
    term: dict[str, Any], selector: LabelSelector, namespaces: set[str], namespace_selector: LabelSelector
) -> None:
    assert anti({"topologyKey": "zone", **term}) == (
        PodTerm("zone", selector, frozenset(namespaces), namespace_selector),
    )


def test_a_bad_term_of_a_running_pod_is_left_out_and_the_good_ones_stay() -> None:
    """The kubelet would not undo the pod for it, and neither do we."""
    good = {"topologyKey": "zone", "labelSelector": {}}
    assert anti({"labelSelector": {}}, good) == (PodTerm("zone", LabelSelector(), frozenset({"ml"})),)


def test_a_label_selector_knows_no_numbers() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}
    affinity = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": selector}]}}
    path = f"spec.affinity.podAntiAffinity.{REQUIRED}[0].labelSelector.matchExpressions[0].operator"
    assert refusal(affinity=affinity) == (path, "found 'Gt', allowed is In, NotIn, Exists, DoesNotExist")


WHOLE = {
    "priority": 1, "nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}], "hostNetwork": True,
    "containers": [{"name": "c", "resources": {"requests": {"cpu": 1}}, "ports": [{"containerPort": 80}]}],
    "initContainers": [{"resources": {"requests": {"cpu": 3}}}], "overhead": {"cpu": 1},
    "resources": {"requests": {"memory": 1}}, "affinity": node_affinity({}),
}  # fmt: skip


@pytest.mark.parametrize("field", sorted(WHOLE))
def test_pods_that_differ_in_one_field_do_not_share_a_remembered_shape(field: str) -> None:
    without = {key: value for key, value in WHOLE.items() if key != field}
    assert shape(**WHOLE) == shape(**WHOLE) != shape(**without)


def test_pods_of_one_template_share_one_shape() -> None:
    one = task(nodeSelector={"a": "b"}, tolerations=[{"operator": "Exists"}])
    event = read({**pod(nodeSelector={"a": "b"}, tolerations=[{"operator": "Exists"}]),
                  "metadata": {"name": "other", "namespace": "ml"}}, ["phalanx"])  # fmt: skip
    assert isinstance(event, TaskSeen)
    assert event.task.shape is one.shape
