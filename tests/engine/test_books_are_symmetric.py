"""The ledger: after whatever was taken, promised and given back, every book is what counting afresh gives."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from phalanx.engine.opening import open_session
from phalanx.engine.policy import Weighted
from phalanx.engine.session.column import open_books
from phalanx.engine.session.ledger import Ledger
from phalanx.engine.session.session import Mark, Session
from phalanx.model.events import Event
from phalanx.model.snapshot import Occupancy, Snapshot
from phalanx.plugin_api import Column, Int, Plugin, Request, When
from phalanx.testing.strategies import clusters
from tests.oracles.crowds import crowded
from tests.oracles.neighbours import neighbourly
from tests.oracles.room import NOW, ROOM, world_of

#: (node, shape): pods here, leaving, promised.
Counts: TypeAlias = dict[tuple[int, int], list[int]]
HERE, LEAVING, PROMISED = range(3)


@dataclass(frozen=True, slots=True)
class Zones(Plugin):
    """A column over domains: what is taken by each app in each zone; nodes without a zone are in none."""

    name: ClassVar[str] = "zones"
    reads_labels: ClassVar[tuple[str, ...]] = ("app",)

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        zones = snapshot.nodes.domains("zone")
        apps = [dict(shape.labels).get("app") for shape in snapshot.shapes]
        footprint = np.array([[app == "web", 2 * (app == "db")] for app in apps], np.int64).reshape(-1, 2)
        return (Column("apps in zones", footprint, np.full((len(zones.names), 2), 3), zones.of_node),)


POLICY = replace(ROOM, plugins=(*ROOM.plugins, Weighted(Zones())))


@dataclass
class Truth:
    """What is on the nodes, counted by hand beside the ledger."""

    snapshot: Snapshot
    counts: Counts = field(default_factory=dict[tuple[int, int], list[int]])

    def __post_init__(self) -> None:
        table = self.snapshot.occupancy
        for node, shape, *counts in zip(
            *(column.tolist() for column in (table.node, table.shape, table.here, table.leaving, table.promised)),
            strict=True,
        ):
            self.counts[node, shape] = counts

    def add(self, node: int, shape: int, what: int, count: int) -> None:
        self.counts.setdefault((node, shape), [0, 0, 0])[what] += count

    def kept(self) -> Counts:
        return {key: list(counts) for key, counts in self.counts.items()}

    def occupancy(self) -> Occupancy:
        keys = sorted(self.counts)
        rows = np.array([[*key, *self.counts[key]] for key in keys], np.int64).reshape(-1, 5)
        node, shape, here, leaving, promised = rows.T
        return Occupancy(node, shape, here, leaving, promised, np.zeros_like(node))


def assert_afresh(ledger: Ledger, truth: Truth) -> None:
    """Every book of every column is what its footprint and the counts give."""
    occupancy = truth.occupancy()
    for name in ledger.names:
        books = ledger.books(name)
        fresh = open_books(books.column, occupancy)
        for part in ("free", "leaving", "promised"):
            np.testing.assert_array_equal(getattr(books, part), getattr(fresh, part), f"{name}: {part}")


def assert_spare(ledger: Ledger, truth: Truth) -> None:
    """Now what is free and promised to nobody, where a promise waits for what leaves first; later all that is left."""
    occupancy = truth.occupancy()
    for name in ledger.names:
        if (ledger.books(name).column.footprint < 0).any():
            # A sum of weights: nothing is taken of it, and nobody asks what is left.
            continue
        fresh = open_books(ledger.books(name).column, occupancy)
        now = fresh.free - np.maximum(fresh.promised - fresh.leaving, 0)
        later = fresh.free + fresh.leaving - fresh.promised
        for count in range(fresh.free.shape[1]):
            for when, expected in ((When.NOW, now), (When.LATER, later)):
                found = ledger.spare(name, count, when, None, 2**31, beside=True)
                np.testing.assert_array_equal(found, expected[:, count], f"{name}: {when}")


def draw_places(data: st.DataObject, snapshot: Snapshot) -> tuple[int, Int, Int]:
    """Draw copies of a shape on some nodes, each of which stands there once."""
    nodes = data.draw(st.sets(st.integers(0, len(snapshot.nodes) - 1), min_size=1, max_size=4))
    counts = data.draw(st.lists(st.integers(1, 3), min_size=len(nodes), max_size=len(nodes)))
    return data.draw(st.integers(0, len(snapshot.shapes) - 1)), np.array(sorted(nodes)), np.array(counts)


def draw_some(data: st.DataObject, truth: Truth, what: int) -> tuple[int, int, int] | None:
    """Draw some pods of one shape on one node, of those that are here, or promised; None: there are none."""
    able = [(key, counts[what]) for key, counts in sorted(truth.counts.items()) if counts[what]]
    if not able:
        return None
    (node, shape), most = data.draw(st.sampled_from(able))
    return node, shape, data.draw(st.integers(1, most))


@settings(max_examples=100)
@given(clusters() | crowded() | neighbourly(), st.data())
def test_after_any_sequence_the_books_are_those_counted_afresh(events: list[Event], data: st.DataObject) -> None:
    snapshot = world_of(events).compile(NOW)
    assume(len(snapshot.shapes) and len(snapshot.nodes))
    session = open_session(snapshot, POLICY)
    ledger, truth = session.ledger, Truth(snapshot)
    assert_afresh(ledger, truth)
    marks: list[tuple[Mark, Counts]] = []
    for _ in range(data.draw(st.integers(1, 10))):
        match data.draw(st.sampled_from(["occupy", "promise", "vacate", "release", "mark", "rollback"])):
            case "occupy" | "promise" as what:
                shape, nodes, counts = draw_places(data, snapshot)
                getattr(ledger, what)(shape, nodes, counts, beside=True)
                for node, count in zip(nodes.tolist(), counts.tolist(), strict=True):
                    truth.add(node, shape, HERE if what == "occupy" else PROMISED, count)
            case "vacate" if some := draw_some(data, truth, HERE):
                node, shape, count = some
                ledger.vacate(np.full(count, shape), np.full(count, node))
                truth.add(node, shape, HERE, -count)
                truth.add(node, shape, LEAVING, count)
            case "release" if some := draw_some(data, truth, PROMISED):
                node, shape, count = some
                ledger.release(shape, np.array([node]), np.array([count]))
                truth.add(node, shape, PROMISED, -count)
            case "rollback" if marks:
                del marks[data.draw(st.integers(1, len(marks))) :]
                mark, truth.counts = marks.pop()
                session.rollback(mark)
            case _:
                marks.append((session.checkpoint(), truth.kept()))
        assert_afresh(ledger, truth)
    assert_spare(ledger, truth)


@settings(max_examples=100)
@given(crowded(), st.data())
def test_after_any_decisions_the_books_of_nodes_and_queues_are_those_counted_afresh(
    events: list[Event], data: st.DataObject
) -> None:
    """Tasks are placed and promised places, lose promises, are evicted, and all of it is rolled back."""
    world = world_of(events)
    world.look_for_victims(wanted=True)
    snapshot = world.compile(NOW)
    assume(len(snapshot.tasks) and len(snapshot.nodes))
    session = open_session(snapshot, POLICY)
    marks: list[Mark] = []
    for _ in range(data.draw(st.integers(1, 10))):
        waiting = np.flatnonzero((session.place < 0) | (session.promise >= 0))
        running = np.flatnonzero(session.evicted[: session.residents.running] == 0)
        match data.draw(st.sampled_from(["take", "promise", "evict", "release", "mark", "rollback"])):
            case "take" | "promise" as what if len(waiting):
                task = data.draw(st.sampled_from(waiting.tolist()))
                when = When.NOW if what == "take" else When.LATER
                shape, gang = int(snapshot.tasks.shape[task]), int(snapshot.tasks.gang[task])
                node = data.draw(st.integers(0, len(snapshot.nodes) - 1))
                session.take(Request(shape, gang=gang, when=when), np.array([task]), np.array([node]))
            case "release" if (session.promise >= 0).any():
                task = data.draw(st.sampled_from(np.flatnonzero(session.promise >= 0).tolist()))
                session.release(np.array([task]), "no reason")
            case "evict" if len(running):
                session.evict(np.array(sorted(data.draw(st.sets(st.sampled_from(running.tolist()), min_size=1)))))
            case "rollback" if marks:
                del marks[data.draw(st.integers(1, len(marks))) :]
                session.rollback(marks.pop())
            case _:
                marks.append(session.checkpoint())
        truth = counted(session)
        assert_afresh(session.ledger, truth)
        np.testing.assert_array_equal(session.queues.allocated, allocated(session))


def counted(session: Session) -> Truth:
    """Return what is on the nodes by who has a place, who has a promise, and who was evicted."""
    snapshot, table = session.snapshot, session.residents
    truth = Truth(snapshot)
    for task, node in enumerate(snapshot.tasks.nominated.tolist()):
        if node >= 0:
            truth.add(node, int(snapshot.tasks.shape[task]), PROMISED, -1)
    for task, (place, promise) in enumerate(zip(session.place.tolist(), session.promise.tolist(), strict=True)):
        if promise >= 0:
            truth.add(promise, int(snapshot.tasks.shape[task]), PROMISED, 1)
        elif place >= 0:
            truth.add(place, int(snapshot.tasks.shape[task]), HERE, 1)
    for row in np.flatnonzero(session.evicted[: table.running]).tolist():
        truth.add(int(table.node[row]), int(table.shape[row]), HERE, -1)
        truth.add(int(table.node[row]), int(table.shape[row]), LEAVING, 1)
    return truth


def allocated(session: Session) -> Int:
    """Return what each queue has, and those above it."""
    snapshot, queues, table = session.snapshot, session.snapshot.queues, session.residents
    total = queues.allocated.copy()

    def charge(queue: int, shape: int, sign: int) -> None:
        for row in queues.paths[queue] if queue >= 0 else ():
            total[row] += sign * snapshot.requests[shape, queues.columns]

    for task in np.flatnonzero((session.place >= 0) | (session.promise >= 0)).tolist():
        charge(int(snapshot.gangs.queue[snapshot.tasks.gang[task]]), int(snapshot.tasks.shape[task]), 1)
    for row in np.flatnonzero(session.evicted[: table.running]).tolist():
        charge(int(table.queue[table.gang[row]]), int(table.shape[row]), -1)
    return total
