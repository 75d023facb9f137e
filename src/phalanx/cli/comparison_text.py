"""A comparison as a person reads it in a terminal: a line per policy, then one per class of work and policy."""

from collections.abc import Sequence

from phalanx.cli.output import counted, safe
from phalanx.sim.classes import ClassRun
from phalanx.sim.comparison import Comparison, Run
from phalanx.sim.duration import brief, written
from phalanx.sim.telling import devices

#: All classes are in the JSON.
_CLASSES_MAX = 20
_NAME = 18
_WIDTHS = (11, 9, 9, 9, 8, 7, 7)


def comparison_text(found: Comparison) -> str:
    """Return the comparison as lines of at most eighty columns."""
    one = found.runs[0].report
    what = devices(one.device.resource)
    policies = "1 policy" if len(found.runs) == 1 else f"{len(found.runs):,} policies"
    lines = [
        f"{safe(found.scenario)} under {policies}, seed {one.seed}",
        f"{counted(one.gangs, 'gang')} on {counted(one.nodes, 'node')} with {one.device.capacity:,} {what}",
        f"{written(one.end)} of virtual time" + (", interrupted: these are the runs so far" * found.interrupted),
        "",
        _row("", ["finished", "held", "working", "", "evicted", "moved", "lost"]),
        *(_row(f"  {safe(run.name)}", _whole(run)) for run in found.runs),
        "",
        _row(f"  by {safe(found.by)}", ["finished", "wait p50", "p95", "longest", "evicted", "moved", "lost"]),
    ]
    names = found.classes
    for name in names[:_CLASSES_MAX]:
        lines.append(f"  {safe(name)}")
        for run in found.runs:
            part = run.of(name)
            if part is not None:
                lines.append(_row(f"    {safe(run.name)}", _part(part)))
    lines += [f"  and {len(names) - _CLASSES_MAX:,} more"] if len(names) > _CLASSES_MAX else []
    hours = "GPU hours" if what == "GPUs" else f"{what} × hours"
    lines += ["", f"  evicted, moved: pods. lost: {hours} of work that had to be done again."]
    return "\n".join(lines) + "\n"


def _row(label: str, cells: Sequence[str]) -> str:
    label = label if len(label) < _NAME else f"{label[: _NAME - 2]}…"
    return f"{label:<{_NAME}}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))


def _whole(run: Run) -> list[str]:
    use = run.report.device
    done = f"{run.report.finished:,}"
    return [done, f"{use.held:.1%}", f"{use.working:.1%}", "", *_losses(run)]


def _part(part: ClassRun) -> list[str]:
    waited = part.waiting
    waits = ["none"] * 3 if waited is None else [brief(waited.p50), brief(waited.p95), brief(waited.longest)]
    return [f"{part.finished:,}/{part.gangs:,}", *waits, *_losses(part)]


def _losses(one: Run | ClassRun) -> list[str]:
    return [f"{one.taken:,}", f"{one.moved:,}", f"{one.hours_lost:,.1f}"]
