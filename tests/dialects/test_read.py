"""The door: any document in, an event out, never an exception."""

import json
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read, read_json
from phalanx.model.axis import AMOUNT_MAX
from phalanx.model.events import Event, NamespaceSeen, NodeSeen, Refused, TaskSeen
from phalanx.model.reference import Reference
from phalanx.model.task import Hold, State

EVENTS = (TaskSeen, NodeSeen, NamespaceSeen, Refused)

POD: dict[str, Any] = {
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {
        "name": "p", "namespace": "ml", "uid": "u", "labels": {"a": "b"}, "creationTimestamp": "2026-11-01T12:00:00Z",
        "annotations": {"phalanx.dev/gang": "g", "phalanx.dev/minimum": "2", "phalanx.dev/start-timeout": "5m"},
        "ownerReferences": [{"controller": True}],
    },
    "spec": {
        "schedulerName": "phalanx", "priority": 5, "hostNetwork": False, "overhead": {"cpu": "1m"},
        "containers": [{
            "name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"nvidia.com/gpu": "1"}},
            "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP", "hostIP": ""}],
        }],
        "initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}],
        "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}],
        "nodeSelector": {"zone": "z"}, "volumes": [{"emptyDir": {}}], "topologySpreadConstraints": [],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}],
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}, "namespaces": ["x"]}]},
        },
    },
    "status": {
        "phase": "Running", "startTime": "2026-11-01T12:00:00Z", "conditions": [{"type": "PodScheduled"}],
        "containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "2"}}, "state": {"terminated": {}}}],
    },
}  # fmt: skip
NODE: dict[str, Any] = {
    "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"zone": "z"}},
    "spec": {"unschedulable": False, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "8", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]},
}  # fmt: skip
NAMESPACE: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": {"a": "b"}}}


def on_node(pod: dict[str, Any]) -> dict[str, Any]:
    return {**pod, "spec": {**pod["spec"], "nodeName": "n1"}}


