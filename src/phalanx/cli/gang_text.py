"""The table of gangs for a person: one line each, as short as the screen or as long as it needs."""

from collections.abc import Sequence

from phalanx.cli.gang_rows import GangRow
from phalanx.cli.lines import Line
from phalanx.cli.output import safe
from phalanx.cli.plan_text import shown_nodes

_WORDS = {"running": "running", "bound": "starting", "pending": "waiting", "leaving": "leaving", "finished": "ended"}
#: On a screen, names that are longer do not push the other columns away.
_NAME_MAX = 40


def gang_table(rows: Sequence[GangRow], now: float, *, wide: bool, namespaced: bool, width: int | None) -> list[Line]:
    """Return a head and a line per gang, cut to a width (None: not cut). `namespaced`: all are in one namespace."""
    head = ("gang", "queue", *(("priority",) if wide else ()), "min", "for", "pods", "where, or why not")
    lines = [_cells(row, now, wide=wide, namespaced=namespaced) for row in rows]
    widths = [
        min(max(len(line[at]) for line in (head, *lines)), _NAME_MAX if at < 2 and width is not None else 99)
        for at in range(len(head) - 1)
    ]
    numbers = {head.index("min"), *((head.index("priority"),) if wide else ())}
    found = []
    for line, row in zip((head, *lines), (None, *rows), strict=True):
        cells = [
            cell.rjust(size) if at in numbers else cell.ljust(size)
            for at, (cell, size) in enumerate(zip(line, widths, strict=False))
        ]
        text = _cut("  ".join([*cells, line[-1]]).rstrip(), width)
        # Cut off or not there, there is no word to colour.
        found.append((text, "waiting" if row is not None and row.pending and "waiting" in text else ""))
    return found


def _cells(row: GangRow, now: float, *, wide: bool, namespaced: bool) -> tuple[str, ...]:
    gang = row.gang
    name = gang.name.partition("/")[2] if namespaced else gang.name
    pods = ", ".join(f"{count:,} {_WORDS[sort]}" for sort, count in row.counts.items() if count)
    priority = (str(gang.priority),) if wide else ()
    return name, gang.queue, *priority, f"{gang.minimum:,}", age(now - row.since), pods, _where(row, wide=wide)


def _where(row: GangRow, *, wide: bool) -> str:
    most = len(row.nodes) + len(row.nominated) if wide else 4
    parts = []
    if row.nodes:
        parts.append(shown_nodes(row.nodes, most))
    if row.nominated:
        parts.append(f"promised {shown_nodes(row.nominated, most)}")
    if row.pending:
        parts.append(safe(row.message) if row.message else "no scheduler has said why")
    return "; ".join(parts)


def age(seconds: float) -> str:
    """Return a time span in one unit, as kubectl has it."""
    whole = max(int(seconds), 0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if whole >= 2 * size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def _cut(text: str, width: int | None) -> str:
    return text if width is None or len(text) <= width else text[: max(width - 1, 0)] + "…"
