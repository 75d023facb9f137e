"""Victim: a plugin has a word in who leaves for whom."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from phalanx.engine.plugin import Plugin
from phalanx.engine.policy import Policy, Weighted
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool
from phalanx.testing import check
from tests.oracles.room import CONSOLIDATE, PREEMPT, RECLAIM, policy_of


@dataclass(frozen=True, slots=True)
class Guarded(Plugin):
    """Nobody with the label `guard` leaves, but for gangs of the name that it has."""

    name: ClassVar[str] = "guarded"
    reads_labels: ClassVar[tuple[str, ...]] = ("guard",)

    def mask(self, session: Session, gang: int) -> Bool:
        snapshot = session.snapshot
        name = snapshot.gangs.gangs[gang].name
        guards = [dict(shape.labels).get("guard") for shape in snapshot.shapes]
        return np.array([guard is None or name == f"default/{guard}" for guard in guards])[snapshot.running.shape]


def guarded(*actions: str) -> Policy:
    policy = policy_of(*actions)
    return replace(policy, plugins=(*policy.plugins, Weighted(Guarded())))


CLUSTER = """
    node  n1..n2 gpu=2
    queue a      quota:gpu={quota}
    queue b      quota:gpu=4
    gang  r1     members=2 gpu=1 queue={theirs} on=n1 label:guard=friend
    gang  r2     members=2 gpu=1 queue={theirs} on=n2 label:guard=nobody
    gang  {name} members=1 gpu=2 queue=b priority=9 created=1m
"""


@pytest.mark.parametrize(("action", "theirs"), [(PREEMPT, "b"), (RECLAIM, "a")], ids=["preempt", "reclaim"])
def test_who_must_not_leave_for_a_gang_stays(action: str, theirs: str) -> None:
    friend = CLUSTER.format(name="friend", quota=0, theirs=theirs)
    expect = "evict r1-0 n1 for friend: …\nevict r1-1 n1 for friend: …\nnominate friend-0 n1"
    check(friend, expect, guarded(action))
    stranger = CLUSTER.format(name="stranger", quota=0, theirs=theirs)
    check(stranger, "wait stranger 1 full: …", guarded(action))


def test_two_gangs_that_are_equal_but_for_a_plugin_are_both_tried() -> None:
    both = CLUSTER.format(name="a-stranger", quota=0, theirs="b")
    check(
        both + "gang friend members=1 gpu=2 queue=b priority=9 created=1m",
        """
        wait a-stranger 1 full: …
        evict r1-0 n1 for friend: …
        evict r1-1 n1 for friend: …
        nominate friend-0 n1
        """,
        guarded(PREEMPT),
    )


def test_nor_is_he_moved() -> None:
    given = """
        node n1..n2 gpu=4
        pod  r1     gpu=2 on=n1 controlled {}
        pod  r2     gpu=2 on=n2
        pod  big    gpu=4 created=1m
    """
    moved = "evict r1 n1 for big: …\nnominate big n1\nnominate r1 n2"
    check(given.format(""), moved, guarded(CONSOLIDATE))
    check(given.format("label:guard=nobody"), "wait big 1 full: …", guarded(CONSOLIDATE))
