"""The report of a simulation as a person reads it: the numbers, then use over time, then who never started."""

from collections.abc import Sequence

from phalanx.cli.output import counted, safe
from phalanx.sim.duration import written
from phalanx.sim.network import JobTimes
from phalanx.sim.queue_report import QueueRun
from phalanx.sim.report import Closenesses, Report, Use, never_by_reason
from phalanx.sim.telling import devices, gathered

_LEVELS = "▁▂▃▄▅▆▇█"
#: Gangs that never started are all in the JSON; here they are gathered by reason, and as many as fit a screen.
_REASONS_MAX = 10
_NAMES_WIDTH = 40
_LABEL = 15
#: All queues are in the JSON.
_QUEUES_MAX = 12
_DEPTH_MAX = 4


def report_text(scenario: str, found: Report) -> str:
    """Return the report as lines."""
    what = devices(found.device.resource)
    cluster = f"{counted(found.nodes, 'node')} with {found.device.capacity:,} {what}"
    so_far = ", interrupted: this is the report so far" if found.interrupted else ""
    lines = [
        f"{safe(scenario)} under {found.policy}, seed {found.seed}",
        f"{counted(found.gangs, 'gang')} on {cluster}",
        f"{written(found.end)} of virtual time in {counted(found.cycles, 'cycle')}{so_far}",
        "",
        _row("gangs", _gangs(found)),
        _row("waiting", _waiting(found)),
        _row("makespan", "nothing finished" if found.makespan is None else written(found.makespan)),
        _row(what, _use(found.device, "there are none")),
        _row("cpu", _use(found.cpu, "there is none")),
        _row("fragmentation", _fragmentation(found, what)),
    ]
    if found.closeness is not None:
        lines.append(_row("closeness", _closeness(found.closeness)))
    if found.job_times is not None:
        lines.append(_row("job times", _job_times(found.job_times)))
    lines += [_row("split", f"at {written(one.at)}: {safe(one.what)}") for one in found.splits[:_REASONS_MAX]]
    if found.evictions:
        lines.append(_row("evictions", f"{counted(found.evictions, 'pod')}, for others or because a gang was broken"))
    if found.interruptions:
        lines.append(_row("work lost", f"{counted(found.interruptions, 'time')}, as a gang was no longer whole"))
    lines += _queues(found, what) + _users(found, what) + _over_time(found, what) + _never(found)
    return "\n".join(lines) + "\n"


def _row(label: str, text: str) -> str:
    return f"  {label:<{_LABEL}}{text}"


def _gangs(found: Report) -> str:
    lost = f", {found.lost} lost" if found.lost else ""
    return f"{found.started} started, {found.finished} finished, {len(found.never_started)} never started{lost}"


def _waiting(found: Report) -> str:
    if found.waiting is None:
        return "nothing started"
    waited = found.waiting
    return f"mean {written(waited.mean)}, p50 {written(waited.p50)}, p99 {written(waited.p99)}"


def _closeness(found: Closenesses) -> str:
    gangs = counted(found.gangs, "gang")
    return f"{gangs} of several pods in {found.domains:.2f} {found.level}s, mean distance {found.distance:.2f}"


def _job_times(found: JobTimes) -> str:
    return (
        f"mean {written(found.mean)}, {written(found.fastest)} where all talk fastest: "
        f"{found.stretch:.2f} times as long, at most {found.stretch_max:.2f}"
    )


def _use(use: Use, none: str) -> str:
    return f"{use.held:.1%} held, {use.working:.1%} working" if use.capacity else none


def _fragmentation(found: Report, what: str) -> str:
    if found.fragmentation is None:
        return f"none: no {what} were ever free"
    return f"{found.fragmentation:.1%} of the free {what} sat on partly used nodes"


