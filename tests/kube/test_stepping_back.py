"""Who leaves for nobody is evicted as anybody else is: this very pod, told why, and not again at once when refused."""

import asyncio
import io
import json
from typing import Any, cast

import msgspec

from phalanx.kube.client import Client, Reply
from phalanx.kube.clock import Clock
from phalanx.kube.events import Events
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import NODES, PODS
from phalanx.kube.local import node_manifest
from phalanx.kube.log import Log
from phalanx.kube.making_room import MakingRoom
from phalanx.kube.metrics import Metrics
from phalanx.kube.writes import Write, Writes
from phalanx.loop import Loop
from phalanx.model.plan import Evict
from phalanx.testing.objects import gang_manifests
from phalanx.world.world import World
from tests.oracles.room import STALE, policy_of


class Hands(Clock):
    """A clock that a test moves."""

    at = 2_000_000_000.0

    def now(self) -> float:
        return self.at


class Stage:
    """Two of three members run, and there is no room for the third; a server that answers evictions."""

    def __init__(self, answer: Reply, members: int = 3, *actions: str) -> None:
        self.answer = answer
        self.asked: list[tuple[str, Any]] = []
        self.told: list[str] = []
        self.said = io.StringIO()
        self.clock, self.world, self.metrics = Hands(), World(), Metrics()
        feed = Feed(self.world, ("phalanx",))
        for number, item in enumerate([node_manifest("n1", gpus=2), *gang_manifests("g", 3)[:members]]):
            if number in {1, 2}:
                item["spec"]["nodeName"] = "n1"
                item["status"] = {"phase": "Running", "startTime": "2026-11-01T12:00:01Z"}
            item["metadata"] |= {
                "uid": item["metadata"]["name"], "resourceVersion": str(number + 1),
                "creationTimestamp": "2026-11-01T12:00:00Z",
            }  # fmt: skip
            feed.put(PODS if item["kind"] == "Pod" else NODES, msgspec.Raw(json.dumps(item).encode()))
        events = Events(self.world, feed, cast("Writes", self), self.clock, "phalanx", "test")
        self.room = MakingRoom(
            cast("Client", self), feed, self.world, events, self.clock, self.metrics, Log(stream=self.said),
            lambda: True, lambda: None, 500.0,
        )  # fmt: skip
        self.loop = Loop(self.world, policy_of(*actions))

    def submit(self, write: Write) -> None:
        body = json.loads(write.body)
        self.told.append(f"{body['regarding']['name']} {body['reason']}: {body['note']}")

    async def request(self, method: str, path: str, *, body: bytes, content_type: str) -> Reply:
        del content_type
        self.asked.append((f"{method} {path}", json.loads(body)))
        return self.answer

    async def cycle(self, after: float) -> list[str]:
        """Decide so many seconds after the last time, and carry it out; return who is to leave."""
        self.clock.at += after
        plan = self.loop.cycle(self.clock.at).plan
        running = asyncio.create_task(self.room.run())
        self.room.submit(plan)
        await self.room.calm.wait()
        running.cancel()
        await asyncio.wait([running])
        return [step.uid for step in plan.steps if isinstance(step, Evict)]


def cycles(stage: Stage, *after: float) -> list[list[str]]:
    """Return who is to leave in each of these cycles, each so many seconds after the one before."""

    async def story() -> list[list[str]]:
        return [await stage.cycle(seconds) for seconds in after]

    return asyncio.run(story())


def test_who_steps_back_is_evicted_by_uid_and_counted_and_told() -> None:
    stage = Stage(Reply(201, b"{}", {}))
    assert cycles(stage, 0.0, 120.0, 1.0) == [[], ["g-0", "g-1"], []]
    assert [path for path, _ in stage.asked] == [
        f"POST /api/v1/namespaces/default/pods/g-{number}/eviction" for number in range(2)
    ]
    assert [body["deleteOptions"]["preconditions"] for _, body in stage.asked] == [{"uid": "g-0"}, {"uid": "g-1"}]
    why = "its gang was not whole before its deadline: it steps back"
    assert stage.told == [
        f"g-0 GangIncomplete: {why}", f"g-0 SteppedBack: evicted: {why}", f"g-1 SteppedBack: evicted: {why}",
    ]  # fmt: skip
    assert "stepping-back pods=2" in stage.said.getvalue()
    assert b'phalanx_evictions_total{action="step_back",outcome="ok"} 2.0' in stage.metrics.text()


def test_who_may_not_leave_is_not_asked_again_before_another_deadline() -> None:
    stage = Stage(Reply(403, b'{"message": "denied by a webhook"}', {}))
    both = ["g-0", "g-1"]
    assert cycles(stage, 0.0, 120.0, 1.0, 4.0, 119.0, 1.0) == [[], both, [], [], [], both]
    assert stage.world.tasks["g-0"].node == "n1"


def test_what_is_left_of_a_broken_gang_is_not_asked_again_at_once_if_it_may_not_leave() -> None:
    """It rests ever longer, and then has the whole grace again. Its missing members may come at any time."""
    stage = Stage(Reply(403, b'{"message": "denied by a webhook"}', {}), 2, STALE)
    both = ["g-0", "g-1"]
    first, second = (0.0, 60.0, 1.0, 4.0, 59.0, 1.0), (5.0, 5.0, 59.0, 1.0)
    assert cycles(stage, *first, *second) == [[], both, [], [], [], both, [], [], [], both]
    assert stage.world.tasks["g-0"].node == "n1"
