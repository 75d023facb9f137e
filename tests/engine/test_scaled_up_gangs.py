"""A gang whose minimum was raised waits for the rest; only one that lost members it had gives back what it holds."""

from phalanx.model.plan import Evict
from phalanx.testing import check, check_run
from phalanx.testing.scenario import run_text
from phalanx.testing.stage import Stage
from tests.oracles.room import ROOM


def test_a_gang_that_grew_beyond_what_there_is_runs_on() -> None:
    waits = "wait g 2 full: 2 needed together, 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 2)"
    check(
        """
        node  n1  gpu=2
        gang  g   members=2 minimum=4 gpu=1 on=n1
        gang  g   members=2 gpu=1 created=1m
        """,
        "\n".join([waits, *(f"cycle {number}\n{waits}" for number in range(2, 7))]),
        ROOM,
        cycles=6,
    )


def test_a_gang_that_is_scaled_up_while_it_runs_is_left_alone_and_made_whole_once_there_is_room() -> None:
    check_run(
        """
        node   n1   gpu=4
        gang   g    members=2 gpu=1
        pod    web  gpu=2 on=n1 runtime=30m preemptible=false
        scale  g    members=4 minimum=4 at=5m
        """,
        """
        at 0s
        bind g-0 n1
        bind g-1 n1
        at 5m
        wait g 2 full: …
        at 30m
        bind g-2 n1
        bind g-3 n1
        """,
        ROOM,
        until="2h",
    )


def test_for_a_gang_that_is_scaled_up_room_is_made_as_for_any_other() -> None:
    check_run(
        """
        node   n1   gpu=4
        gang   g    members=2 gpu=1 priority=9
        pod    low  gpu=2 on=n1
        scale  g    members=4 minimum=4 at=5m
        """,
        """
        at 0s
        bind g-0 n1
        bind g-1 n1
        at 5m
        evict low n1 for g: …
        nominate g-2 n1
        nominate g-3 n1
        at 5m30s
        bind g-2 n1
        bind g-3 n1
        """,
        ROOM,
        until="2h",
    )


def test_whose_subgroup_was_scaled_up_runs_on_too() -> None:
    text = run_text(
        """
        node   n1   gpu=3
        gang   g    subgroup=a members=2 subgroup-minimum=2 gpu=1
        gang   g    subgroup=b members=1 subgroup-minimum=1 gpu=1
        scale  g    subgroup=b members=3 minimum=5 at=5m
        """,
        ROOM,
        until="2h",
    )
    assert "evict" not in text, text


def test_a_gang_that_was_scaled_up_and_then_lost_a_member_is_broken() -> None:
    """Three ran when its minimum became four: with two it is less than it was, and nothing helps within its grace."""
    stage = Stage(
        """
        node  n1  gpu=2
        node  n2  gpu=1
        gang  g   members=2 minimum=4 gpu=1 on=n1
        gang  g   members=1 gpu=1 on=n2
        gang  g   members=1 gpu=2 created=1m
        """,
        ROOM,
    )
    stage.check("1m", "wait g 1 full: …")
    stage.check("10m", "wait g 1 full: …")
    stage.lose("g-2")
    stage.cycle("11m")
    evicted = [step.task for step in stage.cycle("13m").plan.steps if isinstance(step, Evict)]
    assert evicted == ["default/g-0", "default/g-1"]


def test_what_is_left_of_a_gang_that_lost_a_member_still_gives_back_what_it_holds() -> None:
    check_run(
        """
        node  n1..n2  gpu=2
        gang  g       members=2 minimum=3 gpu=1 on=n1
        gang  g       members=1 gpu=2 on=n2
        fail  n2      at=5m
        """,
        """
        at 5m
        wait g 1 …
        at 6m1s
        wait g 1 …
        evict g-0 n1: its gang is broken: 2 of the 3 that it needs are there
        evict g-1 n1: its gang is broken: 2 of the 3 that it needs are there
        at 6m31s
        wait g 3 …
        """,
        ROOM,
        until="1h",
    )
