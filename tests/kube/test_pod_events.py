"""What is told of each pod and of what made it, in what order, and again before it is forgotten."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, cast

import msgspec
import pytest

from phalanx.kube.client import Reply
from phalanx.kube.clock import Clock
from phalanx.kube.events import NOTE_MAX, Events
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import NODES, PODS
from phalanx.kube.local import node_manifest
from phalanx.kube.placed_events import PLACED_MAX, PlacedEvents
from phalanx.kube.status import Status
from phalanx.kube.waiting_events import RENEWAL, WaitingEvents
from phalanx.kube.writes import Write, Writes
from phalanx.loop import Loop
from phalanx.model.plan import Bind, Code, Reason, Wait
from phalanx.policy.load import load_policy
from phalanx.testing.objects import Manifest, gang_manifests, pod_manifest
from phalanx.world.world import World

#: The API server's default.
FORGOTTEN = 3600


@dataclass
class Watch(Clock):
    """A clock that a test turns."""

    time: float = 1_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


@dataclass
class Desk:
    """A scheduler's events without a server: a dictionary takes them, and says no as a server does."""

    watch: Watch = field(default_factory=Watch)
    #: By name: the body, with when it was last written.
    events: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    requests: int = 0

    def __post_init__(self) -> None:
        self.world = World()
        self.feed = Feed(self.world, ("phalanx",))
        self._version = 0
        self.start()

    def start(self) -> None:
        """Start anew, on what the pods say."""
        self.loop = Loop(self.world, load_policy("default"))
        self.later: list[Write] = []
        events = Events(self.world, self.feed, self, self.watch, "phalanx", "test")
        self.waiting = WaitingEvents(self.world, events, self.watch)
        self.placed = PlacedEvents(self.world, events)
        self.status = Status(self.world, self.feed, cast("Writes", self), self.waiting, self.watch, lambda *_: None)

    def submit_each(self, writes: Iterator[Write]) -> None:
        """Conditions."""
        for _ in writes:
            pass

    def submit(self, write: Write) -> None:
        """Second halves of what is told."""
        self.later.append(write)

    def see(self, *objects: Manifest) -> None:
        for item in objects:
            self._version += 1
            name = item["metadata"]["name"]
            about = item["metadata"] | {"uid": name, "resourceVersion": str(self._version)}
            about |= {"creationTimestamp": "2026-11-01T12:00:00Z"}
            raw = msgspec.Raw(msgspec.json.encode(item | {"metadata": about}))
            self.feed.put(PODS if item["kind"] == "Pod" else NODES, raw)

    def decide(self) -> None:
        plan = self.loop.cycle(self.watch.now()).plan
        self.status.update(plan)
        for bind in plan.binds:
            self.placed.add(bind)

    def write(self, limit: int = 1_000_000) -> list[str]:
        """Let that many events through; return of whom they are, by lanes in order."""
        told: list[str] = []
        for lane in (*self.waiting.lanes, *self.placed.lanes):
            while len(told) < limit and (write := lane()) is not None:
                told.append(self._send(write))
                while self.later:
                    self._send(self.later.pop(0))
        return told

    def _send(self, write: Write) -> str:
        body: dict[str, Any] = msgspec.json.decode(write.body)
        name = body["metadata"]["name"] if write.method == "POST" else write.path.rpartition("/")[2]
        there = self.events.get(name)
        fresh = there is not None and self.watch.time - there["at"] < FORGOTTEN
        self.requests += 1
        if write.method == "POST" and not fresh:
            self.events[name] = body | {"at": self.watch.time}
        elif write.method == "PATCH" and fresh:
            self.events[name] |= body | {"at": self.watch.time}
        elif write.done is not None:
            write.done(Reply(409 if fresh else 404, b"{}", {}))
        return name.rpartition(".")[0]

    def shown(self) -> list[str]:
        """Return what `kubectl get events` shows now."""
        return sorted(
            f"{one['regarding']['kind']} {one['regarding']['name']} {one['reason']}"
            + (f" ×{one['series']['count']}" if "series" in one else "")
            for one in self.events.values()
            if self.watch.time - one["at"] < FORGOTTEN
        )


def owned(pods: list[Manifest], kind: str, name: str) -> list[Manifest]:
    """Return pods as their controller makes them."""
    owner = {"apiVersion": "batch/v1", "kind": kind, "name": name, "uid": f"uid-of-{name}", "controller": True}
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [owner]
    return pods


def test_every_pod_of_a_waiting_gang_and_its_job_say_why() -> None:
    desk = Desk()
    desk.see(node_manifest("n1", gpus=2), *owned(gang_manifests("train", 3), "Job", "train"))
    desk.decide()
    desk.write()
    assert desk.shown() == [
        "Job train FailedScheduling", *(f"Pod train-{number} FailedScheduling" for number in range(3)),
    ]  # fmt: skip
    notes = {one["regarding"]["kind"]: one["note"] for one in desk.events.values()}
    assert notes["Job"] == f"gang default/train: {notes['Pod']}"
    one = next(one for one in desk.events.values() if one["regarding"]["kind"] == "Pod")
    form = {key: one[key] for key in ("type", "action", "reportingController", "reportingInstance")}
    assert form == {
        "type": "Warning", "action": "Scheduling", "reportingController": "phalanx", "reportingInstance": "test",
    }  # fmt: skip


