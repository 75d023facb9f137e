"""Our own Queue objects, to queues."""

import json
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read, read_json
from phalanx.model.events import QueueSeen, Refused
from phalanx.model.queue import UNLIMITED, Queue, Terms
from phalanx.model.reference import Reference

API = "scheduling.phalanx.dev/v1alpha1"
WEIGHT = "a number from 0 to 1000000 with at most 3 decimals"
AMOUNT = "a Kubernetes quantity such as 2, 500m, 1.5 or 8Gi, or the word unlimited"
DURATION = "a duration such as 90s or 1h30m, of at most 10 years"
KEYS = (
    "parent, priority, resources, borrowing, consolidation, preemptMinRuntime, reclaimMinRuntime, namespaces, access, "
    "placement"
)

WHOLE: dict[str, Any] = {
    "apiVersion": API, "kind": "Queue",
    "metadata": {
        "name": "team-a", "uid": "q-1", "generation": 3, "creationTimestamp": "2026-11-01T12:00:00Z",
    },
    "spec": {
        "parent": "research", "priority": 7,
        "resources": {
            "nvidia.com/gpu": {"quota": 8, "limit": "16", "weight": 0.5},
            "cpu": {"quota": "unlimited"},
            "memory": {"quota": "1.5Gi", "limit": "unlimited", "weight": 2},
        },
        "borrowing": False, "consolidation": False, "preemptMinRuntime": "10m", "reclaimMinRuntime": "1h30m",
        "namespaces": ["team-a", "team-a-dev"], "access": "granted", "placement": "spread",
    },
    "status": {"pending": 3},
}  # fmt: skip


