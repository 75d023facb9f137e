"""The picture of the tree: boxes as the levels nest, bars of nodes with the gangs on them, at the busiest instant."""

import re
from xml.etree import ElementTree as ET

from phalanx.sim.html_report import html_report
from phalanx.sim.html_tree import GANGS_MAX, Busiest, tree_html
from phalanx.sim.report import report
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import Simulator
from phalanx.sim.timeline import timeline
from phalanx.testing.scenario import ALLOCATE

KEY = "label:topology.kubernetes.io"
CLUSTER = f"""
    node a1..a2 gpu=4 {KEY}/zone=a {KEY}/rack=1
    node b1..b2 gpu=4 {KEY}/zone=b {KEY}/rack=1
    node c1     gpu=4
    gang wide   members=3 gpu=4 runtime=1h
    gang near   members=2 gpu=2 runtime=1h topology-required=rack created=1m
    pod  alone  gpu=1 runtime=1h created=2m
    pod  late   gpu=1 runtime=1h created=9h
"""


def picture(text: str) -> tuple[str, Simulator]:
    simulator, busiest = Simulator(timeline(read_scenario(text)), ALLOCATE), Busiest()
    for _ in simulator.run():
        busiest.look(simulator)
    return tree_html(busiest, simulator), simulator


def boxes(html: str) -> list[object]:
    """Return the boxes as names, each with what is in it; a node as its name and who has how much of it."""

    def inside(element: ET.Element) -> list[object]:
        found: list[object] = []
        for child in element:
            kind = child.get("class", "")
            if kind == "domain":
                found.append([child.findtext("b"), *inside(child)])
            elif kind == "nodes":
                found += inside(child)
            elif kind.startswith("node"):
                parts = [(one.get("title", "free").rpartition(" ")[2], one.get("style", "")[5]) for one in child]
                found.append((child.get("title"), *(" ".join(part) for part in parts)))
        return found

    [drawing] = re.findall(r'<div class="domains">.*</div>', html, re.DOTALL)
    return inside(ET.fromstring(drawing.replace("</section>", "")))  # noqa: S314 (our own, made a line above)


def test_the_boxes_nest_as_the_levels_do_and_show_who_had_what_when_most_was_held() -> None:
    html, _ = picture(CLUSTER)
    assert boxes(html) == [
        ["in none", ["in none", ("c1", "alone 1", "free 3")]],
        ["a", ["a/1", ("a1", "wide 4"), ("a2", "wide 4")]],
        ["b", ["b/1", ("b1", "wide 4"), ("b2", "near 2", "near 2")]],
    ]
    assert "At 2m, when about as many GPUs were held as ever. Boxes are zone &gt; rack;" in html
    legend = re.findall(r"</i>([^<]*)</li>", html)
    assert legend == ["wide: 3 pods in 2 racks", "near: 2 pods in 1 rack"]
    assert html.count("var(--c6)") == 1, "a pod alone is grey"


def test_every_gang_in_the_legend_has_a_colour_of_its_own_and_names_are_harmless() -> None:
    html, _ = picture(f"{CLUSTER}\n" + "\n".join(
        f"gang g{at} members=2 gpu=1 runtime=1h created=3m\nnode x{at} gpu=4 {KEY}/zone=x {KEY}/rack=<b>"
        for at in range(2 * GANGS_MAX)
    ))  # fmt: skip
    colours = re.findall(r'<li><i class="box" style="--own:([^"]*)"', html)
    assert len(colours) == len(set(colours)) == GANGS_MAX
    assert "&lt;b&gt;" in html
    assert "<b><b>" not in html


def test_where_nodes_are_in_no_domain_there_is_no_picture_and_the_page_is_as_before() -> None:
    html, simulator = picture("node n1..n2 gpu=4\ngang g members=2 gpu=4 runtime=1h")
    assert html == ""
    assert html_report("x", report(simulator), html) == html_report("x", report(simulator))


def test_the_page_has_the_picture_below_the_chart_of_use() -> None:
    html, simulator = picture(CLUSTER)
    page = html_report("x", report(simulator, points=20), html)
    assert re.findall(r"<h2>(.*?)</h2>", page)[:2] == ["GPUs in use", "Who was where in the tree"]
    assert not re.search(r"https?:|<script|<link|<img|@import|url\(", page)
