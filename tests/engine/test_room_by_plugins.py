"""A plugin's filter, columns and vetoes count where room is made, as those of a built-in do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from phalanx.engine.policy import Policy, Weighted
from phalanx.plugin_api import PODS, Code, Column, Int, Plugin, Reason, Request, Session, Snapshot, Taken, Unit
from phalanx.testing import check, check_run
from tests.oracles.room import ROOM


def with_plugin(plugin: Plugin) -> Policy:
    """Return the policy that makes room in every way, with one more plugin."""
    return replace(ROOM, plugins=(*ROOM.plugins, Weighted(plugin)))


@dataclass(frozen=True, slots=True)
class FewPods(Plugin):
    """At most so many pods on a node, read from the books of amounts: the plugin that docs/plugins.md teaches."""

    limit: int = 2
    name: ClassVar[str] = "few_pods"

    def room(self, session: Session, request: Request) -> Int:
        pods = session.snapshot.axis.index[PODS]
        left: Int = self.limit - session.snapshot.nodes.allocatable[:, pods] + session.spare(request, pods)
        return left.clip(0)

    def ceiling(self, session: Session, request: Request) -> Int:
        del request
        return np.full(len(session.snapshot.nodes), self.limit)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        del session, request
        return [(len(nodes), f"with {self.limit} pods already")]


def test_a_filter_that_reads_the_books_makes_room_like_a_built_in() -> None:
    check(
        """
        node  n1          gpu=8
        pod   low1..low2  gpu=1 on=n1
        pod   high        gpu=1 priority=9 created=1m
        pod   late        gpu=1 created=2m
        """,
        """
        wait late 1 full: 0/1 nodes: 1 with 2 pods already
        evict low2 n1 for high: …
        nominate high n1
        cycle 2
        bind high n1
        wait late 1 full: 0/1 nodes: 1 with 2 pods already
        """,
        with_plugin(FewPods()),
        cycles=2,
    )


@dataclass(frozen=True, slots=True)
class Licences(Plugin):
    """Each node has one licence, and a pod with the label `licence` takes it."""

    name: ClassVar[str] = "licences"
    reads_labels: ClassVar[tuple[str, ...]] = ("licence",)

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        takes = np.array([["licence" in dict(shape.labels)] for shape in snapshot.shapes], np.int64)
        return (Column("licences", takes, np.ones((len(snapshot.nodes), 1), np.int64)),)

    def room(self, session: Session, request: Request) -> Int | None:
        if "licence" not in dict(session.snapshot.shapes[request.shape].labels):
            return None
        return np.maximum(session.spare(request, 0, "licences"), 0)

    def ceiling(self, session: Session, request: Request) -> Int:
        has = "licence" in dict(session.snapshot.shapes[request.shape].labels)
        return np.full(len(session.snapshot.nodes), 1 if has else 2**31)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        del session, request
        return [(len(nodes), "without a licence left")]


def test_what_a_plugin_counts_is_given_back_by_who_leaves_and_kept_by_a_promise() -> None:
    """The plugin declares what a pod takes, and nothing else: the ledger does the rest."""
    check_run(
        """
        node  n1    gpu=8
        pod   low   gpu=1 label:licence=cad on=n1 controlled
        pod   high  gpu=1 label:licence=cad priority=9 created=1m
        pod   late  gpu=1 label:licence=cad created=70s
        pod   other gpu=1 created=70s
        """,
        """
        at 1m
        evict low n1 for high: …
        nominate high n1
        at 1m10s
        wait late 1 full: 0/1 nodes: 1 without a licence left
        bind other n1
        nominate high n1
        at 1m30s
        bind high n1
        wait late 1 full: 0/1 nodes: 1 without a licence left
        wait low 1 full: …
        """,
        with_plugin(Licences()),
        until="1h",
    )


@dataclass(frozen=True, slots=True)
class NotOnN1(Plugin):
    """A last word that looks at places: nobody starts on n1."""

    name: ClassVar[str] = "not_on_n1"

    def check(self, session: Session, unit: Unit, taken: Taken | None) -> Reason | None:
        del unit
        if taken is not None and (taken.nodes == session.snapshot.nodes.row["n1"]).any():
            return Reason(Code.HELD, "nobody starts on n1")
        return None


def test_nobody_leaves_a_node_on_which_a_veto_lets_nobody_start() -> None:
    """Pod low1 would be the first to go."""
    check(
        """
        node  n1..n2  gpu=2
        pod   low1    gpu=2 on=n1
        pod   low2    gpu=2 on=n2 priority=1
        pod   high    gpu=2 priority=9 created=1m
        """,
        """
        evict low2 n2 for high: …
        nominate high n2
        cycle 2
        bind high n2
        """,
        with_plugin(NotOnN1()),
        cycles=2,
    )


def test_where_a_veto_forbids_the_only_place_nobody_leaves() -> None:
    only = """
        node   n1    gpu=2
        queue  a     quota:gpu=0
        queue  b     quota:gpu=2
        pod    low   gpu=2 queue={} on=n1
        pod    high  gpu=2 queue=b priority=9 created=1m
        """
    for queue in ("a", "b"):
        check(only.format(queue), "wait high 1 full: …\ncycle 2\nwait high 1 full: …", with_plugin(NotOnN1()), cycles=2)


def test_nobody_is_moved_away_from_a_node_on_which_a_veto_lets_nobody_start() -> None:
    check(
        """
        node  n1  gpu=2
        node  n2  gpu=3
        pod   r1  gpu=1 on=n1 controlled
        pod   r2  gpu=2 on=n2 controlled
        pod   p   gpu=2 created=1m
        """,
        "wait p 1 full: …",
        with_plugin(NotOnN1()),
    )