def queue(spec: Any, name: str = "team-a") -> dict[str, Any]:
    return {"apiVersion": API, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def of(spec: Any) -> Queue:
    event = read(queue(spec), [])
    assert isinstance(event, QueueSeen), event
    return event.queue


def refused(spec: Any) -> tuple[str, str]:
    event = read(queue(spec), [])
    assert isinstance(event, Refused), event
    assert event.object == Reference("Queue", "team-a")
    return event.field, event.message


def test_every_field_is_read_and_in_smallest_units() -> None:
    expected = Queue(
        "team-a", "research", 7,
        {
            "cpu": Terms(UNLIMITED, UNLIMITED, 1000),
            "memory": Terms(1_610_612_736, UNLIMITED, 2000),
            "nvidia.com/gpu": Terms(8000, 16000, 500),
        },
        borrowing=False, consolidation=False, preempt_min_runtime=600.0, reclaim_min_runtime=5400.0,
        namespaces=frozenset({"team-a", "team-a-dev"}), granted=True, placement="spread",
        created=1_793_534_400.0, uid="q-1",
    )  # fmt: skip
    assert read(WHOLE, []) == QueueSeen(expected, API, 3, {"pending": 3})


def test_the_api_servers_bytes_read_the_same() -> None:
    assert read_json("Queue", json.dumps(WHOLE).encode(), [], API) == read(WHOLE, [])


def test_what_is_left_out_has_the_defaults_of_the_design() -> None:
    bare = {"apiVersion": API, "kind": "Queue", "metadata": {"name": "q"}}
    assert read(bare, []) == QueueSeen(Queue("q"), API)
    nothing_said: dict[str, Any] = {
        "resources": {"cpu": {}, "example.com/x": None},
        "borrowing": None,
        "namespaces": None,
    }
    assert of(nothing_said) == Queue("team-a", terms={"cpu": Terms(), "example.com/x": Terms()})
    assert Terms() == Terms(quota=0, limit=UNLIMITED, weight=1000)


def test_amounts_round_down_to_the_smallest_unit() -> None:
    terms = of({"resources": {"cpu": {"quota": "0.0009"}, "nvidia.com/gpu": {"quota": 0.5, "limit": "1500m"}}}).terms
    assert terms == {"cpu": Terms(0), "nvidia.com/gpu": Terms(500, 1500)}


def test_a_status_that_somebody_broke_does_not_cost_the_queue() -> None:
    whole = read(WHOLE, [])
    assert isinstance(whole, QueueSeen)
    assert read({**WHOLE, "status": "odd"}, []) == replace(whole, status={})


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"parent": "team-a"}, "parent", "found 'team-a', allowed is another queue than itself"),
        ({"parent": "A b"}, "parent", f"found 'A b', allowed is {NAME_ALLOWED}"),
        ({"parent": ""}, "parent", f"found '', allowed is {NAME_ALLOWED}"),
        ({"parent": 5}, "parent", "found 5, allowed is a string (put it in quotes)"),
        ({"priority": 2**31}, "priority", "found 2147483648, allowed is a whole number <= 2147483647"),
        ({"priority": "high"}, "priority", "found 'high', allowed is a whole number"),
        ({"consolidation": "no"}, "consolidation", "found 'no', allowed is true or false"),
        ({"borrowing": "yes"}, "borrowing", "found 'yes', allowed is true or false"),
        ({"preemptMinRuntime": "soon"}, "preemptMinRuntime", f"found 'soon', allowed is {DURATION}"),
        ({"reclaimMinRuntime": "-5s"}, "reclaimMinRuntime", f"found '-5s', allowed is {DURATION}"),
        ({"reclaimMinRuntime": "90000h"}, "reclaimMinRuntime", f"found '90000h', allowed is {DURATION}"),
        ({"namespaces": []}, "namespaces", "found none, allowed is at least one; left out, it means any"),
        ({"namespaces": ["a", "B"]}, "namespaces[1]", f"found 'B', allowed is {NAME_ALLOWED}"),
        ({"namespaces": ["a", "b", "a"]}, "namespaces[2]", "found 'a' again, allowed is each namespace once"),
        ({"namespaces": "a"}, "namespaces", "found 'a', allowed is a list"),
        ({"access": "some"}, "access", "found 'some', allowed is anybody, granted"),
        ({"placement": "middle"}, "placement", "found 'middle', allowed is pack, spread"),
        ({"borowing": True}, "borowing", f"unknown field, allowed is {KEYS}"),
        ({"resources": ["cpu"]}, "resources", "found a list, allowed is a map"),
        ({"resources": {"a b": {}}}, "resources['a b']",
         "found 'a b', allowed is the name of a resource such as cpu or nvidia.com/gpu"),
        ({"resources": {"cpu": 4}}, "resources.cpu", "found 4, allowed is a map of quota, limit, weight"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_field_and_what_is_allowed(spec: dict[str, Any], field: str, message: str) -> None:
    assert refused(spec) == (f"spec.{field}", message)


@pytest.mark.parametrize(
    ("terms", "field", "message"),
    [
        ({"quota": -1}, "quota", "found '-1', allowed is zero or more, or the word unlimited"),
        ({"limit": "-1Gi"}, "limit", "found '-1Gi', allowed is zero or more, or the word unlimited"),
        ({"quota": "lots"}, "quota", f"found 'lots', allowed is {AMOUNT}"),
        ({"quota": "Unlimited"}, "quota", f"found 'Unlimited', allowed is {AMOUNT}"),
        ({"quota": True}, "quota", f"found true, allowed is {AMOUNT}"),
        ({"quota": "100E"}, "quota",
         "found '100E', allowed is at most 2^53 of the smallest unit, or the word unlimited"),
        ({"quota": 8, "limit": 4}, "quota", "found 8, allowed is at most the limit, which is 4"),
        ({"quota": "unlimited", "limit": 4}, "quota", "found 'unlimited', allowed is at most the limit, which is 4"),
        ({"weight": -1}, "weight", f"found -1, allowed is {WEIGHT}"),
        ({"weight": 0.0001}, "weight", f"found 0.0001, allowed is {WEIGHT}"),
        ({"weight": 1_000_001}, "weight", f"found 1000001, allowed is {WEIGHT}"),
        ({"weight": float("inf")}, "weight", f"found inf, allowed is {WEIGHT}"),
        ({"weight": float("nan")}, "weight", f"found nan, allowed is {WEIGHT}"),
        ({"weight": "1"}, "weight", f"found '1', allowed is {WEIGHT}"),
        ({"weight": True}, "weight", f"found true, allowed is {WEIGHT}"),
        ({"quotas": 1}, "quotas", "unknown, allowed is quota, limit, weight"),
        ({4: 1}, "4", "unknown, allowed is quota, limit, weight"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_terms_of_a_resource_names_it(terms: dict[Any, Any], field: str, message: str) -> None:
    assert refused({"resources": {"nvidia.com/gpu": terms}}) == (f"spec.resources[nvidia.com/gpu].{field}", message)


def test_a_name_that_kubernetes_would_not_take_is_refused() -> None:
    message = f"found 'A', allowed is {NAME_ALLOWED}"
    assert read(queue({}, "A"), []) == Refused("Queue", "'A'", "metadata.name", message, queue=True)


def test_a_version_of_the_future_is_refused_and_another_systems_queue_is_nobodys() -> None:
    later = "scheduling.phalanx.dev/v9"
    allowed = f"found '{later}', allowed is {API}"
    assert read({**WHOLE, "apiVersion": later}, []) == Refused("Queue", "team-a", "apiVersion", allowed, queue=True)
    assert read({**WHOLE, "apiVersion": "scheduling.example/v1beta1"}, []) is None


@given(st.integers(0, 10**9), st.sampled_from([1, 10, 100, 1000]))
def test_a_weight_is_exact_however_it_is_written(thousandths: int, divisor: int) -> None:
    written = thousandths / divisor
    exact = Fraction(thousandths, divisor)
    if exact > 10**6:
        return
    assert of({"resources": {"cpu": {"weight": written}}}).terms["cpu"].weight == exact * 1000


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside, max_size=3),
    max_leaves=6,
)
PLACES = (
    "metadata", "spec", "status", "spec.resources.cpu", "spec.resources.cpu.quota", "spec.resources.memory.weight",
    *[f"spec.{key}" for key in KEYS.split(", ")],
)  # fmt: skip


@given(st.sampled_from(PLACES), ANYTHING)
def test_whatever_stands_in_a_field_the_queue_is_read_or_refused_in_one_line(place: str, value: Any) -> None:
    document = deepcopy(WHOLE)
    here: Any = document
    *holders, last = place.split(".")
    for step in holders:
        here = here[step]
    here[last] = value
    event = read(document, [])
    assert isinstance(event, QueueSeen | Refused)
    if isinstance(event, Refused):
        assert str(event).isprintable()
        assert event.kind == "Queue"