def _queues(found: Report, what: str) -> list[str]:
    """Return a line per queue, indented as the tree is; none where there is one queue that bounds nothing."""
    if not _several(found):
        return []
    resource = what if found.device.capacity else "cpu"
    lines = []
    for queue in found.queues[:_QUEUES_MAX]:
        use = queue.device if found.device.capacity else queue.cpu
        told = [f"{use.allocated:.1f} held"]
        told += [] if use.share is None else [f"{use.share:.1f} its share"]
        told += [] if use.requested is None else [f"{use.requested:.1f} asked for"]
        told += [] if queue.waiting is None else [f"waiting p50 {written(queue.waiting.p50)}"]
        lines.append(_row(_name(queue), ", ".join(told)))
    more = len(found.queues) - _QUEUES_MAX
    lines += [_row("", f"and {counted(more, 'more queue')}")] if more > 0 else []
    return ["", f"  {resource} by queue, on average over the time", *lines]


def _users(found: Report, what: str) -> list[str]:
    """Return a line per user, those that had most first; none where the policy does not look at users."""
    resource, several = (what if found.device.capacity else "cpu"), len({one.queue for one in found.users}) > 1
    lines = []
    most = sorted(found.users, key=lambda one: -(one.device if found.device.capacity else one.cpu))
    for one in most[:_QUEUES_MAX]:
        told = [f"{one.device if found.device.capacity else one.cpu:.1f} held", f"{one.started} of {one.gangs} started"]
        told += [] if one.waiting is None else [f"waiting p50 {written(one.waiting.p50)}"]
        told += [f"in {safe(one.queue)}"] if several else []
        lines.append(_row(_short(safe(one.user) or "(no label)"), ", ".join(told)))
    more = len(found.users) - _QUEUES_MAX
    lines += [_row("", f"and {counted(more, 'more user')}")] if more > 0 else []
    return ["", f"  {resource} by user, on average over the time", *lines] if lines else []


def _several(found: Report) -> bool:
    return len(found.queues) > 1 or any(queue.device.share is not None for queue in found.queues)


def _name(queue: QueueRun) -> str:
    """Return the name of a queue under its parents, no longer than a label."""
    return _short("  " * min(queue.depth, _DEPTH_MAX) + safe(queue.queue))


def _short(name: str) -> str:
    return name if len(name) < _LABEL else f"{name[: _LABEL - 2]}…"


def _over_time(found: Report, what: str) -> list[str]:
    """Return two lines of bars over the same axis of time."""
    if not found.held_over_time or not found.device.capacity:
        return []
    middle, end = written(found.end / 2), written(found.end)
    width = len(found.held_over_time)
    axis = f"0s{middle:^{width - 2 - len(end)}}{end}"
    return [
        "",
        f"  {what} over time, from none (no bar) to all (a full bar)",
        _row("held", _bars(found.held_over_time)),
        _row("working", _bars(found.working_over_time)),
        *_queue_bars(found),
        _row("", axis),
    ]


def _queue_bars(found: Report) -> list[str]:
    if not _several(found):
        return []
    return [
        _row(_name(queue), _bars([amount / found.device.capacity for amount in queue.device.allocated_over_time]))
        for queue in found.queues[:_QUEUES_MAX]
    ]


def _bars(shares: Sequence[float]) -> str:
    """Return one bar per share. A share that is not zero always shows."""
    return "".join(_LEVELS[min(int(share * len(_LEVELS)), len(_LEVELS) - 1)] if share > 0 else " " for share in shares)


def _never(found: Report) -> list[str]:
    """Return why gangs never started: those that waited for the same are told together."""
    reasons = never_by_reason(found)
    lines = [f"    {safe(_gathered(gangs))}: {safe(reason)}" for reason, gangs in reasons.items()]
    more = [f"    and {len(lines) - _REASONS_MAX:,} more reasons"] if len(lines) > _REASONS_MAX else []
    return ["", "  never started, and why they waited last", *lines[:_REASONS_MAX], *more] if lines else []


def _gathered(gangs: list[str]) -> str:
    names = gathered(gangs)
    return names if len(names) <= _NAMES_WIDTH else f"{gangs[0]} and {len(gangs) - 1:,} more"
