"""Nominations on pods: written when they differ, cleared when given back, given up when nobody takes them."""

import io
import json
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from phalanx.kube.clock import Clock
from phalanx.kube.events import Events
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import NODES, PODS
from phalanx.kube.local import node_manifest
from phalanx.kube.log import Log
from phalanx.kube.nominations import Nominations
from phalanx.kube.writes import Write, Writes
from phalanx.loop import Loop
from phalanx.model.plan import Plan, Release
from phalanx.model.task import State
from phalanx.world.world import World
from tests.oracles.room import PREEMPT, policy_of


class Hands(Clock):
    """A clock that a test moves."""

    at = 1000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


class Notebook:
    """Takes writes instead of a server."""

    def __init__(self) -> None:
        self.taken: list[Write] = []

    def submit(self, write: Write) -> None:
        self.taken.append(write)

    def drain(self) -> list[tuple[str, Any]]:
        """Return what would be sent, by the last part of the path."""
        sent = [write for write in self.taken if write.still_true is None or write.still_true()]
        self.taken = []
        return [(write.path.split("/")[-2], json.loads(write.body)) for write in sent]


class Stage:
    """A world that is fed as a server would, and nominations that write into a notebook."""

    def __init__(self) -> None:
        self.world, self.clock, self.notes = World(), Hands(), Notebook()
        self.feed = Feed(self.world, ("phalanx",))
        writes = cast("Writes", self.notes)
        events = Events(self.world, self.feed, writes, self.clock, "phalanx", "test")
        self.said = io.StringIO()
        log = Log(stream=self.said)
        self.nominations = Nominations(self.world, self.feed, writes, events, log)
        self.version = 0

    def node(self, name: str) -> None:
        self.version += 1
        body = node_manifest(name)
        body["metadata"] |= {"uid": name, "resourceVersion": str(self.version)}
        self.feed.put(NODES, msgspec.Raw(json.dumps(body).encode()))

    def pod(
        self, name: str, nominated: str | None = None, node: str | None = None, gates: Sequence[str] = (), **meta: Any
    ) -> None:
        self.version += 1
        spec: dict[str, Any] = {"schedulerName": "phalanx", "containers": [{"name": "main", "image": "x"}]}
        spec["schedulingGates"] = [{"name": gate} for gate in gates]
        body = {
            "metadata": {
                "name": name, "namespace": "default", "uid": name, "resourceVersion": str(self.version),
                "creationTimestamp": "1970-01-01T00:00:00Z", **meta,
            },
            "spec": spec | ({"nodeName": node} if node else {}),
            "status": {"phase": "Pending"} | ({"nominatedNodeName": nominated} if nominated else {}),
        }  # fmt: skip
        self.feed.put(PODS, msgspec.Raw(json.dumps(body).encode()))


def place(node: str | None, name: str = "a") -> tuple[str, Any]:
    return (name, {"metadata": {"uid": name}, "status": {"nominatedNodeName": node}})


def test_what_the_world_decides_is_written_once_and_cleared_when_it_is_taken_back() -> None:
    stage = Stage()
    stage.pod("a")
    stage.nominations.follow(())
    assert stage.notes.drain() == []
    stage.world.nominate("a", "n1")
    stage.nominations.follow(())
    stage.nominations.follow(())
    assert stage.notes.drain() == [place("n1")]
    stage.pod("a", "n1")
    stage.nominations.follow(())
    assert stage.notes.drain() == []
    stage.world.nominate("a", None)
    stage.nominations.follow(())
    assert stage.notes.drain() == [place(None)]
    stage.pod("a")
    stage.nominations.follow(())
    assert stage.notes.drain() == []


def test_what_is_no_longer_true_is_not_sent_and_what_is_being_made_room_for_is_left_to_that() -> None:
    stage = Stage()
    stage.pod("a")
    stage.world.nominate("a", "n1")
    stage.nominations.follow({"Pod/a"})
    assert stage.notes.drain() == []
    stage.nominations.follow(())
    stage.world.nominate("a", "n2")
    assert stage.notes.drain() == []
    stage.nominations.follow(())
    assert stage.notes.drain() == [place("n2")]


