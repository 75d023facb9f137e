"""The report of a simulation as one HTML page that needs nothing else: no script, no font, no picture."""

from collections.abc import Sequence
from html import escape

from phalanx.sim.duration import written
from phalanx.sim.html_parts import counted, page, table_html
from phalanx.sim.queue_report import QueueRun, QueueUse, Waiting
from phalanx.sim.report import Report, never_by_reason
from phalanx.sim.svg import Chart, Series, chart_html
from phalanx.sim.telling import devices, gathered

#: As many points as a wide screen can show; a run of a week has one for every 20 minutes.
POINTS = 504
#: Queues with a colour of their own; the others are drawn together in the last colour.
_COLOURS = 6
_REASONS_MAX = 20
_USERS_MAX = 100
_NAMES_WIDTH = 60
#: In the place of a number that there is not.
_NOTHING = "none"


def html_report(scenario: str, found: Report, tree: str = "") -> str:
    """Return the page, with a picture of the tree (`html_tree`)."""
    what = devices(found.device.resource)
    so_far = "; interrupted: this is the report so far" if found.interrupted else ""
    subtitle = (
        f"under {found.policy}, seed {found.seed}: {counted(found.gangs, 'gang')} on {counted(found.nodes, 'node')} "
        f"with {found.device.capacity:,} {what}, {written(found.end)} of virtual time in "
        f"{counted(found.cycles, 'cycle')}{so_far}"
    )
    parts = [_tiles(found, what)]
    if found.end > 0:
        parts += [_use(found, what), tree, *_queue_charts(found, what)]
    parts += [_waiting(found, what), _by_user(found, what), _never(found)]
    return page(scenario, subtitle, "".join(parts))


def _tiles(found: Report, what: str) -> str:
    waited = found.waiting
    tiles = [
        (f"{found.finished:,}", f"of {counted(found.gangs, 'gang')} finished"),
        (f"{len(found.never_started):,}", "never started"),
        (_NOTHING if waited is None else written(waited.mean), "waited on average"),
        (_NOTHING if waited is None else written(waited.p99), "or less was the wait of 99 in 100"),
        (_NOTHING if found.makespan is None else written(found.makespan), "from the first arrival to the last end"),
    ]
    if found.device.capacity:
        tiles += [
            (f"{found.device.held:.1%}", f"of the {what} held"),
            (f"{found.device.working:.1%}", f"of the {what} working"),
        ]
    if found.cpu.capacity:
        tiles.append((f"{found.cpu.held:.1%}", "of the cpu held"))
    if found.job_times is not None:
        tiles.append((f"{found.job_times.stretch:.2f}", "times as long as where all talk fastest took work on average"))
    if found.evictions:
        tiles.append((f"{found.evictions:,}", "pods evicted"))
    if found.interruptions:
        tiles.append((f"{found.interruptions:,}", "times work was lost"))
    cells = "".join(f"<li><b>{escape(number)}</b><span>{escape(text)}</span></li>" for number, text in tiles)
    return f'<ul class="tiles">{cells}</ul>\n'


def _use(found: Report, what: str) -> str:
    if not found.device.capacity:
        return ""
    held, working = ([100 * share for share in line] for line in (found.held_over_time, found.working_over_time))
    return chart_html(
        Chart(
            title=f"{what} in use",
            note="Held by running pods, and the part of it whose gangs are whole and work, of what ready nodes have.",
            unit=f"% of the {what}",
            end=found.end,
            top=100.0,
            areas=[Series("working", working, 0)],
            lines=[Series("held", held, 3)],
        )
    )


def _queue_charts(found: Report, what: str) -> list[str]:
    """Return the charts by queue; none where there is nothing to tell apart."""
    leaves = [queue for queue in found.queues if queue.leaf]
    device = bool(found.device.capacity)
    what = what if device else "cpu"
    drawn = _drawn(leaves, device=device)
    if len(leaves) < 2 or not drawn:
        return []
    capacity = float(found.device.capacity if device else found.cpu.capacity)
    had = [Series(label, values, colour) for label, colour, values, _ in drawn]
    shares = [Series(f"{label}: share", share, colour, dashed=True) for label, colour, _, share in drawn if share]
    charts = [
        Chart(
            title=f"{what} by queue", note="What each queue has, on top of each other.",
            unit=what, end=found.end, top=capacity, areas=had,
        ),
        Chart(
            title=f"{what} by queue, and what each is entitled to",
            note="A dashed line is the queue's share: its quota, and its part of what others leave idle, "
            "as far as it asks for it.",
            unit=what, end=found.end, lines=[*had, *shares],
        ),
        Chart(
            title=f"Part of all the {'GPU time' if what == 'GPUs' else f'{what} time'} used so far",
            note="Of what all queues have used from the beginning, the part of each.",
            unit="%", end=found.end, top=100.0, lines=_so_far(had),
        ),
    ]  # fmt: skip
    return [chart_html(chart) for chart in charts]


