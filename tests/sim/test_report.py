"""The report: every number worked out by hand once."""

from dataclasses import replace
from textwrap import dedent

import pytest

from phalanx.cli.report_text import report_text
from phalanx.policy.load import load_policy
from phalanx.sim.queue_report import Waiting
from phalanx.sim.report import POINTS, NeverStarted, Report, Use, report
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import FOREVER, Simulator
from phalanx.sim.timeline import timeline


def reported(text: str, policy: str = "default", until: float = FOREVER) -> Report:
    simulator = Simulator(timeline(read_scenario(dedent(text))), load_policy(policy))
    for _ in simulator.run(until):
        pass
    return report(simulator)


TWO_HOURS = """
    node n1..n2 gpu=4 cpu=10
    gang a      members=2 gpu=2 cpu=5 runtime=1h        # fills n1 for the first hour
    gang b      members=3 gpu=2 cpu=1 runtime=1h        # three of them need both nodes
    pod  c      gpu=9 created=10m                       # never fits
"""


def test_use_waiting_makespan_and_fragmentation_of_a_run_worked_out_by_hand() -> None:
    """First hour: a holds 4 GPUs of n1. Second: b holds 4 GPUs of n1 and 2 of n2."""
    found = reported(TWO_HOURS)
    assert (found.end, found.gangs, found.started, found.finished, found.nodes) == (7200, 3, 2, 2, 2)
    assert found.waiting == Waiting(mean=1800, p50=0, p99=3600)
    assert found.makespan == 7200
    assert found.device == Use(
        "nvidia.com/gpu", 8, held=(4 + 6) / 16, working=(4 + 6) / 16, held_at_end=0, working_at_end=0
    )
    assert found.cpu == Use("cpu", 20, held=(10 + 3) / 40, working=(10 + 3) / 40, held_at_end=0, working_at_end=0)
    # Free: 4 on the empty n2, then 2 on the partly used n2.
    assert found.fragmentation == pytest.approx(2 / (4 + 2))
    [never] = found.never_started
    assert (never.gang, "nvidia.com/gpu" in never.reason) == ("default/c", True)
    half = POINTS // 2
    assert found.held_over_time == (0.5,) * half + (0.75,) * half


def test_gpus_that_a_split_gang_holds_are_held_and_do_not_work() -> None:
    found = reported("node n1 gpu=2\ngang g members=3 gpu=1", "pod-by-pod", until=60)
    assert (found.end, found.started, found.waiting, found.makespan) == (60, 0, None, None)
    assert (found.device.held, found.device.working, found.device.held_at_end) == (1, 0, 2)
    assert found.fragmentation is None


def test_a_run_of_a_single_instant_shows_what_holds_after_it() -> None:
    found = reported("node n1 gpu=4\npod p gpu=1")
    assert (found.end, found.device.held, found.fragmentation, found.held_over_time) == (0, 0.25, 1, ())


def test_a_failed_node_is_no_capacity_while_it_is_gone() -> None:
    found = reported("node n1..n2 gpu=1\npod p gpu=1 on=n1\nfail n2 at=1h for=1h", until=10800)
    assert found.device.held == pytest.approx(3 / (2 + 1 + 2))


def test_a_gang_waits_only_from_when_it_has_enough_members() -> None:
    found = reported("node n1 gpu=2\ngang g members=2 gpu=1 every=1h")
    assert found.waiting == Waiting(mean=0, p50=0, p99=0)


def test_the_percentiles_are_waits_that_happened() -> None:
    """Ten single jobs of 10 s on one GPU: they wait 0, 10, … 90 s."""
    found = reported("node n1 gpu=1\npod p1..p10 gpu=1 runtime=10s")
    assert found.waiting == Waiting(mean=45, p50=40, p99=90)


def test_the_text_has_a_line_for_each_number_and_fits_eighty_columns() -> None:
    found = replace(reported(TWO_HOURS), never_started=(NeverStarted("default/c", "it is too large"),))
    text = report_text("two-hours.scenario", found)
    assert text == dedent("""\
        two-hours.scenario under default, seed 0
        3 gangs on 2 nodes with 8 GPUs
        2h of virtual time in 4 cycles

          gangs          2 started, 2 finished, 1 never started
          waiting        mean 30m, p50 0s, p99 1h
          makespan       2h
          GPUs           62.5% held, 62.5% working
          cpu            32.5% held, 32.5% working
          fragmentation  33.3% of the free GPUs sat on partly used nodes

          GPUs over time, from none (no bar) to all (a full bar)
          held           ▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
          working        ▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
                         0s                           1h                           2h

          never started, and why they waited last
            c: it is too large
    """)
    assert max(map(len, text.splitlines())) <= 80


def test_a_cluster_without_devices_and_a_run_with_losses_are_told_plainly() -> None:
    text = report_text("s", reported("node n1..n2 cpu=1\ngang g members=2 cpu=1 runtime=1h\nfail n2 at=30m for=1m"))
    assert "  GPUs           there are none\n" in text
    assert "  work lost      1 time, as a gang was no longer whole\n" in text


def test_gangs_that_never_started_are_gathered_by_reason() -> None:
    def never(*pairs: tuple[str, str]) -> list[str]:
        missed = tuple(NeverStarted(f"default/{gang}", reason) for gang, reason in pairs)
        return report_text("s", replace(reported(TWO_HOURS), never_started=missed)).partition("last\n")[2].splitlines()

    assert never(("j1", "full"), ("k", "held"), ("j2", "full"), ("j3", "full")) == ["    j1…3: full", "    k: held"]
    assert never(*((f"j{number}", "full") for number in range(0, 99, 2))) == ["    j0 and 49 more: full"]
    assert never(*((f"j{number}", f"{number} short") for number in range(12)))[-2:] == [
        "    j9: 9 short",
        "    and 2 more reasons",
    ]