def test_a_write_that_never_reached_the_server_is_made_again() -> None:
    stage = Stage()
    stage.pod("a", "n1")
    stage.nominations.follow(())
    stage.world.nominate("a", None)
    stage.nominations.follow(())
    stage.nominations.follow(())
    (clearing,) = stage.notes.taken
    assert clearing.lost is not None
    clearing.lost()
    assert stage.notes.drain() == [place(None)]
    stage.nominations.follow(())
    assert stage.notes.drain() == [place(None)]
    # What was heard since counts.
    stage.pod("a")
    clearing.lost()
    stage.nominations.follow(())
    assert stage.notes.drain() == []


def test_what_the_last_scheduler_wrote_holds_and_is_cleared_when_it_is_given_back() -> None:
    stage = Stage()
    stage.pod("a", "n1")
    assert stage.world.nominated == {"n1": {"a": None}}
    stage.nominations.follow(())
    stage.world.nominate("a", None)
    stage.nominations.follow(())
    assert stage.notes.drain() == [place(None)]


def test_a_place_that_is_released_while_it_is_being_written_is_cleared_once_it_stands_there() -> None:
    stage = Stage()
    stage.pod("a")
    stage.world.nominate("a", "n1")
    stage.nominations.follow({"Pod/a"})
    stage.world.nominate("a", None)
    stage.nominations.follow({"Pod/a"})
    assert stage.notes.drain() == []
    # The answer to whoever made room comes only now.
    stage.pod("a", "n1")
    assert stage.world.tasks["a"].nominated is None
    stage.nominations.follow(())
    assert stage.notes.drain() == [place(None)]


def test_a_place_that_nobody_takes_is_given_back_ten_minutes_after_all_should_have_left() -> None:
    stage = Stage()
    loop = Loop(stage.world, policy_of(PREEMPT))
    stage.node("n1")
    stage.pod("a", "n1", gates=["held"])
    stage.pod("old", node="n1", deletionTimestamp="1970-01-01T00:20:00Z")
    for at in (1000.0, 1599.0, 1600.0, 1799.0):
        stage.nominations.submit(loop.cycle(at).plan)
        stage.nominations.follow(())
    assert stage.world.tasks["a"].nominated == "n1"
    assert stage.notes.drain() == []
    stage.clock.at = 1810.0
    stage.nominations.submit(loop.cycle(1810.0).plan)
    stage.nominations.follow(())

    assert stage.world.tasks["a"].nominated is None
    (event, told), cleared = stage.notes.drain()
    assert (event, told["reason"], told["regarding"]["name"]) == ("default", "NominationGivenUp", "a")
    note = "the places that were kept are given back (default/a on n1): its gang did not start there in time"
    assert told["note"] == note
    assert cleared == place(None)
    assert "nomination-given-up pod=default/a node=n1" in stage.said.getvalue()
    # Nobody counts on who is stuck, whatever else is heard of him.
    assert stage.world.tasks["old"].stuck
    stage.pod("old", node="n1", deletionTimestamp="1970-01-01T00:20:00Z", labels={"still": "there"})
    assert (stage.world.tasks["old"].state, stage.world.tasks["old"].stuck) == (State.RELEASING, True)


def test_what_is_given_up_is_told_once_per_gang_and_reason() -> None:
    stage = Stage()
    steps = [Release(f"default/{name}", name, "n1", "default/g", "Pod/a", "n1 is cordoned") for name in "abcdefg"]
    for step in steps:
        stage.pod(step.uid, "n1")
    stage.nominations.submit(Plan(0.0, tuple(steps)))
    ((_, told),) = stage.notes.drain()
    some = ", ".join(f"default/{name} on n1" for name in "abcde")
    assert told["note"] == f"the places that were kept are given back ({some} and 2 more): n1 is cordoned"
