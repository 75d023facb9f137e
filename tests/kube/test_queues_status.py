"""What is written into a Queue's status, and how often: soon, true, and not again and again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.kube.clock import Clock
from phalanx.kube.events import Events
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import NODES, PODS, QUEUES, watched_kind
from phalanx.kube.local import node_manifest
from phalanx.kube.log import Log
from phalanx.kube.queue_status import merge_patch
from phalanx.kube.queues import QueueStatus
from phalanx.kube.writes import Write, Writes
from phalanx.loop import Loop
from phalanx.model.axis import GPU
from phalanx.model.reference import Reference
from phalanx.policy.load import parse_policy
from phalanx.testing.objects import Manifest
from phalanx.world.world import World
from tests.kube.queue_cluster import gang, queue

KINDS = {"Pod": PODS, "Node": NODES, "Queue": QUEUES}
MEMORY = "share: {name: quota_then_weight, arguments: {memory: {window: 64m}}}\n"


@dataclass
class Watch(Clock):
    """A clock that a test turns."""

    time: float = 1_800_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time - 1_800_000_000


@dataclass
class Desk:
    """A scheduler's queues, and a server that keeps what is written and sends it back."""

    policy: str = ""
    watch: Watch = field(default_factory=Watch)
    #: `seconds name: keys`, one line per patch.
    written: list[str] = field(default_factory=list[str])
    told: list[str] = field(default_factory=list[str])
    objects: dict[str, Manifest] = field(default_factory=dict[str, Manifest])
    #: The server takes what is written.
    answering: bool = True
    _version: int = 0

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin, or begin again, with what the server has."""
        world = World()
        self.feed, self.loop = (
            Feed(world, ("phalanx",)),
            Loop(world, parse_policy(f"extends: default\n{self.policy}", "p")),
        )
        writes = cast("Writes", self)
        events = Events(world, self.feed, writes, self.watch, "phalanx", "test")
        self.queues = QueueStatus(self.loop, self.feed, writes, events, self.watch, Log(stream=StringIO()))
        for item in list(self.objects.values()):
            self.see(item)
        self.queues.recall()

    def submit(self, write: Write) -> None:
        body: dict[str, Any] = msgspec.json.decode(write.body)
        if body.get("kind") == "Event":
            self.told.append(f"{body['regarding']['name']} {body['reason']}: {body['note']}")
            return
        assert write.still_true is not None
        assert write.still_true()
        name, patch = write.path.split("/")[-2], body["status"]
        self.written.append(f"{self.watch.monotonic():g} {name}: {' '.join(sorted(patch))}")
        if self.answering:
            status = merged(self.objects[f"Queue {name}"].get("status", {}), patch)
            self.see(self.objects[f"Queue {name}"] | {"status": status})

    def see(self, *items: Manifest) -> None:
        """Hear of objects."""
        for item in items:
            self._version += 1
            about = item["metadata"] | {"uid": item["metadata"]["name"], "resourceVersion": str(self._version)}
            about = {"creationTimestamp": "2026-11-01T12:00:00Z", "generation": 1, **about}
            whole = self.objects[f"{item['kind']} {about['name']}"] = item | {"metadata": about}
            self.feed.put(KINDS[item["kind"]], msgspec.Raw(msgspec.json.encode(whole)))

    def gone(self, *items: Manifest) -> None:
        for item in items:
            whole = self.objects.pop(f"{item['kind']} {item['metadata']['name']}")
            self.feed.gone(KINDS[item["kind"]], msgspec.Raw(msgspec.json.encode(whole)))

    def wait(self, seconds: int, each: Callable[[], None] = lambda: None) -> None:
        """Let time pass, a tick at a time, as the scheduler does."""
        for _ in range(seconds):
            self.watch.time += 1
            each()
            if self.loop.due(self.watch.now()):
                self.loop.cycle(self.watch.now())
            self.queues.flush()

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.objects[f"Queue {name}"].get("status", {})
        return found


def merged(old: Any, patch: Any) -> Any:
    """RFC 7396, as the API server does it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def test_a_status_is_written_soon_then_at_most_every_fifteen_seconds_and_only_the_news() -> None:
    desk = Desk()
    desk.see(node_manifest("n1", gpus=8), queue("team-a", {"quota": 4}))
    desk.wait(5)
    assert desk.written == ["1 team-a: allocated conditions pending requested share"]
    for number in range(8):
        desk.see(*gang(f"g{number}", 1, "team-a"))
        desk.wait(5)
    desk.wait(600)
    assert desk.written[1:] == [
        "17 team-a: allocated requested share",
        "32 team-a: allocated requested share",
        "48 team-a: allocated requested share",
    ]
    status = desk.status("team-a")
    amounts = {"allocated": {GPU: "8"}, "requested": {GPU: "8"}, "share": {GPU: "8"}, "pending": 0}
    ready = {
        "type": "Ready", "status": "True", "reason": "InOrder", "message": "", "observedGeneration": 1,
        "lastTransitionTime": "2027-01-15T08:00:01Z",
    }  # fmt: skip
    assert status == amounts | {"conditions": [ready]}


def test_a_resource_that_nobody_lists_any_more_leaves_the_status() -> None:
    desk = Desk()
    both = {"resources": {GPU: {}, "cpu": {"quota": 2}}}
    desk.see(node_manifest("n1", gpus=8), queue("team-a", None, **both))
    desk.wait(3)
    assert set(desk.status("team-a")["allocated"]) == {GPU, "cpu"}
    desk.see(queue("team-a", {}))
    desk.wait(20)
    assert set(desk.status("team-a")["allocated"]) == {GPU}


