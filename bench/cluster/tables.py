"""Print what was measured as Markdown, with ratios to the limit and to kube-scheduler from the same run."""

from collections.abc import Mapping, Sequence
from statistics import median, quantiles

from bench.cluster.backlog import Row
from bench.cluster.contenders import KUBE, NULL
from bench.cluster.events import Told
from bench.cluster.first_bind import Phase
from bench.cluster.limit import Turn
from bench.cluster.reclaim import Reclaimed
from bench.cluster.starting import Start
from bench.cluster.stream import Latency

MIB = 2**20


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print one table, its columns aligned for eyes as well."""
    widths = [max(len(line[column]) for line in [head, *rows]) for column in range(len(head))]
    print(f"\n### {title}\n", flush=True)
    for line in [head, ["-" * width for width in widths], *rows]:
        cells = (
            cell.ljust(width) if not number else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def backlog_table(title: str, rows: Sequence[Row]) -> None:
    """Print a table of backlogs."""
    head = (
        "contender", "pods/s from start", "to null binder", "to kube-scheduler", "pods/s once binding",
        "first bind s", "last bind s", "nodes used", "split gangs", "CPU s", "peak MiB",
    )  # fmt: skip
    limit, kube = _speed(rows, NULL.name), _speed(rows, KUBE.name)
    table(title, head, [_cells(row, limit, kube) for row in rows])


def shape_table(title: str, rows: Sequence[Row]) -> None:
    """Print a table of backlogs in which no pod belongs to another."""
    head = (
        "contender",
        "pods/s from start",
        "to kube-scheduler",
        "pods/s once binding",
        "last bind s",
        "CPU s",
        "peak MiB",
    )
    kube = _speed(rows, KUBE.name)
    table(title, head, [
        [
            _name(row), f"{row.per_second:,.0f}", _ratio(row.per_second, kube), f"{row.once_started:,.0f}",
            f"{row.last:.2f}", f"{row.cpu:.1f}", f"{row.peak / MIB:,.0f}",
        ]
        for row in rows
    ])  # fmt: skip


def stream_table(title: str, rows: Sequence[Latency]) -> None:
    """Print a table of latencies."""
    head = ("contender", "pods", "pods/s created", "never bound", "p50 s", "p99 s", "longest s", "CPU s")
    table(title, head, [
        [
            row.name, f"{row.pods:,}", f"{row.rate:,.0f}", f"{row.pods - len(row.seconds):,}",
            f"{row.percentile(0.5):.3f}", f"{row.percentile(0.99):.3f}", f"{row.percentile(1.0):.3f}", f"{row.cpu:.1f}",
        ]
        for row in rows
    ])  # fmt: skip


def start_table(title: str, rows: Sequence[Start]) -> None:
    """Print a table of starts."""
    head = ("contender", "first decision s", "right", "memory MiB", "peak MiB", "CPU s")
    table(title, head, [
        [
            row.name, "never" if row.first is None else f"{row.first:.2f}", "yes" if row.right else "no",
            f"{row.settled / MIB:,.0f}", f"{row.peak / MIB:,.0f}", f"{row.cpu:.1f}",
        ]
        for row in rows
    ])  # fmt: skip


def reclaim_table(title: str, rows: Sequence[Reclaimed]) -> None:
    """Print a table of reclaims; the first row is the limit."""
    head = ("contender", "half after s", "to the API server", "first bind s", "bound", "evicted", "CPU s", "peak MiB")
    table(title, head, [
        [
            row.name + ("" if row.enough else " (not right)"), f"{row.last:.2f}", _ratio(row.last, rows[0].last),
            f"{row.first:.2f}", f"{row.bound:,}", f"{row.evicted:,}", f"{row.cpu:.1f}", f"{row.peak / MIB:,.0f}",
        ]
        for row in rows
    ])  # fmt: skip


def events_table(title: str, rows: Sequence[Told]) -> None:
    """Print a table of rounds with events and without, and what is left of the throughput with them."""
    head = (
        "events/s", "binds/s by wave", "events meanwhile", "pods told", "all after s", "events", "most in a second",
        "CPU s", "peak MiB",
    )  # fmt: skip
    table(title, head, [
        [
            f"{row.rate:g}", " ".join(f"{wave:,.0f}" for wave in row.waves), f"{row.meanwhile:,}", f"{row.told:,}",
            f"{row.told_after:.1f}", f"{row.events:,}", f"{row.most:,}", f"{row.cpu:.1f}", f"{row.peak / MIB:,.0f}",
        ]
        for row in rows
    ])  # fmt: skip
    told, silent = ([wave for row in rows if bool(row.rate) is rate for wave in row.waves] for rate in (True, False))
    if told and silent:
        low, _, high = quantiles(silent, n=4)
        ratio, spread = median(told) / median(silent), (high - low) / median(silent)
        print(f"\nBinds with events to without: {ratio:.2f} (medians of {len(told)} waves)", flush=True)
        print(f"Without events the middle half of the waves lies {spread:.2f} of the median apart", flush=True)


def first_bind_table(title: str, phases: Sequence[Phase]) -> None:
    """Print when each phase of a start was over, and what it took."""
    rows, at, cpu = [], 0.0, 0.0
    for phase in phases:
        used = phase.cpu if phase.cpu is not None else cpu
        rows.append([phase.name, f"{phase.at:.3f}", f"{phase.at - at:.3f}", f"{used - cpu:.3f}"])
        at, cpu = phase.at, used
    table(title, ("until", "at s", "took s", "of it CPU s"), rows)


def limit_table(title: str, rounds: Sequence[Mapping[str, Turn]]) -> None:
    """Print medians over the rounds; ratios are those of each round to its own null binder, with the least and most."""
    head = (
        "contender", "pods/s from start", "to null binder", "pods/s once binding", "to null binder", "first bind s",
        "CPU ms: until then", "per 1,000 binds", "API server's and etcd's per 1,000",
    )  # fmt: skip
    rows = []
    for name in rounds[0]:
        turns, limits = [one[name] for one in rounds], [one[NULL.name] for one in rounds]
        thousands = turns[0].pods / 1000
        rows.append([
            name, f"{median(one.from_start for one in turns):,.0f}",
            _spread([one.from_start / limit.from_start for one, limit in zip(turns, limits, strict=True)]),
            f"{median(one.once_binding for one in turns):,.0f}",
            _spread([one.once_binding / limit.once_binding for one, limit in zip(turns, limits, strict=True)]),
            f"{median(one.first for one in turns):.2f}", f"{1000 * median(one.started for one in turns):.0f}",
            f"{1000 * median(one.binding for one in turns) / thousands:.0f}",
            f"{1000 * median(one.server for one in turns) / thousands:.0f}",
        ])  # fmt: skip
    table(title, head, rows)


def _spread(ratios: Sequence[float]) -> str:
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _speed(rows: Sequence[Row], name: str) -> float | None:
    return next((row.per_second for row in rows if row.name == name), None)


def _cells(row: Row, limit: float | None, kube: float | None) -> list[str]:
    return [
        _name(row),
        f"{row.per_second:,.0f}",
        _ratio(row.per_second, limit),
        _ratio(row.per_second, kube),
        f"{row.once_started:,.0f}",
        f"{row.first:.2f}",
        f"{row.last:.2f}",
        f"{row.nodes:,}",
        f"{row.split:,}",
        f"{row.cpu:.1f}",
        f"{row.peak / MIB:,.0f}",
    ]


def _name(row: Row) -> str:
    return row.name if row.bound == row.size.pods else f"{row.name} (only {row.bound:,} bound)"


def _ratio(value: float, other: float | None) -> str:
    return f"{value / other:.2f}" if other else "-"
