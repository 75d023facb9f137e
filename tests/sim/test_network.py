"""Communication: work takes longer where members talk over slower levels; without a network nothing changes."""

from pathlib import Path

import pytest

from phalanx.policy.load import load_policy
from phalanx.sim.lines import ScenarioError
from phalanx.sim.report import Report, report
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import Simulator
from phalanx.sim.timeline import timeline

RACK = "label:topology.kubernetes.io/rack"
RACKS = f"""
    node a1..a2 gpu=8 {RACK}=a
    node b1..b2 gpu=8 {RACK}=b
"""
FABRIC = "network fabric speeds=node:400Gi,rack:100Gi,beyond:25Gi"


def run(text: str) -> tuple[dict[str, float], Report]:
    """Return how long the work of each gang took, and the report."""
    simulator = Simulator(timeline(read_scenario(text, "test")), load_policy("default"))
    for _ in simulator.run():
        pass
    took = {life.name: (life.finished or 0.0) - (life.started or 0.0) for life in simulator.lives}
    return {name.partition("/")[2]: round(seconds, 6) for name, seconds in took.items()}, report(simulator)


@pytest.mark.parametrize(
    ("gang", "took"),
    [
        # On one node, in one rack, in two: a fifth of the hour takes 1, 4 and 16 times as long.
        ("members=2 gpu=4 runtime=1h communication=20%", 3600.0),
        ("members=2 gpu=8 runtime=1h communication=20%", 3600 * (0.8 + 0.2 * 4)),
        ("members=3 gpu=8 runtime=1h communication=20%", 3600 * (0.8 + 0.2 * 16)),
        # A ring of three sends 4/3 of 30 GiB: 0.1 s where it is fastest, 1.6 s beyond racks; each step computes 0.9 s.
        ("members=3 gpu=8 runtime=1h step-bytes=30Gi step-compute=0.9s", 3600 * (0.9 + 1.6) / (0.9 + 0.1)),
        ("members=3 gpu=8 runtime=1h", 3600.0),
        ("members=1 gpu=8 runtime=1h communication=90%", 3600.0),
    ],
)
def test_work_takes_as_long_as_the_slowest_level_that_its_ring_crosses(gang: str, took: float) -> None:
    times, found = run(f"{FABRIC}\n{RACKS}\ngang g {gang}")
    assert times["g"] == pytest.approx(took)
    assert found.job_times is not None
    assert found.job_times.mean == pytest.approx(took)
    assert found.job_times.stretch == pytest.approx(took / 3600)


def test_a_level_whose_speed_is_not_said_has_that_of_the_next_above_and_nodes_outside_are_beyond() -> None:
    speeds = "network fabric speeds=node:400Gi,beyond:100Gi"
    assert run(f"{speeds}\n{RACKS}\ngang g members=2 gpu=8 runtime=1h communication=50%")[0]["g"] == 3600 * 2.5
    outside = "node c1..c2 gpu=8"
    assert run(f"{FABRIC}\n{outside}\ngang g members=2 gpu=8 runtime=1h communication=50%")[0]["g"] == 3600 * 8.5


def test_the_report_says_how_close_gangs_of_several_pods_were() -> None:
    _, found = run(
        f"{RACKS}\ngang g members=2 gpu=8 runtime=1h\ngang h members=3 gpu=8 runtime=1h created=2h\npod p gpu=1"
    )
    assert found.closeness is not None
    assert (found.closeness.gangs, found.closeness.level, found.closeness.domains) == (2, "rack", 1.5)
    assert found.closeness.distance == pytest.approx((1 + 5 / 3) / 2, abs=1e-4)
    assert run("node n1..n2 gpu=8\ngang g members=2 gpu=8 runtime=1h")[1].closeness is None


def test_without_a_network_nothing_is_told_of_it() -> None:
    times, found = run(f"{RACKS}\ngang g members=3 gpu=8 runtime=1h")
    assert (times, found.job_times) == ({"g": 3600.0}, None)


def test_a_wish_for_one_rack_shows_up_as_job_time() -> None:
    """Two gangs of two, one node of each rack taken: together they take turns in pairs, apart they cross racks."""
    busy = "pod x on=a1 gpu=8 runtime=10m\npod y on=b1 gpu=8 runtime=10m"
    gang = "gang g members=2 gpu=8 runtime=1h communication=20% created=1m"
    assert run(f"{FABRIC}\n{RACKS}\n{busy}\n{gang}")[0]["g"] == pytest.approx(3600 * 4.0)
    assert run(f"{FABRIC}\n{RACKS}\n{busy}\n{gang} topology-required=rack")[0]["g"] == pytest.approx(3600 * 1.6)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("network f speeds=node:400Gi", "beyond is missing"),
        ("network f speeds=node:fast,beyond:1Gi", "allowed is LEVEL:SPEED,…"),
        ("network f speeds=node:1Gi,node:1Gi,beyond:1Gi", "allowed is LEVEL:SPEED,…"),
        ("network f", "speeds: missing"),
        (f"{FABRIC}\n{FABRIC}", "found another one, allowed is one"),
        ("gang g members=2 communication=20%", "it talks, and no line says how fast"),
        (f"{FABRIC}\ngang g members=2 communication=120%", "allowed is a percentage from 0% to 100%"),
        (f"{FABRIC}\ngang g members=2 step-bytes=1Gi", "allowed is communication=…, or both of"),
        (f"{FABRIC}\ngang g members=2 communication=1% step-bytes=1Gi step-compute=1s", "allowed is communication=…"),
        (f"{FABRIC}\ngang g members=2 step-bytes=many step-compute=1s", "step-bytes: found 'many'"),
    ],
)
def test_a_mistake_names_its_line_and_its_word(text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        read_scenario(f"node n gpu=8\n{text}", "test")
    assert said in str(raised.value)
    assert str(raised.value).startswith("test:")


def test_whoever_relabelling_splits_goes_on_and_is_in_the_report_and_the_next_gang_uses_the_new_tree() -> None:
    gangs = """
        gang old   members=2 gpu=8 runtime=4h topology-required=rack
        gang new   members=2 gpu=8 runtime=1h topology-required=rack created=2h
        gang plain members=1 gpu=1 runtime=1h created=3h
        node c1 gpu=8 label:topology.kubernetes.io/rack=c
        relabel a2 at=1h label:topology.kubernetes.io/rack=c
        relabel b2 at=1h label:topology.kubernetes.io/rack=
    """
    simulator = Simulator(timeline(read_scenario(f"{RACKS}\n{gangs}", "test")), load_policy("default"))
    bound = [step for moment in simulator.run() if moment.plan for step in moment.plan.binds]
    where: dict[str, set[str]] = {}
    for step in bound:
        where.setdefault(step.gang.rpartition("/")[2], set()).add(step.node)
    assert where["old"] == {"a1", "a2"}
    found = report(simulator)
    text = "default/old must be in one rack, and since the topology changed is in a, c"
    assert [(one.at, one.what) for one in found.splits] == [(3600.0, text)]
    assert where["new"] == {"a2", "c1"}, "it waits for the old one: no rack has two free nodes any more"


def test_the_example_of_racks_takes_longer_than_its_runtimes_and_says_who_was_split() -> None:
    text = (Path(__file__).parents[2] / "examples" / "scenarios" / "racks.scenario").read_text()
    times, found = run(text)
    assert found.job_times is not None
    assert found.job_times.mean > found.job_times.fastest
    assert times["large"] == pytest.approx(6 * 3600 * (0.75 + 0.25 * 8)), "two racks of one block"
    assert [one.at for one in found.splits] == [2400.0]
    assert "pair" in found.splits[0].what