def test_what_did_not_get_through_is_written_again_and_events_are_not() -> None:
    desk = Desk(answering=False)
    desk.see(node_manifest("n1"), queue("lost", {}, parent="nobody"))
    desk.wait(40)
    assert desk.written == ["1 lost: conditions pending", "17 lost: conditions pending", "33 lost: conditions pending"]
    assert desk.told == ["lost MissingParent: spec.parent: there is no Queue nobody"]
    desk.answering = True
    desk.wait(100)
    assert len(desk.written) == 4


def test_a_queue_that_cannot_be_read_says_so_even_when_it_is_the_only_one() -> None:
    desk = Desk()
    desk.see(queue("odd", {"quota": "1e60"}))
    desk.wait(100)
    allowed = "allowed is an exponent between -40 and 40, or the word unlimited"
    said = f"spec.resources[nvidia.com/gpu].quota: found '1e60', {allowed}"
    assert desk.told == [f"odd Invalid: {said}"]
    assert [(one["reason"], one["message"]) for one in desk.status("odd")["conditions"]] == [("Invalid", said)]


def test_of_two_objects_of_one_name_the_younger_says_why_it_does_not_count() -> None:
    desk = Desk()
    kai = {"metadata": {"name": "team-a", "uid": "k", "resourceVersion": "1"}, "spec": {"resources": {}}}
    desk.feed.put(watched_kind("scheduling.run.ai", "Queue"), msgspec.Raw(msgspec.json.encode(kai)))
    desk.see(queue("team-a", {}))
    desk.wait(10)
    other = "Queue.scheduling.run.ai team-a has this name too and is the older one, so it counts"
    assert desk.told == [f"team-a Duplicate: metadata.name: {other}"]


def test_what_was_used_is_written_for_all_queues_at_once_and_not_while_it_stays_the_same() -> None:
    desk = Desk(MEMORY)
    desk.see(node_manifest("n1", gpus=8), queue("team-a", {}), queue("team-b", {}), queue("team-c", {}))
    desk.wait(200)
    assert not [line for line in desk.written if "usage" in line], "nothing was used"
    desk.see(*gang("a", 4, "team-a"), *gang("b", 2, "team-b"))
    start = len(desk.written)
    desk.wait(130)
    usage = [line for line in desk.written[start:] if "usage" in line]
    first = "allocated requested share usage"
    assert usage == [
        f"202 team-a: {first}", f"202 team-b: {first}",
        "262 team-a: usage", "262 team-b: usage", "322 team-a: usage", "322 team-b: usage",
    ]  # fmt: skip
    # After the window everything that is remembered is the same; then only once per part of it, lest it be forgotten.
    desk.wait(3900)
    start = len(desk.written)
    desk.wait(1200)
    assert len(desk.written) - start == pytest.approx(2 * 1200 / 120, abs=2)
    desk.gone(*gang("a", 4, "team-a"), *gang("b", 2, "team-b"))
    desk.wait(4100)
    start = len(desk.written)
    desk.wait(3000)
    assert desk.written[start:] == [], "an idle cluster, nothing left to remember"


def test_a_restart_begins_with_what_the_statuses_hold_and_does_not_write_it_again() -> None:
    desk = Desk(MEMORY)
    desk.see(node_manifest("n1", gpus=8), queue("team-a", {}), queue("team-b", {}))
    desk.see(*gang("a", 6, "team-a"))
    desk.wait(300)
    desk.gone(*gang("a", 6, "team-a"))
    desk.wait(300)

    def usage() -> list[float]:
        found: list[float] = desk.loop.world.queues.table.usage[:, 0].tolist()
        return found

    assert desk.queues.write_history()
    before = usage()
    desk.watch.time += 30
    written = len(desk.written)
    desk.start()
    desk.wait(30)
    assert usage() == pytest.approx(before, abs=0.03), "half a minute of ten was not seen by anybody"
    assert before[0] > 0.3
    assert desk.written[written:] == []


def raw(name: str, uid: str, version: int, quota: str = "1") -> msgspec.Raw:
    about = {"uid": uid, "resourceVersion": str(version), "creationTimestamp": "2026-11-01T12:00:00Z"}
    item = queue(name, {"quota": quota})
    return msgspec.Raw(msgspec.json.encode(item | {"metadata": item["metadata"] | about}))


@pytest.mark.parametrize("quota", ["1", "1e60"])
def test_a_queue_made_again_before_we_heard_of_its_end_stays_and_goes_with_its_own_end(quota: str) -> None:
    """Between two lists a queue may go and come again; one that cannot be read is kept by its name alone."""
    world = World()
    feed = Feed(world, ("phalanx",))
    feed.put(QUEUES, raw("team-a", "old", 1, quota))
    feed.put(QUEUES, raw("team-a", "new", 2, quota))
    feed.replaced(QUEUES, {"new"})
    assert {*world.queues.seen, *world.queues.refused} == {Reference("Queue", "team-a")}
    feed.gone(QUEUES, raw("team-a", "new", 3, quota))
    assert {*world.queues.seen, *world.queues.refused, *world.refused} == set()


_VALUES = st.recursive(
    st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3)


@given(_OBJECTS, _OBJECTS)
def test_a_merge_patch_turns_the_old_into_the_new_and_is_empty_only_when_they_are_equal(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    patch = merge_patch(old, new)
    assert merged(old, patch) == new
    assert bool(patch) == (old != new)
