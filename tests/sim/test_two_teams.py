"""Two teams over simulated days: what one is guaranteed comes back at once, contention settles at the weights, and a
team that was starved catches up. Each promise is seen next to a run without the rule that keeps it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from phalanx.engine.policy import Policy
from phalanx.engine.shares.quota_then_weight import QuotaThenWeight
from phalanx.model.axis import GPU, Float
from phalanx.model.duration import Seconds
from phalanx.model.usage import Memory
from phalanx.policy.load import load_policy
from phalanx.sim.cluster import End
from phalanx.sim.memory import read_memory, write_memory
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import FOREVER, Simulator
from phalanx.sim.timeline import timeline
from phalanx.testing.scenario import ALLOCATE

HOUR, DAY = 3600.0, 86_400.0
EXAMPLES = Path(__file__).parents[2] / "examples" / "scenarios"
REMEMBERING = load_policy(str(EXAMPLES / "two-teams-remember.yaml"))
GPUS = "node n1..n8 gpu=8\n"


def without(*plugins: str) -> Policy:
    return replace(ALLOCATE, plugins=tuple(one for one in ALLOCATE.plugins if one.plugin.name not in plugins))


def simulator(text: str, policy: Policy = ALLOCATE, interval: float = 1.0) -> Simulator:
    return Simulator(timeline(read_scenario(text)), policy, interval=interval)


def ran(text: str, policy: Policy = ALLOCATE, until: float = FOREVER, interval: float = 600.0) -> Simulator:
    made = simulator(text, policy, interval)
    for _ in made.run(until):
        pass
    return made


def mean(run: Simulator, team: str, begin: float, end: float) -> float:
    """Return how many GPUs a team had on average over these hours."""
    return run.cluster.queues.allocated(team, GPU).mean(begin * HOUR, end * HOUR) / 1000


def part(run: Simulator, begin: float, end: float) -> float:
    """Return team-a's part of the GPU time that was used in these hours."""
    first, second = (mean(run, team, begin, end) for team in ("team-a", "team-b"))
    return first / (first + second)


# 1. team-a is away for a day and team-b borrows all; then team-a returns.


def returning(quota: str) -> str:
    """One-hour jobs of team-b, a day of them and more behind; team-a comes at 24h and asks for much."""
    day = [f"pod b{hour}-1..b{hour}-64 gpu=1 queue=team-b created={hour}h runtime=1h" for hour in range(23)]
    teams = [f"queue team-a {quota}", "queue team-b quota:gpu=32 weight:gpu=7"]
    crowd = ["pod c-1..c-300 gpu=1 queue=team-b created=23h runtime=1h±50%"]
    back = ["pod a-1..a-200 gpu=1 queue=team-a created=24h runtime=1h±50%"]
    return GPUS + "\n".join([*teams, *day, *crowd, *back])


def after_the_return(text: str, policy: Policy = ALLOCATE) -> Iterator[tuple[int, int]]:
    """Yield, for each cycle of the two hours after team-a came back: GPUs that became free since, GPUs it has."""
    run = simulator(text, policy)
    freed = 0
    for moment in run.run(26 * HOUR):
        if moment.now < 24 * HOUR:
            continue
        freed += sum(isinstance(one, End) for one in moment.happenings)
        if moment.plan is not None:
            has = run.cluster.queues.allocated("team-a", GPU).at(np.array([moment.now]))
            yield freed, int(has[0]) // 1000


def test_a_team_that_returns_gets_every_gpu_that_becomes_free_in_the_next_cycle_until_it_has_its_guarantee() -> None:
    seen = list(after_the_return(returning("quota:gpu=32")))
    assert [has for _, has in seen] == [min(freed, 32) for freed, _ in seen]
    assert seen[0][1] < 32 <= seen[-1][0]


def test_the_team_that_stayed_borrows_everything_while_the_other_is_away() -> None:
    run = ran(returning("quota:gpu=32"), until=24 * HOUR, interval=1.0)
    assert mean(run, "team-b", 0, 23) == 64


def test_without_the_guarantee_it_gets_its_weight_alone_and_without_fairness_nothing_before_its_turn() -> None:
    assert max(has for _, has in after_the_return(returning("weight:gpu=1"))) == 4
    assert max(has for _, has in after_the_return(returning("quota:gpu=32"), without("fairness", "ageing"))) == 0


# 2. Both ask for more than there is, equally often: jobs of random length, for three days.

CONTENTION = (
    GPUS
    + """
queue team-a          weight:gpu=3
queue team-b          weight:gpu=1
pod   a-1..a-1036     gpu=1 queue=team-a every=250s runtime=4h±50%
pod   b-1..b-1036     gpu=1 queue=team-b every=250s runtime=4h±50%
"""
)


