"""Evictions: what the server's answers mean, at which pace they go, and which of a plan belong together."""

import asyncio
import json

import pytest

from phalanx.kube.client import Reply
from phalanx.kube.events import shown
from phalanx.kube.evictions import Answer, Pace, answer_of
from phalanx.kube.making_room import makings
from phalanx.model.plan import Evict, Nominate, Plan

BUDGET = {
    "kind": "Status", "code": 429, "message": "Cannot evict pod as it would violate the pod's disruption budget.",
    "details": {"causes": [{"reason": "DisruptionBudget", "message": "The disruption budget keep needs 2 pods"}]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body", "means"),
    [
        (201, "{}", Answer.LEAVING),
        (200, "{}", Answer.LEAVING),
        (404, json.dumps({"message": 'pods "a" not found'}), Answer.GONE),
        (409, json.dumps({"message": "the UID in the precondition does not match"}), Answer.UNCLEAR),
        (429, json.dumps(BUDGET), Answer.REFUSED),
        (429, "Too many requests, please try again later.", Answer.AGAIN),
        (403, json.dumps({"message": "denied by a webhook"}), Answer.REFUSED),
        (500, json.dumps({"message": "etcdserver: leader changed"}), Answer.AGAIN),
        (
            500,
            json.dumps({"message": "This pod has more than one PodDisruptionBudget, which the eviction subresource …"}),
            Answer.REFUSED,
        ),
        (503, "", Answer.AGAIN),
    ],
)
def test_only_a_no_is_a_refusal(status: int, body: str, means: Answer) -> None:
    assert answer_of(Reply(status, body.encode(), {})) is means


def test_the_first_second_may_go_at_once_and_the_rest_keeps_its_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def noted(seconds: float) -> None:
        pauses.append(round(seconds, 6))

    monkeypatch.setattr(asyncio, "sleep", noted)

    async def seven() -> None:
        pace = Pace(4.0, lambda: 100.0)
        for _ in range(7):
            await pace.turn()

    asyncio.run(seven())
    assert pauses == [0.25, 0.5, 0.75]


def test_evictions_go_together_by_whom_they_are_for_and_those_for_nobody_by_their_own_gang() -> None:
    def step(name: str, whom: str | None) -> Evict:
        leaves, key = f"gang/ns/{name.partition('-')[0]}", whom and f"gang/ns/{whom}"
        return Evict(f"ns/{name}", name, "n1", "preempt", whom and f"ns/{whom}", "why", key, leaves)

    wanted = Nominate("ns/x-0", "x-0", "n1", "ns/x", "gang/ns/x")
    other = Nominate("ns/z-0", "z-0", "n1", "ns/z", "gang/ns/z")
    plan = Plan(1.0, (step("a", "x"), wanted, step("old-1", None), step("b", "y"), other, step("old-2", None)))
    found = [
        (one.gang, [evict.uid for evict in one.evicts], [nominate.uid for nominate in one.nominates])
        for one in makings(plan)
    ]
    assert found == [("ns/x", ["a"], ["x-0"]), (None, ["old-1", "old-2"], []), ("ns/y", ["b"], [])]


def test_only_the_first_names_are_shown() -> None:
    assert shown(list("abcde")) == "a, b, c, d, e"
    assert shown(list("abcdefg")) == "a, b, c, d, e and 2 more"
