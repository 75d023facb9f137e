"""What waiting gangs are told, and when: soon, true, and not again and again."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from phalanx.kube.clock import Clock
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import NODES, PODS
from phalanx.kube.local import node_manifest
from phalanx.kube.status import NUMBERS_RATE, Status
from phalanx.kube.writes import Write, Writes
from phalanx.loop import Loop
from phalanx.model.plan import Wait
from phalanx.policy.load import load_policy
from phalanx.testing.objects import Manifest, gang_manifests
from phalanx.world.world import World


@dataclass
class Watch(Clock):
    """A clock that a test turns."""

    time: float = 1000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


@dataclass
class Desk:
    """A scheduler's status without a server: what would be written is noted."""

    watch: Watch = field(default_factory=Watch)
    told: list[str] = field(default_factory=list[str])
    conditions: list[str] = field(default_factory=list[str])
    #: The server takes nothing.
    deaf: bool = False
    #: Times of transition that were written.
    since: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.world = World()
        self.feed = Feed(self.world, ("phalanx",))
        self.loop = Loop(self.world, load_policy("default"))
        self.status = Status(self.world, self.feed, cast("Writes", self), self, self.watch, lambda *_: None)
        self._version = 0

    @property
    def _at(self) -> str:
        return f"{self.watch.time - 1000:g}s"

    def submit_each(self, writes: Iterator[Write]) -> None:
        for write in writes:
            if self.deaf:
                assert write.lost is not None
                write.lost()
                continue
            body: dict[str, Any] = msgspec.json.decode(write.body)
            self.conditions.append(f"{self._at} {body['metadata']['uid']}")
            self.since += [
                one["lastTransitionTime"] for one in body["status"]["conditions"] if "lastTransitionTime" in one
            ]

    def wait(self, wait: Wait, note: str, news: list[str], *, numbers: bool) -> None:
        del numbers
        self.told.append(f"{self._at} {wait.gang} {len(news)}: {note.partition(':')[0]}")

    def over(self, key: str) -> None:
        self.told.append(f"{self._at} {key} over")

    def see(self, *objects: Manifest) -> None:
        """Hear of objects, and decide."""
        for item in objects:
            self._version += 1
            name = item["metadata"]["name"]
            about = item["metadata"] | {"uid": name, "resourceVersion": str(self._version)}
            about |= {"creationTimestamp": "2026-11-01T12:00:00Z"}
            raw = msgspec.Raw(msgspec.json.encode(item | {"metadata": about}))
            self.feed.put(PODS if item["kind"] == "Pod" else NODES, raw)
        self.status.update(self.loop.cycle(self.watch.now()).plan)

    def rest(self, seconds: float) -> None:
        self.watch.time += seconds
        self.status.flush()


def test_a_gang_that_is_still_arriving_is_told_nothing_until_it_is_whole() -> None:
    """Its pods come within milliseconds; `1 of 4 members are there` would stand for a minute, and be wrong."""
    desk = Desk()
    desk.see(node_manifest("n1", gpus=2))
    for pod in gang_manifests("big", 4):
        desk.rest(0.9)
        desk.see(pod)
    assert desk.told == ["3.6s default/big 4: 4 needed together, 2 fit"]


def test_a_gang_that_stays_short_is_told_after_a_moment_and_only_once() -> None:
    desk = Desk()
    desk.see(node_manifest("n1"), *gang_manifests("g", 4)[:3])
    for _ in range(200):
        desk.rest(1.0)
        desk.see()
    assert desk.told == ["1s default/g 3: 3 of 4 members are there"]


def test_news_within_a_minute_wait_for_its_end_but_whoever_joins_is_told_at_once() -> None:
    desk = Desk()
    pods = gang_manifests("g", 4)
    desk.see(node_manifest("n1", gpus=1), pods[0])
    desk.rest(1.0)
    for pod in pods[1:]:
        desk.rest(10.0)
        desk.see(pod)
    for _ in range(60):
        desk.rest(1.0)
    assert desk.told == [
        "1s default/g 1: 1 of 4 members are there",
        "11s default/g 1: 2 of 4 members are there",
        "21s default/g 1: 3 of 4 members are there",
        "31s default/g 1: 4 needed together, 1 fit",
        "61s default/g 3: 4 needed together, 1 fit",
    ]
    assert desk.conditions == [
        "1s g-0", "11s g-1", "21s g-2", "31s g-3", "61s g-0", "61s g-1", "61s g-2",
    ]  # fmt: skip


