"""Queues over time: what each has, asks for and is entitled to, worked out by hand once and adding up always."""

from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.cli.report_text import report_text
from phalanx.model.axis import GPU
from phalanx.sim.queue_report import QueueRun, QueueUse, Waiting
from phalanx.sim.report import POINTS, report
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import Simulator
from phalanx.sim.steps import Steps, total
from phalanx.sim.timeline import timeline
from phalanx.testing.scenario import ALLOCATE


def ran(text: str) -> Simulator:
    simulator = Simulator(timeline(read_scenario(dedent(text))), ALLOCATE)
    for _ in simulator.run():
        pass
    return simulator


TWO_HOURS = """
    node  n1       gpu=4 cpu=8
    queue research quota:gpu=4
    queue team-a   parent=research quota:gpu=1 weight:gpu=3
    queue team-b   parent=research quota:gpu=1
    pod   b1..b4   gpu=1 cpu=1 queue=team-b runtime=1h             # borrows three
    pod   a1..a4   gpu=1 cpu=1 queue=team-a runtime=1h created=30m # waits for half an hour
"""


def test_the_queues_of_a_run_worked_out_by_hand() -> None:
    """To 1h team-b has 4 GPUs, then team-a. Where both ask for 4, shares are 1 + 2 × 3/4 and 1 + 2 × 1/4, rounded."""
    found = report(ran(TWO_HOURS), points=4)
    research, first, second = found.queues
    assert (research.queue, research.depth, research.leaf, research.gangs) == ("research", 0, False, 0)
    assert research.device.allocated_over_time == (4, 4, 4, 4)
    assert first == QueueRun(
        "team-a", "research", 1, True,
        QueueUse(GPU, 1, None, 3, 2, 11 / 4, 3, (0, 0, 4, 4), (0, 3, 4, 4), (0, 4, 4, 4)),
        QueueUse("cpu", None, None, None, 2, None, None, (0, 0, 4, 4), (), ()),
        gangs=4, started=4, finished=4, waiting=Waiting(1800, 1800, 1800),
    )  # fmt: skip
    assert second.device == QueueUse(GPU, 1, None, 1, 2, 1.25, 2, (4, 4, 0, 0), (4, 1, 0, 0), (4, 4, 0, 0))


def test_the_terminal_has_a_line_for_each_queue_and_none_where_there_is_only_one() -> None:
    text = report_text("s", report(ran(TWO_HOURS)))
    half = POINTS // 2
    assert dedent("""\
          GPUs by queue, on average over the time
          research       4.0 held, 4.0 its share, 5.0 asked for
            team-a       2.0 held, 2.8 its share, 3.0 asked for, waiting p50 30m
            team-b       2.0 held, 1.2 its share, 2.0 asked for, waiting p50 0s
    """) in dedent(text.partition("\n\n")[2].partition("\n\n")[2])
    assert f"    team-a       {' ' * half}{'█' * half}\n    team-b       {'█' * half}" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "by queue" not in report_text("s", report(ran("node n1 gpu=1\npod p gpu=1 runtime=1h")))


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50), st.integers(1, 60), st.integers(1, 3)), min_size=1)
)
def test_what_the_queues_have_adds_up_to_what_is_held_at_every_instant(pods: list[tuple[str, int, int, int]]) -> None:
    lines = [
        "node n1..n2 gpu=4",
        "queue top",
        "queue a parent=top weight:gpu=2",
        "queue b parent=top",
        "queue c limit:gpu=3",
    ]
    lines += [
        f"pod p{number} gpu={gpus} queue={queue} created={created}m runtime={runtime}m"
        for number, (queue, created, runtime, gpus) in enumerate(pods)
    ]
    simulator = ran("\n".join(lines))
    queues, (times, totals) = simulator.cluster.queues, simulator.cluster.meter.history()
    held = totals[:, simulator.cluster.meter.COLUMNS.index("device_held")]
    by_queue = [queues.allocated(name, GPU) for name in ("top", "c")]
    assert total(by_queue).at(times).tolist() == held.tolist()
    assert (
        queues.allocated("top", GPU).at(times).tolist()
        == total([queues.allocated(name, GPU) for name in ("a", "b")]).at(times).tolist()
    )


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 9)), min_size=1, max_size=8), st.integers(1, 9))
def test_means_over_equal_parts_are_those_of_every_second(stretches: list[tuple[int, int]], points: int) -> None:
    lengths, values = zip(*stretches, strict=True)
    times = np.cumsum((0, *lengths))
    steps = Steps(times[:-1].astype(float), np.array(values, float))
    end = int(times[-1])
    seconds = np.repeat(values, lengths)
    assert steps.mean(0, end) == pytest.approx(seconds.mean())
    fine = np.repeat(seconds, points).reshape(points, end).mean(axis=1)
    assert steps.means(end, points) == pytest.approx(fine, abs=1e-9)
