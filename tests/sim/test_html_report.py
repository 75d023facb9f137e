"""The page of a report: it needs nothing else, every name in it is harmless, and its drawings are well-formed."""

import re
from textwrap import dedent
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.sim.html_report import html_report
from phalanx.sim.report import report
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import Simulator
from phalanx.sim.svg import Chart, Series, chart_html
from phalanx.sim.timeline import timeline
from phalanx.testing.scenario import ALLOCATE

TEAMS = """
    node  n1     gpu=4 cpu=8
    queue team-a quota:gpu=1 weight:gpu=3
    queue team-b quota:gpu=1
    pod   b1..b6 gpu=1 queue=team-b runtime=1h±50% controlled
    pod   a1..a6 gpu=1 queue=team-a runtime=1h±50% created=30m
    pod   huge   gpu=9 queue=team-a
"""


def page(text: str, name: str = "teams.scenario") -> str:
    simulator = Simulator(timeline(read_scenario(dedent(text))), ALLOCATE)
    for _ in simulator.run():
        pass
    return html_report(name, report(simulator, points=50))


def drawings(html: str) -> list[ET.Element]:
    # Our own page, made a line above.
    return [ET.fromstring(one) for one in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]  # noqa: S314


def test_the_page_has_the_numbers_a_chart_of_the_cluster_three_by_queue_and_the_waits() -> None:
    html = page(TEAMS)
    assert re.findall(r"<h2>(.*?)</h2>", html) == [
        "GPUs in use", "GPUs by queue", "GPUs by queue, and what each is entitled to",
        "Part of all the GPU time used so far", "Waiting times", "Never started, and why they waited last",
    ]  # fmt: skip
    assert len(drawings(html)) == 4
    dashed = [path for path in drawings(html)[2] if "dashed" in path.get("class", "")]
    assert len(dashed) == 2
    assert "<li><b>12</b><span>of 13 gangs finished</span></li>" in html
    assert html == page(TEAMS)


def test_the_page_needs_nothing_from_anywhere() -> None:
    html = page(TEAMS)
    assert not re.search(r"https?:|<script|<link|<img|@import|url\(", html)


def test_without_queues_or_time_or_devices_the_page_is_shorter_and_still_whole() -> None:
    assert len(drawings(page("node n1 gpu=1\npod p gpu=1 runtime=1h"))) == 1
    assert len(drawings(page("node n1 gpu=1\npod p gpu=1"))) == 0
    assert len(drawings(page("node n1 cpu=1\npod p cpu=1 runtime=1h"))) == 0


def test_many_queues_share_one_colour_beyond_the_sixth() -> None:
    lines = ["node n1 gpu=8 cpu=80"]
    for number in range(9):
        lines += [f"queue q{number} weight:gpu=1", f"pod p{number} gpu=1 queue=q{number} runtime={number + 1}h"]
    html = page("\n".join(lines))
    assert "3 others together" in html
    assert len(drawings(html)[1].findall("*[@class='area']")) == 7


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><b>', "a & b"])
def test_names_are_text_whatever_is_in_them(name: str) -> None:
    chart = chart_html(Chart(name, name, name, 60.0, lines=[Series(name, [1.0, 2.0], 0)]))
    for html in (page(TEAMS, name), chart):
        assert name not in html


@given(
    st.floats(0.1, 1e9),
    st.floats(0, 1e12),
    st.lists(st.lists(st.floats(0, 1e12), min_size=3, max_size=3), max_size=3),
)
def test_any_numbers_make_a_drawing_inside_its_frame(end: float, top: float, values: list[list[float]]) -> None:
    series = [Series(f"s{number}", one, number) for number, one in enumerate(values)]
    [drawing] = drawings(chart_html(Chart("t", "n", "u", end, top, areas=series, lines=series)))
    for path in drawing:
        numbers = [float(one) for one in re.findall(r"-?[0-9.]+", path.get("d", ""))]
        assert all(-0.1 <= number <= 1000.1 for number in numbers)