def test_a_pod_that_joins_a_waiting_gang_is_told_too_and_the_others_not_again() -> None:
    desk = Desk()
    pods = gang_manifests("g", 3, requests={"example.com/dongle": "1"})
    for pod in pods:
        pod["metadata"]["annotations"]["phalanx.dev/minimum"] = "2"
    desk.see(node_manifest("n1"), *pods[:2])
    desk.rest(30.0)
    desk.see(pods[2])
    for _ in range(200):
        desk.rest(1.0)
        desk.see()
    assert desk.conditions == ["0s g-0", "0s g-1", "30s g-2"]
    assert desk.told == [
        "0s default/g 2: 2 needed together, 0/1 nodes",
        "30s default/g 1: 2 needed together, 0/1 nodes",
    ]


def test_pods_that_join_in_a_row_are_told_together_every_few_seconds() -> None:
    desk = Desk()
    pods = gang_manifests("g", 12, requests={"example.com/dongle": "1"})
    for pod in pods:
        pod["metadata"]["annotations"]["phalanx.dev/minimum"] = "2"
    desk.see(node_manifest("n1"), *pods[:2])
    for pod in pods[2:]:
        desk.rest(1.0)
        desk.see(pod)
    assert [line.partition(":")[0] for line in desk.told] == [
        "0s default/g 2", "5s default/g 4", "10s default/g 5",
    ]  # fmt: skip


def test_a_pod_that_joins_while_the_reason_changes_reads_the_new_one_and_the_others_when_the_minute_is_over() -> None:
    desk = Desk()
    pods = gang_manifests("g", 4)
    desk.see(node_manifest("n1", gpus=1), *pods[:3])
    desk.rest(1.0)
    desk.rest(10.0)
    desk.see(pods[3])
    assert desk.conditions == ["1s g-0", "1s g-1", "1s g-2", "11s g-3"]
    for _ in range(60):
        desk.rest(1.0)
    assert desk.told == [
        "1s default/g 3: 3 of 4 members are there",
        "11s default/g 1: 4 needed together, 1 fit",
        "61s default/g 3: 4 needed together, 1 fit",
    ]


def test_numbers_that_change_are_told_after_a_minute_and_then_ever_more_seldom() -> None:
    """Whoever adds a node must not read for ever that half of his gang fits."""
    desk = Desk()
    desk.see(node_manifest("n0", gpus=1), *gang_manifests("g", 40))
    for minute in range(1, 35):
        desk.see(node_manifest(f"n{minute}", gpus=1))
        for _ in range(60):
            desk.rest(1.0)
    assert desk.told == [
        f"{60 * minute}s default/g 40: 40 needed together, {minute + 1} fit" for minute in (0, 1, 3, 7, 15, 31)
    ]
    assert len(desk.conditions) == 6 * 40
    assert desk.since == ["1970-01-01T00:16:40Z"] * 40


def test_conditions_that_the_server_never_took_are_written_when_it_is_back() -> None:
    """The reason is the same as before, and so nobody would tell them again."""
    desk = Desk()
    desk.deaf = True
    desk.see(node_manifest("n0", gpus=1), *gang_manifests("g", 4))
    desk.rest(10.0)
    assert desk.conditions == []
    desk.deaf = False
    for _ in range(200):
        desk.rest(1.0)
        desk.see()
    assert desk.conditions == [f"11s g-{number}" for number in range(4)]
    assert len(desk.since) == 4


def test_numbers_that_stay_are_not_told_again() -> None:
    desk = Desk()
    desk.see(node_manifest("n0", gpus=1), *gang_manifests("g", 4))
    for _ in range(2000):
        desk.rest(1.0)
        desk.see()
    assert desk.told == ["0s default/g 4: 4 needed together, 1 fit"]


def test_new_numbers_for_many_gangs_are_told_to_so_many_pods_a_second() -> None:
    desk = Desk()
    gangs = [pod for number in range(100) for pod in gang_manifests(f"g{number}", 4)]
    desk.see(node_manifest("n0", gpus=1), *gangs)
    desk.see(node_manifest("n1", gpus=1))
    at_first = len(desk.conditions)
    told: list[int] = []
    for _ in range(90):
        before = len(desk.conditions)
        desk.rest(1.0)
        told.append(len(desk.conditions) - before)
    assert (at_first, sum(told)) == (400, 400)
    assert [count for count in told if count] == [NUMBERS_RATE] * 20
    assert sum(told[:59]) == 0
