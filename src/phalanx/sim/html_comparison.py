"""A comparison as one HTML page that needs nothing else: two tables, use over time, and bars by class of work."""

from phalanx.sim.bars import Bar, Panel, bars_html
from phalanx.sim.classes import ClassRun
from phalanx.sim.comparison import Comparison, Run
from phalanx.sim.duration import brief, written
from phalanx.sim.html_parts import counted, page, table_html
from phalanx.sim.svg import Chart, Series, chart_html
from phalanx.sim.telling import devices

#: Policies with a colour of their own; the others share the last one.
_COLOURS = 6
#: Panels for more classes than these nobody reads; the table has all.
_PANELS_MAX = 12
_NOTHING = "none"


def html_comparison(found: Comparison) -> str:
    """Return the page."""
    one = found.runs[0].report
    what = devices(one.device.resource)
    so_far = "; interrupted: the last run is not comparable" if found.interrupted else ""
    policies = "1 policy" if len(found.runs) == 1 else f"{len(found.runs):,} policies"
    subtitle = (
        f"under {policies}, seed {one.seed}: {counted(one.gangs, 'gang')} on {counted(one.nodes, 'node')} "
        f"with {one.device.capacity:,} {what}, {written(one.end)} of virtual time{so_far}"
    )
    parts = [_overview(found, what)]
    if one.device.capacity and one.end > 0:
        parts.append(_use(found, what))
    parts += [_waits(found), _evictions(found), _classes(found, what)]
    return page(found.scenario, subtitle, "".join(parts))


def _overview(found: Comparison, what: str) -> str:
    head = ["policy", f"{what} held", f"{what} working", "finished", "evicted pods", "moved pods", _lost(what)]
    rows = [
        [
            run.name,
            f"{run.report.device.held:.1%}",
            f"{run.report.device.working:.1%}",
            f"{run.report.finished:,} of {run.report.gangs:,}",
            *_losses(run),
        ]
        for run in found.runs
    ]
    note = (
        "Held: by running pods, of what ready nodes have. Working: the part of it whose gangs are whole. Evicted pods "
        "wait again; moved pods had another place. Lost work has to be done again."
    )
    return f"<section><h2>The policies</h2><p>{note}</p>{table_html(head, rows)}</section>\n"


def _use(found: Comparison, what: str) -> str:
    lines = [
        Series(run.name, [100 * share for share in run.report.working_over_time], _colour(number))
        for number, run in enumerate(found.runs)
    ]
    return chart_html(
        Chart(
            title=f"{what} working",
            note="By gangs that are whole, of what ready nodes have; each step is the mean over its time. Of lines "
            "that coincide the last one is seen.",
            unit=f"% of the {what}",
            end=max(run.report.end for run in found.runs),
            top=100.0,
            lines=lines,
        )
    )


def _waits(found: Comparison) -> str:
    panels = []
    for name in found.classes[:_PANELS_MAX]:
        bars = []
        for number, run in enumerate(found.runs):
            part = run.of(name)
            if part is not None and part.waiting is not None:
                waited = part.waiting
                text = f"{brief(waited.p95)} (median {brief(waited.p50)}, longest {brief(waited.longest)})"
                bars.append(Bar(run.name, _colour(number), waited.p95, text, mark=waited.p50))
        panels.append(Panel(name, bars))
    note = (
        "All the time in which a gang had enough members and did not work: before its first start, and again after an "
        "eviction. 95 in 100 waited no longer than the bar, half no longer than its mark. Who still waits in the end "
        "counts with what it has waited. Each panel has its own scale."
    )
    return bars_html("Waiting, by class of work", note, panels)


def _evictions(found: Comparison) -> str:
    panels = []
    for name in found.classes[:_PANELS_MAX]:
        parts = [(number, run.name, run.of(name)) for number, run in enumerate(found.runs)]
        bars = [
            Bar(label, _colour(number), part.taken, _left(part), more=part.moved)
            for number, label, part in parts
            if part is not None
        ]
        panels.append(Panel(name, bars))
    note = "Pods that had to leave and wait again; fainter: those that were moved to another place."
    return bars_html("Evictions, by class of work", note, panels)


def _left(part: ClassRun) -> str:
    moved = f", {part.moved:,} moved" if part.moved else ""
    return f"{part.taken:,}{moved}"


def _classes(found: Comparison, what: str) -> str:
    head = [found.by, "policy", "gangs", "finished", "wait p50", "p95", "longest", "evicted", "moved", _lost(what)]
    rows = []
    for name in found.classes:
        said = name
        for run in found.runs:
            part = run.of(name)
            if part is not None:
                rows.append([said, run.name, f"{part.gangs:,}", f"{part.finished:,}", *_waited(part), *_losses(part)])
                said = ""
    return f"<section><h2>Classes of work</h2>{table_html(head, rows, names=2)}</section>\n"


def _waited(part: ClassRun) -> list[str]:
    waited = part.waiting
    return [_NOTHING] * 3 if waited is None else [brief(waited.p50), brief(waited.p95), brief(waited.longest)]


def _losses(one: Run | ClassRun) -> list[str]:
    return [f"{one.taken:,}", f"{one.moved:,}", f"{one.hours_lost:,.1f}"]


def _lost(what: str) -> str:
    return "GPU hours lost" if what == "GPUs" else f"{what} × hours lost"


def _colour(number: int) -> int:
    return min(number, _COLOURS)
