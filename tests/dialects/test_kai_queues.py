"""KAI's Queue objects, to queues: other units, other defaults, the same tree."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read
from phalanx.model.events import QueueSeen, Refused
from phalanx.model.queue import UNLIMITED, Queue, Terms

API = "scheduling.run.ai/v2"
KIND = "Queue.scheduling.run.ai"
NUMBER = "a number, or -1 for unlimited"
NOTHING = Terms(quota=0, limit=0, weight=0)


def queue(spec: Any) -> dict[str, Any]:
    return {"apiVersion": API, "kind": "Queue", "metadata": {"name": "team-a"}, "spec": spec}


def terms(resources: dict[str, Any]) -> dict[str, Terms]:
    event = read(queue({"resources": resources}), [])
    assert isinstance(event, QueueSeen), event
    return dict(event.queue.terms)


def test_units_are_devices_millicores_and_megabytes() -> None:
    document = {
        **queue({
            "displayName": "Team A", "parentQueue": "research", "priority": 101, "preemptMinRuntime": "10m0s",
            "reclaimMinRuntime": "1h0m0s",
            "resources": {
                "gpu": {"quota": 2.5, "limit": 8, "overQuotaWeight": 2},
                "cpu": {"quota": 1500, "limit": -1, "overQuotaWeight": 0.5},
                "memory": {"quota": -1, "limit": -1, "overQuotaWeight": 1},
            },
        }),
        "metadata": {"name": "team-a", "uid": "q", "generation": 2, "creationTimestamp": "2026-11-01T12:00:00Z"},
        "status": {"requested": {"gpu": 1}},
    }  # fmt: skip
    expected = Queue(
        "team-a", "research", 101,
        {
            "cpu": Terms(1500, UNLIMITED, 500),
            "memory": Terms(UNLIMITED, UNLIMITED, 1000),
            "nvidia.com/gpu": Terms(2500, 8000, 2000),
        },
        preempt_min_runtime=600.0, reclaim_min_runtime=3600.0, created=1_793_534_400.0, uid="q", kind=KIND,
    )  # fmt: skip
    assert read(document, []) == QueueSeen(expected, API, 2, {"requested": {"gpu": 1}})


def test_what_is_left_out_is_zero_in_all_three_resources_and_the_priority_100() -> None:
    """A limit of zero lets nothing run: KAI's own default, which its users meet too."""
    every = {"cpu": NOTHING, "memory": NOTHING, "nvidia.com/gpu": NOTHING}
    expected = Queue("team-a", priority=100, terms=every, kind=KIND)
    specs: list[Any] = [{"resources": {}}, {"resources": {"gpu": {}, "cpu": None}, "parentQueue": ""}]
    for spec in specs:
        assert read(queue(spec), []) == QueueSeen(expected, API)


def test_a_queue_may_be_guaranteed_more_than_its_limit_there() -> None:
    assert terms({"gpu": {"quota": -1, "limit": 2}})["nvidia.com/gpu"] == Terms(UNLIMITED, 2000, 0)


def test_a_weight_of_minus_one_counts_as_one_and_a_fine_one_is_rounded_but_never_away() -> None:
    def weight(value: float) -> int:
        return terms({"gpu": {"overQuotaWeight": value}})["nvidia.com/gpu"].weight

    assert [weight(value) for value in (-1, 0, 1, 0.3333, 0.0000001, 12.5)] == [1000, 0, 1000, 333, 1, 12500]


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({}, "resources", "missing"),
        ({"resources": None}, "resources", "missing"),
        ({"resources": {}, "parentQueue": "team-a"}, "parentQueue",
         "found 'team-a', allowed is another queue than itself"),
        ({"resources": {}, "parentQueue": "A"}, "parentQueue", f"found 'A', allowed is {NAME_ALLOWED}"),
        ({"resources": {"gpu": {"quota": "2"}}}, "resources.gpu.quota", f"found '2', allowed is {NUMBER}"),
        ({"resources": {"gpu": {"limit": True}}}, "resources.gpu.limit", f"found true, allowed is {NUMBER}"),
        ({"resources": {"cpu": {"quota": -2}}}, "resources.cpu.quota",
         "found -2, allowed is zero or more, or -1 for unlimited"),
        ({"resources": {"cpu": {"quota": float("nan")}}}, "resources.cpu.quota",
         "found nan, allowed is zero or more, or -1 for unlimited"),
        ({"resources": {"memory": {"limit": 1e15}}}, "resources.memory.limit",
         "found 1000000000000000.0, allowed is at most 2^53 of the smallest unit"),
        ({"resources": {"gpu": {"overQuotaWeight": -3}}}, "resources.gpu.overQuotaWeight",
         "found -3, allowed is a number from 0 to 1000000 with at most 3 decimals"),
        ({"resources": {}, "preemptMinRuntime": "soon"}, "preemptMinRuntime",
         "found 'soon', allowed is a duration such as 90s or 1h30m, of at most 10 years"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_field_and_the_system_of_the_queue(spec: Any, field: str, message: str) -> None:
    assert read(queue(spec), []) == Refused(KIND, "team-a", f"spec.{field}", message, queue=True)


@given(st.integers(0, 10**6))
def test_thousandths_of_a_gpu_are_exact(milli: int) -> None:
    assert terms({"gpu": {"quota": milli / 1000}})["nvidia.com/gpu"].quota == milli
