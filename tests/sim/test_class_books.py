"""The books of the classes and those of the cluster are kept apart, and agree after any run."""

from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.model.axis import GPU, unit
from phalanx.policy.load import parse_policy
from phalanx.sim.classes import class_runs
from phalanx.sim.report import report
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import Simulator
from phalanx.sim.timeline import timeline

ROOM = parse_policy(
    "extends: default\n"
    "actions: [{name: allocate}, {name: backfill}, {name: consolidate}, {name: reclaim}, {name: preempt}]\n",
    "room.yaml",
)
HEAD = "node n1..n3 gpu=4\nqueue a quota:gpu=6\nqueue b quota:gpu=6\n"


@st.composite
def work(draw: st.DrawFn) -> str:
    """A few gangs, whole or elastic, that compete for twelve GPUs; and perhaps a node that fails."""
    lines = []
    for number in range(draw(st.integers(1, 7))):
        members = draw(st.integers(1, 4))
        lines.append(
            f"gang g{number} members={members} minimum={draw(st.integers(1, members))} gpu={draw(st.integers(1, 3))} "
            f"queue={draw(st.sampled_from('ab'))} priority={draw(st.integers(0, 2))} "
            f"created={draw(st.integers(0, 90))}m runtime={draw(st.integers(5, 120))}m"
        )
    if draw(st.booleans()):
        lines.append("fail n2 at=45m for=20m")
    return HEAD + "\n".join(lines)


@settings(deadline=None, max_examples=30)
@given(work(), st.sampled_from(["queue", "priority", "label:none"]))
def test_what_gangs_worked_is_what_worked_on_the_nodes_and_classes_add_up_to_the_whole(text: str, by: str) -> None:
    simulator = Simulator(timeline(read_scenario(text)), ROOM)
    for _ in simulator.run(6 * 3600):
        pass
    found, parts, lives = report(simulator), class_runs(simulator, by), simulator.lives
    assert sum(part.gangs for part in parts) == found.gangs
    assert sum(part.finished for part in parts) == found.finished
    assert sum(part.taken + part.moved for part in parts) == found.evictions
    assert sum(part.interruptions for part in parts) == found.interruptions

    times, totals = simulator.cluster.meter.history()
    ends = [*times[1:].tolist(), simulator.now]
    on_nodes = sum(
        working * (end - begin) for working, begin, end in zip(totals[:, 5], times.tolist(), ends, strict=True)
    )
    of_gangs = 0.0
    for life in lives:
        life.note(simulator.now)
        of_gangs += life.underway + life.wasted
        if life.complete is not None:
            over = simulator.now if life.over is None else life.over
            assert life.waited(simulator.now) == max(over - life.complete - life.worked, 0.0)
    assert abs(on_nodes - of_gangs) <= 1e-6 * unit(GPU) * max(simulator.now, 1.0)
