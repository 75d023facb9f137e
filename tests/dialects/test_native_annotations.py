"""Gangs by annotation: what is understood, and what is said of what is not."""

from typing import Any

import pytest

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read
from phalanx.model.events import Event, Refused, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.task import Task


def seen(annotations: dict[str, str], labels: dict[str, str] | None = None, node: str | None = None) -> Event | None:
    meta = {
        "name": "p", "namespace": "ml", "labels": labels,
        "annotations": {f"phalanx.dev/{key}": value for key, value in annotations.items()},
    }  # fmt: skip
    spec: dict[str, Any] = {"schedulerName": "phalanx", "containers": [{}], "nodeName": node}
    return read({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}, ["phalanx"])


def task(annotations: dict[str, str], labels: dict[str, str] | None = None, node: str | None = None) -> Task:
    event = seen(annotations, labels, node)
    assert isinstance(event, TaskSeen), event
    return event.task


def test_a_pod_without_annotations_is_in_no_gang() -> None:
    assert task({}).membership is None


def test_a_gang_belongs_to_its_namespace() -> None:
    assert task({"gang": "train", "minimum": "8"}).membership == Membership("ml/train", 8)


def test_a_gang_may_be_of_one_size_only() -> None:
    said = {"gang": "train", "minimum": "8", "maximum": "8"}
    assert task(said).membership == Membership("ml/train", 8, maximum=8)


def test_everything_a_pod_can_say_of_its_gang() -> None:
    said = {
        "gang": "train", "minimum": "4", "maximum": "8", "subgroup": "workers", "subgroup-minimum": "3",
        "start-timeout": "1h30m", "preemptible": "false", "topology-required": "rack",
        "topology-preferred": "topology.example.com/block", "segment-size": "4", "segment-topology": "rack",
        "patience": "500ms", "expected-runtime": "90",
    }  # fmt: skip
    found = task(said)
    assert found.expected_runtime == 90.0
    assert found.membership == Membership(
        "ml/train", 4, maximum=8, subgroup="workers", subgroup_minimum=3, start_timeout=5400.0, preemptible=False,
        topology_required="rack", topology_preferred="topology.example.com/block", segment_size=4,
        segment_topology="rack", patience=0.5,
    )  # fmt: skip


def test_a_gang_without_a_minimum_is_left_for_the_world_to_hold() -> None:
    assert task({"gang": "train"}).membership == Membership("ml/train", None)


def test_without_a_gang_the_rest_means_nothing_but_the_runtime() -> None:
    found = task({"minimum": "0", "subgroup-minimum": "x", "expected-runtime": "1h"})
    assert (found.membership, found.expected_runtime) == (None, 3600.0)


def test_a_pod_without_a_gang_speaks_for_itself_and_a_member_for_its_gang() -> None:
    said = {"preemptible": "false", "patience": "10m"}
    alone, member = task(said), task({"gang": "train", "minimum": "1", **said})
    assert (alone.preemptible, alone.patience) == (False, 600.0)
    assert (member.preemptible, member.patience) == (True, None)
    assert member.membership == Membership("ml/train", 1, preemptible=False, patience=600.0)


@pytest.mark.parametrize(("key", "value"), [("preemptible", "no"), ("patience", "-1"), ("expected-runtime", "long")])
def test_what_a_pod_without_a_gang_may_say_is_checked_too(key: str, value: str) -> None:
    event = seen({key: value})
    assert isinstance(event, Refused)
    assert event.field == f"metadata.annotations[phalanx.dev/{key}]"


def test_the_queue_is_a_label() -> None:
    assert task({}, {"phalanx.dev/queue": "team-a"}).queue == "team-a"
    assert task({}).queue is None


COUNT = "a whole number from 1 to 2147483647"
DURATION = "a duration such as 90s or 1h30m, of at most 10 years"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        *[("minimum", value, f"found {value!r}, allowed is {COUNT}") for value in
          ("0", "-1", "+1", "abc", "", "1_000", "1.0", "1e3", " 4", "4\n", "0x4", "2147483648", "9" * 19)],
        ("minimum", "\u0665", rf"found '\u0665', allowed is {COUNT}"),
        ("minimum", "9" * 5000, f"found '{'9' * 47}… (5000 characters), allowed is {COUNT}"),
        ("maximum", "3", "found 3, allowed is at least phalanx.dev/minimum, which is 4"),
        ("subgroup-minimum", "2", "found 2, allowed only with phalanx.dev/subgroup"),
        ("subgroup", "Workers", f"found 'Workers', allowed is {NAME_ALLOWED}"),
        *[("gang", value, f"found {value!a}, allowed is {NAME_ALLOWED}") for value in
          ("", "Train", "a/b", "-a", "a-", "a..b", "a\x00b", "a\nb", "\u202eab", "\x1b[31m")],
        ("gang", "a" * 254, f"found '{'a' * 47}… (254 characters), allowed is {NAME_ALLOWED}"),
        *[("preemptible", value, f"found {value!r}, allowed is true, false") for value in ("yes", "True", "1", "")],
        *[("start-timeout", value, f"found {value!r}, allowed is {DURATION}") for value in
          ("-5s", "NaN", "inf", "1e3", "5 s", "s", "", "1d", "11y", "87601h", "1h-3m")],
        ("start-timeout", "0s", "found 0, allowed is more than zero"),
        ("patience", "soon", f"found 'soon', allowed is {DURATION}"),
        ("expected-runtime", "-1", f"found '-1', allowed is {DURATION}"),
        ("topology-preferred", "a b", "found 'a b', allowed is a node label key or the name of a level"),
        ("topology-required", "", "found '', allowed is a node label key or the name of a level"),
    ],
)  # fmt: skip
def test_a_bad_value_refuses_a_pending_pod_and_leaves_a_running_one_in_the_books(
    key: str, value: str, message: str
) -> None:
    """Whoever runs already is somebody's pod: it leaves its gang, never its node."""
    said = {"gang": "train", "minimum": "4", key: value}
    assert seen(said) == Refused("Pod", "ml/p", f"metadata.annotations[phalanx.dev/{key}]", message)
    running = task(said, node="n1")
    assert running.charged
    assert running.membership == (Membership("ml/train", 4) if key == "expected-runtime" else None)


def test_a_queue_that_cannot_exist_is_refused() -> None:
    event = seen({}, {"phalanx.dev/queue": ""})
    assert event == Refused("Pod", "ml/p", "metadata.labels[phalanx.dev/queue]", f"found '', allowed is {NAME_ALLOWED}")


def test_a_number_without_quotes_is_told_to_wear_them() -> None:
    event = seen({"gang": "train", "minimum": 8})  # type: ignore[dict-item]
    field = "metadata.annotations[phalanx.dev/minimum]"
    assert event == Refused("Pod", "ml/p", field, "found 8, allowed is a string (put it in quotes)")


def test_others_pods_may_write_what_they_like() -> None:
    spec = {"schedulerName": "another", "containers": [{}]}
    meta = {"name": "p", "annotations": {"phalanx.dev/gang": "?"}}
    event = read({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}, ["phalanx"])
    assert isinstance(event, TaskSeen)
    assert (event.task.ours, event.task.membership) == (False, None)
