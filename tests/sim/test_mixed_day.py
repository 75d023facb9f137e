"""A day of mixed work: what consolidation and backfill change, each seen next to a run without it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from phalanx.cli.main import main
from phalanx.engine.policy import Policy
from phalanx.policy.load import load_policy
from phalanx.sim.comparison import compared
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import FOREVER, Simulator
from phalanx.sim.timeline import timeline

DAY = Path(__file__).parents[2] / "examples" / "scenarios" / "mixed-day"
NAMES = ("plain", "consolidate", "backfill", "both")
PLAIN, CONSOLIDATE, BACKFILL, BOTH = (load_policy(str(DAY / f"{name}.yaml")) for name in NAMES)
HOUR = 3600.0


def simulated(text: str, policy: Policy, until: float = FOREVER, interval: float = 1.0) -> Simulator:
    simulator = Simulator(timeline(read_scenario(text)), policy, interval=interval)
    for _ in simulator.run(until):
        pass
    return simulator


def starts(text: str, policy: Policy, until: float = FOREVER) -> dict[str, float | None]:
    return {life.name.removeprefix("default/"): life.started for life in simulated(text, policy, until).lives}


def evictions(text: str, policy: Policy, until: float = FOREVER) -> dict[str, dict[str, int]]:
    lives = simulated(text, policy, until).lives
    return {life.name.removeprefix("default/"): dict(life.evicted) for life in lives if life.evicted}


def test_the_four_policies_differ_in_the_two_actions_alone() -> None:
    names = [[action.name for action in policy.actions] for policy in (PLAIN, CONSOLIDATE, BACKFILL, BOTH)]
    assert names == [
        ["allocate", "reclaim", "preempt"],
        ["allocate", "consolidate", "reclaim", "preempt"],
        ["allocate", "backfill", "reclaim", "preempt"],
        ["allocate", "backfill", "consolidate", "reclaim", "preempt"],
    ]
    bare = [replace(policy, name="", actions=()) for policy in (PLAIN, CONSOLIDATE, BACKFILL, BOTH)]
    assert bare == [bare[0]] * 4


# Two half-used nodes: small jobs on both, and a service that must stay on the first. A training wants a node.
PIECES = """
node   n1..n2   gpu=8
queue  serving  quota:gpu=4 consolidation=false
queue  team     quota:gpu=12
pod    chat     gpu=4 queue=serving priority=100 controlled on=n1
pod    tune     gpu=4 queue=team controlled on=n2 runtime=6h
gang   train    members=1 gpu=8 queue=team created=1h runtime=1h
"""


def test_consolidation_starts_the_large_training_at_once_and_moves_a_small_job_but_no_service() -> None:
    assert starts(PIECES, PLAIN) == {"chat": 0, "tune": 0, "train": 6 * HOUR}
    assert evictions(PIECES, PLAIN) == {}
    # Thirty seconds: the time that the small job has to leave.
    assert starts(PIECES, CONSOLIDATE) == {"chat": 0, "tune": 0, "train": HOUR + 30}
    assert evictions(PIECES, CONSOLIDATE) == {"tune": {"consolidate": 1}}


def test_the_job_that_was_moved_starts_again_from_nothing_and_that_is_counted() -> None:
    """It had worked for one hour of six on four GPUs, and waits for thirty seconds on its new place."""
    [tune] = compared("c", simulated(PIECES, CONSOLIDATE), "queue").classes[1:2]
    assert (tune.name, tune.evicted, tune.interruptions, tune.hours_lost) == ("team", {"consolidate": 1}, 1, 4.0)
    assert [life.finished for life in simulated(PIECES, CONSOLIDATE).lives] == [None, 7 * HOUR + 30, 2 * HOUR + 30]


# One node. A job of two hours leaves four GPUs; a gang of eight waits for it; then small jobs come.
GAP = """
node   n1       gpu=8
queue  team     quota:gpu=8
pod    first    gpu=4 queue=team runtime=2h
gang   large    members=2 gpu=4 queue=team created=10m runtime=1h
pod    short    gpu=4 queue=team created=20m runtime=1h
pod    long     gpu=4 queue=team created=30m runtime=3h
"""


def test_without_backfill_small_jobs_pass_the_large_gang_and_hold_it_up() -> None:
    assert starts(GAP, PLAIN) == {"first": 0, "short": 20 * 60, "long": 80 * 60, "large": 260 * 60}


def test_with_backfill_the_gap_goes_to_who_is_gone_in_time_and_the_large_gang_starts_when_it_can() -> None:
    assert starts(GAP, BACKFILL) == {"first": 0, "short": 20 * 60, "large": 2 * HOUR, "long": 3 * HOUR}


@pytest.mark.parametrize("runtime", ["30m", "1h", "90m", "100m", "2h", "5h"])
def test_backfill_never_starts_the_first_blocked_gang_later_than_if_nobody_had_come_after_it(runtime: str) -> None:
    alone = "\n".join(GAP.splitlines()[:5])
    crowd = f"\npod many-1..many-9 gpu=2 queue=team created=15m every=5m runtime={runtime}\n"
    [expected] = [start for name, start in starts(alone, BACKFILL).items() if name == "large"]
    assert starts(alone + crowd, BACKFILL)["large"] == expected == 2 * HOUR


# The example itself, as its page tells to run it, but for rarer cycles.


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_on_the_day_of_the_example_services_are_left_alone_and_only_who_consolidates_moves_anybody(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(DAY)
    policies = [word for name in NAMES for word in ("--policy", f"{name}.yaml")]
    options = ["--by", "label:class", "--until", "24h", "--interval", "5m", "--html", str(tmp_path / "day.html")]
    assert main(["simulate", "day.scenario", *policies, *options, "-o", "json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert (tmp_path / "day.html").read_text().count('class="line"') == 4
    runs = {run["name"]: run for run in json.loads(printed.out)["runs"]}
    assert list(runs) == list(NAMES)
    for run in runs.values():
        batch, inference, interactive, training = run["classes"]
        assert [batch["name"], training["name"]] == ["batch", "training"]
        assert (inference["evicted"], inference["interruptions"], inference["started"]) == ({}, 0, inference["gangs"])
        # Two cycles, five minutes apart: one in which others are asked to leave, one that takes their place.
        assert inference["waiting"]["longest"] <= 600
        assert interactive["finished"] == interactive["gangs"]
        assert run["device"]["held"] > 0.75
    moving = {name: any("consolidate" in part["evicted"] for part in run["classes"]) for name, run in runs.items()}
    assert moving == {"plain": False, "consolidate": True, "backfill": False, "both": True}