def _drawn(leaves: Sequence[QueueRun], *, device: bool) -> list[tuple[str, int, Sequence[float], Sequence[float]]]:
    """Return (label, colour, allocated, share): the queues that had most by themselves, the others together."""

    def use(queue: QueueRun) -> QueueUse:
        return queue.device if device else queue.cpu

    length = max((len(use(queue).allocated_over_time) for queue in leaves), default=0)
    blank = (0.0,) * length
    by_use = sorted(leaves, key=lambda queue: -use(queue).allocated)
    chosen = {queue.queue for queue in by_use[:_COLOURS]}
    drawn: list[tuple[str, int, Sequence[float], Sequence[float]]] = []
    for queue in leaves:
        if queue.queue in chosen:
            own = use(queue)
            drawn.append((queue.queue, len(drawn), own.allocated_over_time or blank, own.share_over_time))
    others = [use(queue).allocated_over_time or blank for queue in leaves if queue.queue not in chosen]
    if others:
        together = [sum(values) for values in zip(*others, strict=True)]
        drawn.append((f"{len(others)} others together", _COLOURS, together, ()))
    return drawn if length else []


def _so_far(had: Sequence[Series]) -> list[Series]:
    """Return each queue's part of all that was used up to each point."""
    sums = [0.0] * len(had)
    parts: list[list[float]] = [[] for _ in had]
    for values in zip(*(series.values for series in had), strict=True):
        sums = [total + value for total, value in zip(sums, values, strict=True)]
        whole = sum(sums)
        for part, total in zip(parts, sums, strict=True):
            part.append(100 * total / whole if whole else 0.0)
    return [Series(series.label, part, series.colour) for series, part in zip(had, parts, strict=True)]


def _waiting(found: Report, what: str) -> str:
    head = ["queue", "gangs", "started", "finished", "mean wait", "p50", "p99", f"{what}, mean", "share, mean"]
    rows = []
    for queue in found.queues:
        share = _NOTHING if queue.device.share is None else f"{queue.device.share:.1f}"
        rows.append(
            [
                "\u2003" * queue.depth + queue.queue,
                *([f"{queue.gangs:,}", f"{queue.started:,}", f"{queue.finished:,}"] if queue.leaf else ["", "", ""]),
                *(_waits(queue.waiting) if queue.leaf else ["", "", ""]),
                f"{queue.device.allocated:.1f}",
                share,
            ]
        )
    everybody = [f"{found.gangs:,}", f"{found.started:,}", f"{found.finished:,}", *_waits(found.waiting)]
    rows.append(["all", *everybody, f"{found.device.held * found.device.capacity:.1f}", ""])
    note = "From the moment a gang had enough members to the first start of its work, over the gangs that started."
    return f"<section><h2>Waiting times</h2><p>{note}</p>{table_html(head, rows)}</section>\n"


def _by_user(found: Report, what: str) -> str:
    if not found.users:
        return ""
    head = ["queue", "user", "gangs", "started", "finished", "mean wait", "p50", "p99", f"{what}, mean", "cpu, mean"]
    rows = [
        [
            one.queue, one.user or "(no label)", f"{one.gangs:,}", f"{one.started:,}", f"{one.finished:,}",
            *_waits(one.waiting), f"{one.device:.1f}", f"{one.cpu:.1f}",
        ]
        for one in found.users[:_USERS_MAX]
    ]  # fmt: skip
    more = len(found.users) - _USERS_MAX
    rest = f"<p>and {more:,} more users, in the JSON</p>" if more > 0 else ""
    return f"<section><h2>Users</h2>{table_html(head, rows)}{rest}</section>\n"


def _waits(waited: Waiting | None) -> list[str]:
    return [_NOTHING] * 3 if waited is None else [written(waited.mean), written(waited.p50), written(waited.p99)]


def _never(found: Report) -> str:
    reasons = never_by_reason(found)
    if not reasons:
        return ""
    rows = []
    for reason, gangs in list(reasons.items())[:_REASONS_MAX]:
        names = gathered(gangs)
        short = names if len(names) <= _NAMES_WIDTH else f"{gangs[0]} and {len(gangs) - 1:,} more"
        rows.append(f'<tr><td class="text">{escape(short)}</td><td class="text">{escape(reason)}</td></tr>')
    more = len(reasons) - _REASONS_MAX
    rest = f"<p>and {more:,} more reasons</p>" if more > 0 else ""
    table = f'<div class="wide"><table><tbody>{"".join(rows)}</tbody></table></div>'
    return f"<section><h2>Never started, and why they waited last</h2>{table}{rest}</section>\n"
