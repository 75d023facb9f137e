"""The same work under several policies: every figure worked out by hand once, then text, page and command line."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from phalanx.cli import simulating
from phalanx.cli.comparison_text import comparison_text
from phalanx.cli.main import main
from phalanx.engine.policy import Policy
from phalanx.policy.load import parse_policy
from phalanx.sim.bars import Bar, Panel, bars_html
from phalanx.sim.classes import ClassRun, ClassWaiting, class_runs
from phalanx.sim.comparison import Comparison, compared, run_names
from phalanx.sim.html_comparison import html_comparison
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import FOREVER, Moment, Simulator
from phalanx.sim.timeline import timeline

WAITING = parse_policy("extends: default\nactions: [{name: allocate}]\n", "waiting.yaml")
PREEMPTING = parse_policy("extends: default\nactions: [{name: allocate}, {name: preempt}]\n", "preempting.yaml")
#: The urgent one comes when half of the long one's work is done.
URGENT = """
    node  n1    gpu=2
    queue team  quota:gpu=2
    pod   long  gpu=2 queue=team label:class=batch controlled          runtime=1h
    pod   quick gpu=1 queue=team label:class=urgent priority=10 created=30m runtime=30m
"""


def simulated(text: str, policy: Policy = WAITING, until: float = FOREVER) -> Simulator:
    simulator = Simulator(timeline(read_scenario(dedent(text))), policy)
    for _ in simulator.run(until):
        pass
    return simulator


def comparison(by: str = "label:class") -> Comparison:
    runs = [("waiting", WAITING), ("preempting", PREEMPTING)]
    return Comparison("urgent.scenario", by, tuple(compared(name, simulated(URGENT, one), by) for name, one in runs))


def test_without_preemption_the_urgent_one_waits_for_the_end_of_the_long_one() -> None:
    run = comparison().runs[0]
    assert run.classes == (
        ClassRun("batch", 1, 1, 1, ClassWaiting(0, 0, 0), {}, 0, 0.0),
        ClassRun("urgent", 1, 1, 1, ClassWaiting(1800, 1800, 1800), {}, 0, 0.0),
    )
    assert run.report.device.working == pytest.approx((2 * 60 + 30) / (2 * 90))


def test_with_it_the_long_one_waits_again_and_the_half_that_was_done_is_lost() -> None:
    """It leaves at 30m, is gone 30 s later, waits for 30m more, and works for an hour: 2h0m30s."""
    run = comparison().runs[1]
    assert run.classes == (
        ClassRun("batch", 1, 1, 1, ClassWaiting(1830, 1830, 1830), {"preempt": 1}, 1, 2 * 0.5),
        ClassRun("urgent", 1, 1, 1, ClassWaiting(30, 30, 30), {}, 0, 0.0),
    )
    assert (run.report.end, run.taken, run.moved, run.hours_lost) == (7230, 1, 0, 1.0)
    # While it leaves it holds its GPUs and does not work.
    assert run.report.device.working == pytest.approx((2 * 30 + 30 + 2 * 60) / (2 * 120.5))
    assert run.report.device.held == pytest.approx((2 * 30.5 + 30 + 2 * 60) / (2 * 120.5))


def test_who_still_waits_in_the_end_counts_with_what_it_has_waited_and_who_was_never_whole_does_not() -> None:
    text = "node n1 gpu=1\npod a gpu=1\npod b gpu=1 created=10m\ngang g members=1 minimum=2 gpu=1"
    [part] = class_runs(simulated(text, until=3600), "queue")
    assert (part.gangs, part.started, part.waiting) == (3, 1, ClassWaiting(0, 3000, 3000))


def test_the_percentiles_of_a_class_are_waits_that_happened() -> None:
    """Twenty jobs of 10 s on one GPU: they wait 0, 10, … 190 s."""
    [part] = class_runs(simulated("node n1 gpu=1\npod p1..p20 gpu=1 runtime=10s"), "queue")
    assert part.waiting == ClassWaiting(p50=90, p95=180, longest=190)


def test_an_elastic_gang_that_loses_what_it_has_beyond_its_minimum_loses_no_work() -> None:
    text = """
        node  n1   gpu=4
        queue team quota:gpu=4
        gang  flex members=4 minimum=1 gpu=1 queue=team runtime=2h
        pod   now  gpu=2 queue=team priority=10 created=1h runtime=10m
    """
    run = compared("p", simulated(text, PREEMPTING), "priority")
    assert [(part.name, part.evicted, part.interruptions, part.hours_lost) for part in run.classes] == [
        ("10", {}, 0, 0.0),
        ("0", {"preempt": 2}, 0, 0.0),
    ]


def test_work_counts_with_the_devices_that_a_gang_had_at_each_time() -> None:
    """One GPU for an hour, three for the next, and then its node is gone: four GPU hours lost."""
    text = """
        node n1 gpu=3
        pod  x  gpu=2 on=n1 runtime=1h
        gang g  members=3 minimum=1 gpu=1 runtime=3h
        fail n1 at=2h for=10m
    """
    [part] = class_runs(simulated(text), "queue")
    assert part.interruptions == 1
    assert part.hours_lost == pytest.approx(4.0)


def test_a_service_is_taken_away_at_its_time_wherever_it_stands_and_loses_no_work() -> None:
    text = """
        node  n1   gpu=1
        pod   web  gpu=1 created=1h until=2h
        pod   late gpu=1 created=90m until=100m
        gang  more members=2 gpu=1 created=1h until=3h
    """
    found = simulated(text)
    told = {life.name: (life.started, life.finished, life.over, life.waited(found.now)) for life in found.lives}
    assert told == {
        "default/web": (3600, 7200, 7200, 0),
        "default/late": (None, None, 6000, 600),
        "default/more": (None, None, 10800, 7200),
    }
    assert (found.world.tasks, found.now) == ({}, 10800)


def test_a_time_to_be_taken_away_must_lie_behind_the_last_creation() -> None:
    with pytest.raises(Exception, match="s:2: g: until: found a time at which not all of it is created"):
        read_scenario("node n1 gpu=1\ngang g members=3 every=1h until=2h", "s")


def test_the_text_has_a_line_per_policy_and_per_class_and_fits_eighty_columns() -> None:
    text = comparison_text(comparison())
    assert text == dedent("""\
        urgent.scenario under 2 policies, seed 0
        2 gangs on 1 node with 2 GPUs
        1h30m of virtual time

                             finished     held  working          evicted  moved   lost
          waiting                   2    83.3%    83.3%                0      0    0.0
          preempting                2    87.6%    87.1%                1      0    1.0

          by label:class     finished wait p50      p95  longest evicted  moved   lost
          batch
            waiting               1/1       0s       0s       0s       0      0    0.0
            preempting            1/1   30m30s   30m30s   30m30s       1      0    1.0
          urgent
            waiting               1/1      30m      30m      30m       0      0    0.0
            preempting            1/1      30s      30s      30s       0      0    0.0

          evicted, moved: pods. lost: GPU hours of work that had to be done again.
    """)
    assert max(map(len, text.splitlines())) <= 80


def test_the_page_has_the_tables_a_chart_with_a_line_per_policy_and_bars_by_class() -> None:
    html = html_comparison(comparison())
    assert re.findall(r"<h2>(.*?)</h2>", html) == [
        "The policies", "GPUs working", "Waiting, by class of work", "Evictions, by class of work", "Classes of work",
    ]  # fmt: skip
    assert html.count('class="line"') == 2
    assert re.findall(r"<h3>(.*?)</h3>", html) == ["batch", "urgent", "batch", "urgent"]
    assert "<td>preempting</td><td>1</td><td>1</td><td>30m30s</td>" in html
    assert not re.search(r"https?:|<script|<link|<img|@import|url\(", html)
    assert html == html_comparison(comparison())


def test_bars_are_as_long_as_their_part_of_the_longest_in_their_panel_and_names_are_text() -> None:
    html = bars_html("<t>", "<n>", [Panel("<p>", [Bar("<a>", 0, 3.0, "3", more=1.0), Bar("b", 1, 1.0, "1", mark=2.0)])])
    assert re.findall(r"(?:width|left):([0-9.]+%)", html) == ["75.00%", "25.00%", "25.00%", "50.00%"]
    assert not re.search("<[tnpa]>", html.replace("<p>&lt;n&gt;</p>", ""))
    assert re.findall(r"width:([0-9.]+%)", bars_html("t", "n", [Panel("p", [Bar("a", 0, 0.0, "0")])])) == ["0.00%"]


def test_policies_are_called_by_their_file_where_that_tells_them_apart() -> None:
    assert run_names(["a/plain.yaml", "default", "b/both.yaml"]) == ["plain", "default", "both"]
    assert run_names(["a/x.yaml", "b/x.yaml"]) == ["a/x.yaml", "b/x.yaml"]


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("day.scenario").write_text(dedent(URGENT))
    Path("preempting.yaml").write_text("extends: default\nactions: [{name: allocate}, {name: preempt}]\n")


BOTH = ["simulate", "day.scenario", "--policy", "default", "--policy", "preempting.yaml"]


@pytest.mark.usefixtures("files")
def test_several_policies_in_one_command_give_one_report_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BOTH, "--by", "label:class", "--html", "day.html"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith("day.scenario under 2 policies, seed 0\n2 gangs on 1 node with 2 GPUs\n")
    assert Path("day.html").read_text().startswith("<!DOCTYPE html>")
    assert main([*BOTH, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["scenario"], found["by"]) == ("day.scenario", "queue")
    assert [(run["name"], run["policy"], [part["name"] for part in run["classes"]]) for run in found["runs"]] == [
        ("default", "default", ["team"]),
        ("preempting", "preempting.yaml", ["team"]),
    ]
    assert found["runs"][1]["classes"][0]["hours_lost"] == 1.0


@pytest.mark.usefixtures("files")
def test_one_policy_with_classes_is_a_comparison_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "day.scenario", "--by", "priority"]) == 0
    assert capsys.readouterr().out.startswith("day.scenario under 1 policy, seed 0\n")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--by", "colour"], "--by: found 'colour', allowed is queue, priority or label:KEY"),
        (["--by", "label:"], "--by: found 'label:', allowed is queue, priority or label:KEY"),
        (
            ["--memory", "m.json"],
            "--memory: found --by or several policies beside it, allowed is one policy alone",
        ),
    ],
)
def test_a_mistake_in_a_comparison_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], options: list[str], line: str
) -> None:
    assert main([*BOTH, *options]) == 2
    assert capsys.readouterr() == ("", f"phalanx: simulate: {line}\n")


@pytest.mark.usefixtures("files")
def test_ctrl_c_reports_the_runs_so_far_and_says_that_the_last_one_is_not_comparable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Simulator.run

    def pressed(simulator: Simulator, until: float = FOREVER) -> Iterator[Moment]:
        for moment in run(simulator, until):
            signal.raise_signal(signal.SIGINT)
            yield moment

    monkeypatch.setattr(Simulator, "run", pressed)
    assert main(BOTH) == 130
    printed = capsys.readouterr()
    assert "under 1 policy" in printed.out
    assert ", interrupted: these are the runs so far\n" in printed.out
    assert printed.err == (
        "phalanx: simulate: interrupted in run 1 of 2, default, at 0s of virtual time; that run is not comparable\n"
    )


@pytest.mark.usefixtures("files")
def test_a_long_comparison_shows_on_a_terminal_which_run_it_is_at(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulating, "_BAR_AFTER_SECONDS", -1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(BOTH)
    assert "preempting (2 of 2)" in capsys.readouterr().err