def test_pods_that_cannot_be_read_say_what_is_wrong_and_so_does_their_job() -> None:
    desk = Desk()
    pods = owned(gang_manifests("train", 2), "Job", "train")
    for pod in pods:
        pod["metadata"]["annotations"]["phalanx.dev/minimum"] = "two"
    desk.see(node_manifest("n1", gpus=2), *pods)
    desk.decide()
    desk.watch.time += 2
    desk.decide()
    desk.write()
    assert sorted(desk.shown()) == [
        "Job train FailedScheduling", *(f"Pod train-{number} FailedScheduling" for number in range(2)),
    ]  # fmt: skip
    assert {one["note"] for one in desk.events.values()} == {
        "metadata.annotations[phalanx.dev/minimum]: found 'two', allowed is a whole number from 1 to 2147483647"
    }


def test_placed_pods_read_as_everywhere_with_the_gang_behind() -> None:
    desk = Desk()
    desk.see(node_manifest("n1", gpus=2), node_manifest("n2", gpus=2))
    desk.see(*owned(gang_manifests("train", 3), "Job", "train"))
    desk.decide()
    desk.see(pod_manifest("web-1"))
    desk.decide()
    desk.write()
    notes = {f"{one['regarding']['kind']} {one['regarding']['name']}": one["note"] for one in desk.events.values()}
    behind = "gang default/train: 3 of 3 pods, n1 ×2, n2 ×1"
    assert notes == {
        "Job train": behind,
        "Pod train-0": f"Successfully assigned default/train-0 to n1 ({behind})",
        "Pod train-1": f"Successfully assigned default/train-1 to n1 ({behind})",
        "Pod train-2": f"Successfully assigned default/train-2 to n2 ({behind})",
        "Pod web-1": "Successfully assigned default/web-1 to n2",
    }
    assert {(one["type"], one["reason"], one["action"]) for one in desk.events.values()} == {
        ("Normal", "Scheduled", "Binding")
    }


def test_each_gang_has_an_event_before_a_huge_one_has_all() -> None:
    desk = Desk()
    desk.see(node_manifest("n1", gpus=1), *gang_manifests("huge", 200))
    for number in range(5):
        desk.see(*owned(gang_manifests(f"small{number}", 2), "Job", f"small{number}"))
    desk.decide()
    # A Job first where there is one, then pods, of each gang in turn.
    assert desk.write(6) == ["huge-0", *(f"small{number}" for number in range(5))]
    told = desk.write(12)
    assert [name.partition("-")[0] for name in told] == ["huge", *(f"small{number}" for number in range(5))] * 2
    assert desk.waiting.waiting == 197
    desk.write()
    assert desk.waiting.waiting == 0


def test_a_gang_that_waits_on_is_told_again_before_the_server_forgets_and_never_with_all_the_others() -> None:
    desk = Desk()
    desk.see(node_manifest("n1", gpus=1), *[pod for number in range(50) for pod in gang_manifests(f"g{number}", 2)])
    desk.decide()
    desk.write()
    everybody = desk.shown()
    assert len(everybody) == 100
    writes = []
    for _ in range(2 * RENEWAL):
        desk.watch.time += 1
        desk.waiting.renew()
        before = desk.requests
        desk.write()
        writes.append(desk.requests - before)
        assert len(desk.shown()) == 100
    assert all(name.endswith(("×2", "×3")) for name in desk.shown())
    assert max(writes) <= 8