@pytest.mark.slow
def test_under_steady_contention_each_team_has_its_weight_within_two_percent() -> None:
    run = ran(CONTENTION, until=3 * DAY)
    # On the first day jobs of one team have waited long enough to go first (ageing) and those of the other have not.
    assert part(run, 24, 72) == pytest.approx(3 / 4, rel=0.02)
    assert part(run, 24, 48) == pytest.approx(part(run, 48, 72), rel=0.02)


def test_without_ageing_the_weights_hold_from_the_first_jobs_that_end_on() -> None:
    assert part(ran(CONTENTION, without("ageing"), until=DAY), 6, 24) == pytest.approx(3 / 4, rel=0.02)


def test_without_fairness_who_asks_equally_often_gets_equally_much() -> None:
    assert part(ran(CONTENTION, without("fairness", "ageing"), until=2 * DAY), 24, 48) == pytest.approx(1 / 2, rel=0.05)


def test_in_the_example_each_team_has_its_guarantee_and_its_weight_of_the_rest() -> None:
    run = ran((EXAMPLES / "two-teams.scenario").read_text(), until=2 * DAY)
    assert part(run, 0, 24) == 0
    assert part(run, 30, 48) == pytest.approx((16 + 32 * 3 / 4) / 64, rel=0.02)


# 3. Equal weights. team-a had nothing for a day.

STARVED = (EXAMPLES / "two-teams-starved.scenario").read_text()


@pytest.mark.slow
def test_with_a_memory_the_team_that_was_starved_catches_up_and_then_has_its_weight() -> None:
    plain = ran(STARVED, replace(REMEMBERING, share=QuotaThenWeight()), until=4 * DAY)
    fair = ran(STARVED, REMEMBERING, until=4 * DAY)
    # The day after its return: half of the GPUs without a memory, far more with one.
    assert part(plain, 30, 48) == pytest.approx(0.50, abs=0.01)
    assert part(fair, 30, 48) > 0.62
    # In the end both have their weight again.
    assert part(plain, 84, 96) == pytest.approx(0.50, abs=0.01)
    assert part(fair, 84, 96) == pytest.approx(0.50, abs=0.03)
    # Of all that was used in four days: more than a third of what it lacked is made good. The rest has faded by then.
    assert 0.5 - part(fair, 0, 96) < 2 / 3 * (0.5 - part(plain, 0, 96))


# 4. A simulation that goes on where another one ended.


def a_day(name: str, begins: float) -> str:
    """Work of one day that nobody takes into the next: the last jobs end at midnight."""
    lines = [
        f"pod {name}-a-1..{name}-a-90   gpu=1 queue=team-a created={begins + 2 * HOUR:g}s runtime=2h±50%",
        f"pod {name}-b-1..{name}-b-200  gpu=1 queue=team-b created={begins:g}s runtime=3h±50%",
        f"pod {name}-c-1..{name}-c-20   gpu=1 queue=team-b created={begins + 20 * HOUR:g}s runtime=4h",
    ]
    return "\n".join(lines) + "\n"


def usage(run: Simulator) -> Float:
    return run.world.compile(run.now).queues.usage


@pytest.mark.slow
@pytest.mark.parametrize("window", [7 * DAY, DAY / 2])
def test_two_days_are_one_day_a_restart_from_the_file_and_another_day(window: float, tmp_path: Path) -> None:
    policy = replace(ALLOCATE, share=QuotaThenWeight(memory=Memory(Seconds(window), Seconds(DAY))))
    teams = GPUS + "queue team-a weight:gpu=1\nqueue team-b weight:gpu=2\n"
    whole = ran(teams + a_day("one", 0) + a_day("two", DAY), policy, interval=60.0)

    first = ran(teams + a_day("one", 0), policy, interval=60.0)
    write_memory(first.world, tmp_path / "memory.json", first.now)
    second = simulator(teams + a_day("two", 0), policy, interval=60.0)
    read_memory(second.world, tmp_path / "memory.json")
    for _ in second.run():
        pass
    forgetful = ran(teams + a_day("two", 0), policy, interval=60.0)

    assert (whole.now, first.now, second.now) == (2 * DAY, DAY, DAY)
    assert usage(second) == pytest.approx(usage(whole), abs=1e-6)
    began = {life.name: life.started for life in whole.lives}
    assert {life.name: life.started for life in second.lives} == pytest.approx(
        {life.name: (began[life.name] or 0.0) - DAY for life in second.lives}
    )
    if window > DAY:
        assert usage(forgetful) != pytest.approx(usage(whole), abs=1e-3)