def changed(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy with another value at a path such as `spec.containers.0.name`."""
    copy = deepcopy(document)
    *holders, last = path.split(".")
    here: Any = copy
    for step in holders:
        here = here[int(step)] if step.isdigit() else here[step]
    here[int(last) if last.isdigit() else last] = value
    return copy


def test_a_namespace_carries_its_labels_and_its_name_as_one() -> None:
    assert read(NAMESPACE, []) == NamespaceSeen("ml", {"a": "b", "kubernetes.io/metadata.name": "ml"})


@pytest.mark.parametrize(
    ("version", "kind"), [("v1", "ConfigMap"), ("batch/v1", "Pod"), ("apps/v1", "Deployment"), ("v1", "List")]
)
def test_a_kind_that_nobody_knows_is_no_event(version: str, kind: str) -> None:
    assert read({"apiVersion": version, "kind": kind}, []) is None


@pytest.mark.parametrize(
    ("document", "refused"),
    [
        ({"kind": "Pod", "metadata": {"name": "p"}},
         Refused("Pod", "default/p", "apiVersion", "found null, allowed is v1")),
        ({"kind": "Node", "apiVersion": "v2", "metadata": {"name": "n"}},
         Refused("Node", "n", "apiVersion", "found 'v2', allowed is v1")),
        ({"metadata": {"name": "x"}}, Refused("Object", "default/x", "kind", "found null, allowed is a kind")),
        ({"kind": ["Pod"]}, Refused("Object", "default/(without a name)", "kind", "found a list, allowed is a kind")),
        (["not", "an", "object"], Refused("Document", "", "", "found a list, allowed is a Kubernetes object")),
        (None, Refused("Document", "", "", "found null, allowed is a Kubernetes object")),
    ],
)  # fmt: skip
def test_what_is_not_an_object_is_refused_in_one_line(document: Any, refused: Refused) -> None:
    assert read(document, ["phalanx"]) == refused


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        ("metadata", None, "metadata", "found null, allowed is a map"),
        ("metadata", "p", "metadata", "found 'p', allowed is a map"),
        ("metadata", {}, "metadata.name", "missing"),
        ("metadata.name", None, "metadata.name", "found null, allowed is a string"),
        ("metadata.name", 7, "metadata.name", "found 7, allowed is a string (put it in quotes)"),
        ("metadata.name", "A", "metadata.name", f"found 'A', allowed is {NAME_ALLOWED}"),
        ("metadata.namespace", "a/b", "metadata.namespace", f"found 'a/b', allowed is {NAME_ALLOWED}"),
        ("metadata.labels", {"v": 1}, "metadata.labels.v", "found 1, allowed is a string (put it in quotes)"),
        ("metadata.labels", {"v": None}, "metadata.labels.v", "found null, allowed is a string"),
        ("metadata.labels", {1: "v"}, "metadata.labels", "found the key 1, allowed is a string (in quotes)"),
        ("metadata.labels", ["v"], "metadata.labels", "found a list, allowed is a map"),
        ("spec", None, "spec", "found null, allowed is a map"),
        ("spec", [], "spec", "found a list, allowed is a map"),
        ("spec.containers", {}, "spec.containers", "found a map, allowed is a list"),
        ("spec.containers.0", None, "spec.containers[0]", "found null, allowed is a map"),
        ("spec.containers.0.resources.requests", "1", "spec.containers[0].resources.requests",
         "found '1', allowed is a map"),
        ("spec.hostNetwork", "no", "spec.hostNetwork", "found 'no', allowed is true or false"),
        ("spec.priority", "high", "spec.priority", "found 'high', allowed is a whole number"),
        ("spec.priority", 1.5, "spec.priority", "found 1.5, allowed is a whole number"),
        ("spec.tolerations.0.key", True, "spec.tolerations[0].key",
         "found true, allowed is a string (put it in quotes)"),
        ("spec.nodeSelector", {"gpu": True}, "spec.nodeSelector.gpu",
         "found true, allowed is a string (put it in quotes)"),
        ("status", [], "status", "found a list, allowed is a map"),
    ],
)  # fmt: skip
def test_a_wrong_type_names_the_field_and_both_sides(path: str, value: Any, field: str, message: str) -> None:
    pod = changed(POD, path, value)
    named = pod["metadata"] if isinstance(pod["metadata"], dict) else {}
    event = read(pod, ["phalanx"])
    assert isinstance(event, Refused)
    assert (event.kind, event.field, event.message) == ("Pod", field, message)
    assert event.name.startswith("ml/" if named.get("namespace") == "ml" else ("default/", "'a/b'/"))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\x00b", r"ml/'a\x00b'"),
        ("\x1b[31mred", r"ml/'\x1b[31mred'"),
        ("\u202eevil", r"ml/'\u202eevil'"),
        ("two\nlines", r"ml/'two\nlines'"),
        ("<b>", "ml/'<b>'"),
        ("x" * 2**20, f"ml/'{'x' * 47}… (1048576 characters)"),
        ("\ud800", r"ml/'\ud800'"),
    ],
    ids=ascii,
)
def test_an_odd_name_is_shown_escaped_and_short(name: str, shown: str) -> None:
    event = read(changed(POD, "metadata.name", name), ["phalanx"])
    assert isinstance(event, Refused)
    assert event.name == shown
    assert all(len(line) < 300 for line in (str(event), event.message))


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "path", ["metadata.name", "spec.priority", "spec.overhead", "spec.overhead.cpu", "spec.volumes"]
)
def test_nesting_without_end_is_refused(path: str) -> None:
    event = read(changed(POD, path, nested(100_000)), ["phalanx"])
    assert isinstance(event, Refused)
    assert event.name.startswith("ml/")


def test_a_large_pod_is_only_large() -> None:
    """10,000 variables, 5,000 tolerations, 1,000 affinity terms: read once, equal ones kept once."""
    spec = {
        **POD["spec"],
        "tolerations": [{"key": f"k{index % 10}", "operator": "Exists"} for index in range(5000)],
        "containers": [{"name": "c", "env": [{"name": f"V{index}", "value": "x"} for index in range(10_000)]}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "k", "operator": "In", "values": [str(index)]}]} for index in range(1000)]}}},
    }  # fmt: skip
    event = read({**POD, "spec": spec}, ["phalanx"])
    assert isinstance(event, TaskSeen)
    assert len(event.task.shape.tolerations) == 10
    assert len(event.task.shape.node_terms or ()) == 1000


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("metadata.labels", {"v": 1}, "metadata.labels.v"),
        ("spec.tolerations", "all", "spec.tolerations"),
        ("spec.affinity.nodeAffinity", 5, "spec.affinity.nodeAffinity"),
        ("status", "fine", "status"),
        ("status.conditions", {}, "status.conditions"),
    ],
)
def test_a_malformed_field_of_a_running_pod_is_left_out_and_its_room_is_kept(path: str, value: Any, field: str) -> None:
    whole, event = read(on_node(POD), ["phalanx"]), read(on_node(changed(POD, path, value)), ["phalanx"])
    assert isinstance(whole, TaskSeen)
    assert isinstance(event, TaskSeen)
    assert (event.task.uid, event.task.node, event.task.state) == ("u", "n1", State.RUNNING)
    assert dict(event.task.shape.requests)["memory"] == dict(whole.task.shape.requests)["memory"]
    assert event.task.hold is not None
    assert event.task.hold.field == field


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        ("spec.containers", "many", "spec.containers", "found 'many', allowed is a list"),
        ("spec.containers.0.resources.requests", [], "spec.containers[0].resources.requests",
         "found a list, allowed is a map"),
        ("spec.initContainers", 1, "spec.initContainers", "found 1, allowed is a list"),
        ("spec.overhead", "little", "spec.overhead", "found 'little', allowed is a map"),
        ("spec.resources", [], "spec.resources", "found a list, allowed is a map"),
        ("metadata.name", None, "metadata.name", "found null, allowed is a string"),
        ("metadata", None, "metadata", "found null, allowed is a map"),
    ],
)  # fmt: skip
def test_a_running_pod_of_which_nobody_knows_what_it_takes_fills_its_node(
    path: str, value: Any, field: str, message: str
) -> None:
    event = read(on_node(changed(POD, path, value)), ["phalanx"])
    assert isinstance(event, TaskSeen)
    assert (event.task.node, event.task.charged, event.task.ours) == ("n1", True, False)
    assert event.task.shape.requests == (("pods", AMOUNT_MAX),)
    assert event.task.hold == Hold(field, message)


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        ("metadata.annotations", {"phalanx.dev/gang": "g", "phalanx.dev/minimum": "two"},
         "metadata.annotations[phalanx.dev/minimum]", "found 'two', allowed is a whole number from 1 to 2147483647"),
        ("metadata.labels", {"phalanx.dev/queue": "Team A"}, "metadata.labels[phalanx.dev/queue]",
         f"found 'Team A', allowed is {NAME_ALLOWED}"),
        ("spec.tolerations", "all", "spec.tolerations", "found 'all', allowed is a list"),
        ("spec.containers.0.resources.requests", {"cpu": "1e30"}, "spec.containers[0].resources.requests.cpu",
         "found '1e30', allowed is at most 2^53 of the smallest unit"),
        ("spec.containers", "many", "spec.containers", "found 'many', allowed is a list"),
    ],
)  # fmt: skip
def test_on_a_cluster_a_waiting_pod_of_ours_with_a_mistake_is_held_and_not_refused(
    path: str, value: Any, field: str, message: str
) -> None:
    pod = changed(POD, path, value)
    assert isinstance(read(pod, ["phalanx"]), Refused)
    event = read(pod, ["phalanx"], held=True)
    assert isinstance(event, TaskSeen)
    assert (event.task.uid, event.task.state, event.task.ours, event.task.node) == ("u", State.PENDING, True, None)
    assert event.task.hold == Hold(field, message)


def test_of_two_mistakes_in_a_waiting_pod_the_first_one_is_told() -> None:
    pod = changed(changed(POD, "metadata.annotations", {"phalanx.dev/gang": "A B"}), "metadata.labels.v", 1)
    pod = changed(pod, "spec.preemptionPolicy", "Often")
    event = read(pod, ["phalanx"], held=True)
    assert isinstance(event, TaskSeen)
    assert event.task.hold == Hold("metadata.labels.v", "found 1, allowed is a string (put it in quotes)")


def test_a_malformed_pod_of_another_scheduler_is_refused_on_a_cluster_too() -> None:
    pod = changed(changed(POD, "spec.schedulerName", None), "spec.tolerations", "all")
    assert isinstance(read(pod, ["phalanx"], held=True), Refused)


def test_two_malformed_pods_without_names_do_not_cover_each_other() -> None:
    pods = [{**changed(POD, "metadata", None), "spec": {"nodeName": name}} for name in ("n1", "n2")]
    uids = {event.task.uid for pod in pods if isinstance(event := read(pod, ["phalanx"]), TaskSeen)}
    assert len(uids) == 2


def test_a_malformed_pod_that_has_finished_takes_nothing() -> None:
    pod = changed(changed(on_node(POD), "spec.containers", "many"), "status.phase", "Succeeded")
    assert isinstance(read(pod, ["phalanx"]), Refused)


@pytest.mark.parametrize("document", [POD, on_node(POD), NODE, NAMESPACE, changed(POD, "metadata.labels", {"v": 1})])
def test_bytes_are_read_as_the_decoded_document_is(document: dict[str, Any]) -> None:
    data = json.dumps(document).encode()
    assert read_json(document["kind"], data, ["phalanx"]) == read(document, ["phalanx"])
    assert read_json(document["kind"], msgspec.Raw(data), ["phalanx"]) == read(document, ["phalanx"])


def test_an_item_of_a_list_does_not_say_its_kind() -> None:
    bare = {key: value for key, value in NODE.items() if key not in {"kind", "apiVersion"}}
    bad = {**bare, "status": {"allocatable": {"cpu": "x"}}}
    good, refused = (read_json("Node", json.dumps(one).encode(), []) for one in (bare, bad))
    assert good == read(NODE, [])
    assert isinstance(refused, Refused)
    assert (refused.object, refused.field) == (Reference("Node", "n"), "status.allocatable.cpu")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff", b"[]", b"null", b'{"metadata": {"name": "\xff"}}', b"[" * 100_000, b'{"spec": 1e999}']
)
def test_bytes_that_are_no_object_are_refused(data: bytes) -> None:
    assert isinstance(read_json("Pod", data, ["phalanx"]), Refused)


def test_bytes_of_a_kind_that_nobody_knows_are_no_event() -> None:
    assert read_json("Job", b"{}", []) is None


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the path of everything in a document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inside for place in places(one, (*path, key)))]


KEYS = st.text() | st.sampled_from(["cpu", "name", "phalanx.dev/gang"]) | st.integers()
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([
        "1e30", "-1", "NaN", "\u0665", "1Ki", "v1", "Succeeded", "Always", "n1", 2**63, 10**400, "2026-11-01T12:00:00Z",
    ]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@st.composite
def mutations(draw: st.DrawFn, document: dict[str, Any], spared: tuple[str, ...] = ()) -> Any:
    """Draw the document with up to four of its values replaced or removed, `spared` paths never."""
    copy: Any = deepcopy(document)
    for _ in range(draw(st.integers(1, 4))):
        able = [place for place in places(copy) if place and not any(_touches(place, one) for one in spared)]
        if not able:
            break
        *holders, last = draw(st.sampled_from(able))
        here = copy
        for step in holders:
            here = here[step]
        if draw(st.booleans()) and isinstance(here, dict):
            del here[last]
        else:
            here[last] = draw(JUNK)
    return copy


def _touches(place: tuple[str | int, ...], spared: str) -> bool:
    steps = tuple(spared.split("."))
    return steps[: len(place)] == place or place[: len(steps)] == steps


def as_event(document: Any) -> Event:
    event = read(document, ["phalanx"])
    assert isinstance(event, EVENTS)
    if isinstance(event, Refused):
        assert "\n" not in str(event)
        assert len(str(event)) < 1000
    return event


@given(
    st.sampled_from([POD, on_node(POD), NODE, NAMESPACE]).flatmap(lambda one: mutations(one, ("kind", "apiVersion")))
)
def test_no_mutation_of_an_object_raises(document: Any) -> None:
    as_event(document)


@given(mutations(POD, ("kind", "apiVersion", "spec.nodeName", "spec.schedulerName", "status.phase", "status")))
def test_whatever_is_wrong_with_a_waiting_pod_of_ours_its_owner_is_told(document: Any) -> None:
    event = read(document, ["phalanx"], held=True)
    if isinstance(document.get("spec"), dict):
        assert isinstance(event, TaskSeen)
        assert event.task.state is State.PENDING


@given(JUNK)
def test_no_junk_raises(document: Any) -> None:
    event = read(document, ["phalanx"])
    assert event is None or isinstance(event, EVENTS)


@given(mutations(on_node(POD), ("kind", "apiVersion", "spec.nodeName", "status.phase")))
def test_whatever_is_wrong_with_a_pod_on_a_node_it_takes_room_there(document: Any) -> None:
    event = as_event(document)
    assert isinstance(event, TaskSeen)
    assert (event.task.node, event.task.charged) == ("n1", True)
    assert dict(event.task.shape.requests)["pods"] >= 1


@given(mutations(POD, ("kind", "apiVersion")))
def test_bytes_and_documents_never_differ(document: Any) -> None:
    try:
        data = json.dumps(document, allow_nan=False).encode()
    except (ValueError, TypeError):
        return
    assert read_json("Pod", data, ["phalanx"]) == read({**json.loads(data)}, ["phalanx"])