@pytest.mark.parametrize("told_for", [0, 700, 1400])
def test_a_new_leader_writes_nothing_that_is_said_and_keeps_what_is_said_from_expiring(told_for: int) -> None:
    desk = Desk()
    desk.see(node_manifest("n1", gpus=1), *owned(gang_manifests("train", 4), "Job", "train"))
    desk.decide()
    desk.write()
    everybody, before = desk.shown(), desk.requests
    for second in range(2 * FORGOTTEN):
        if second == told_for:
            desk.start()
            desk.decide()
            assert desk.write() == []
        desk.watch.time += 1
        desk.waiting.renew()
        desk.write()
        assert len(desk.shown()) == len(everybody)
    assert desk.requests - before <= 5 * (2 * FORGOTTEN // RENEWAL + 1)


def test_what_expired_while_nobody_led_is_created_again() -> None:
    desk = Desk()
    desk.see(node_manifest("n1", gpus=1), *gang_manifests("train", 2))
    desk.decide()
    desk.write()
    desk.watch.time += 2 * FORGOTTEN
    assert desk.shown() == []
    desk.start()
    desk.decide()
    desk.watch.time += RENEWAL
    desk.waiting.renew()
    desk.write()
    assert desk.shown() == ["Pod train-0 FailedScheduling", "Pod train-1 FailedScheduling"]


def test_a_thousand_pods_of_one_replica_set_that_wait_for_the_same_are_one_event_on_it() -> None:
    desk = Desk()
    pods = [pod_manifest(f"web-{number}", requests={"example.com/dongle": "1"}) for number in range(1000)]
    desk.see(node_manifest("n1"), *owned(pods, "ReplicaSet", "web"))
    desk.decide()
    desk.write()
    kinds = [line.partition(" ")[0] for line in desk.shown()]
    assert {kind: len(list(group)) for kind, group in groupby(kinds)} == {"Pod": 1000, "ReplicaSet": 1}
    assert desk.requests == 1001


def test_a_gang_that_got_its_places_is_not_told_any_more_that_it_waits() -> None:
    desk = Desk()
    desk.see(node_manifest("n1", gpus=1), *gang_manifests("train", 2))
    desk.decide()
    write = desk.waiting.lanes[0]()
    assert write is not None
    assert write.still_true is not None
    assert write.still_true()
    desk.see(node_manifest("n2", gpus=1))
    desk.decide()
    assert not write.still_true()
    assert {one.rpartition(" ")[2] for one in [*desk.write(), *desk.shown()]} >= {"Scheduled"}
    assert all("Scheduled" in line for line in desk.shown())


def test_a_reason_that_changes_is_another_event_and_one_that_comes_back_counts_on() -> None:
    desk = Desk()
    desk.see(*gang_manifests("a", 1))
    for note in ("one", "two", "one"):
        desk.waiting.wait(Wait("default/a", "default/a", 1, Reason(Code.FULL, note)), note, ["a-0"])
        desk.write()
    # The key is not the world's, so nobody looks up who made the pod.
    assert sorted((one["note"], one.get("series", {}).get("count")) for one in desk.events.values()) == [
        ("one", 2), ("two", None),
    ]  # fmt: skip


def test_pods_that_were_not_told_yet_are_told_the_newer_reason() -> None:
    """For example since another one joined, and only its own condition is news."""
    desk = Desk()
    desk.see(*gang_manifests("a", 3))
    for note, news in (("one", ["a-0", "a-1"]), ("two", ["a-2"])):
        desk.waiting.wait(Wait("default/a", "default/a", 3, Reason(Code.FULL, note)), note, news)
    desk.write()
    assert {one["note"] for one in desk.events.values()} == {"two"}
    assert desk.shown() == [f"Pod a-{number} FailedScheduling" for number in range(3)]


def test_new_numbers_come_after_all_who_were_told_nothing_yet_and_reach_those_who_still_wait_for_their_turn() -> None:
    desk = Desk()
    desk.see(*gang_manifests("a", 2), *gang_manifests("b", 2))

    def wait(gang: str, note: str, *, numbers: bool = False) -> None:
        reason = Wait(f"default/{gang}", f"default/{gang}", 2, Reason(Code.FULL, note))
        desk.waiting.wait(reason, note, [f"{gang}-0", f"{gang}-1"], numbers=numbers)

    wait("a", "1 fit")
    desk.write()
    wait("a", "2 fit", numbers=True)
    wait("b", "1 fit")
    assert desk.write(1) == ["b-0"]
    wait("b", "3 fit", numbers=True)
    assert desk.write() == ["b-1", "a-0", "a-1"]
    assert [(one["regarding"]["name"], one["note"]) for one in desk.events.values()] == [
        ("a-0", "1 fit"), ("a-1", "1 fit"), ("b-0", "1 fit"), ("b-1", "3 fit"), ("a-0", "2 fit"), ("a-1", "2 fit"),
    ]  # fmt: skip


def test_reasons_that_change_while_nothing_may_be_sent_do_not_pile_up() -> None:
    desk = Desk()
    desk.see(*gang_manifests("a", 3))
    for number in range(1000):
        desk.watch.time += 60
        note = f"{number} fit"
        desk.waiting.wait(Wait("default/a", "default/a", 3, Reason(Code.FULL, note)), note, ["a-0", "a-1", "a-2"])
        desk.waiting.renew()
        assert len(desk.waiting._news) <= 2
    desk.write()
    assert {one["note"] for one in desk.events.values()} == {"999 fit"}


def test_too_many_placed_pods_are_dropped_by_gangs_and_counted() -> None:
    desk = Desk()
    for number in range(PLACED_MAX // 8 + 10):
        for member in range(8):
            desk.placed.add(Bind(f"default/g{number}-{member}", f"{number}-{member}", "n1", f"g{number}", f"g{number}"))
    assert (desk.placed.waiting, desk.placed.dropped) == (PLACED_MAX, 80)


def test_a_note_is_cut_to_what_the_server_takes_in_bytes() -> None:
    desk = Desk()
    desk.see(pod_manifest("p"))
    desk.waiting.wait(Wait("p", "p", 1, Reason(Code.FULL, "")), "×" * 1000, ["p"])
    desk.write()
    (event,) = desk.events.values()
    assert NOTE_MAX - 4 < len(event["note"].encode()) <= NOTE_MAX
    assert event["note"].endswith("×…")
