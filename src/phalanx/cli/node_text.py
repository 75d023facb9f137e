"""The table of nodes for a person: a line per node and resource, with a cell for each device."""

from collections import Counter
from collections.abc import Sequence

from phalanx.cli.lines import Line
from phalanx.cli.node_rows import Held, NodeRow
from phalanx.cli.output import counted, safe
from phalanx.model.axis import MEMORY
from phalanx.model.device import Device
from phalanx.model.quantity import written

#: In use, leaving, promised, free, withheld by the device plugin, unhealthy, cordoned.
_SIGNS = "█▒○·?!x"
_PLAIN = "#%o.?!x"
_WORDS = ("in use", "leaving", "promised", "free", "withheld", "unhealthy", "cordoned")
#: More places than that are told as numbers alone.
_CELLS_MAX = 32
_HEAD = ("node", "resource", "model", "memory", "devices", "left", "who")


def node_table(rows: Sequence[NodeRow], *, wide: bool, width: int | None, encoding: str | None) -> list[Line]:
    """Return a head, a line per node and resource, what the signs mean, and what nodes contradict themselves in."""
    if not rows:
        return [("no nodes", "")]
    signs = _signs(encoding)
    shown = [row for row in rows if row.held or wide]
    lines = [cells for row in shown for cells in _of_node(row, signs, wide=wide)]
    found: list[Line] = []
    if lines:
        widths = [max(map(len, column)) for column in zip(_HEAD, *lines, strict=True)]
        found = [(_cut(_joined(cells, widths), width), "") for cells in (_HEAD, *lines)]
        used = {sign for row in shown for held in row.held for sign in _cells(held, signs)}
        meanings = [f"{sign} {word}" for sign, word in zip(signs, _WORDS, strict=True) if sign in used]
        found += [("   ".join(meanings), "")] if meanings else []
    if without := len(rows) - len(shown):
        found.append((f"{counted(without, 'node')} without devices left out (-o wide shows them)", ""))
    remarks = [f"{row.node.name}: {safe(remark)}" for row in rows for remark in row.remarks]
    return [*found, *([("", "")] if remarks else []), *((remark, "") for remark in remarks)]


def _signs(encoding: str | None) -> str:
    try:
        _SIGNS.encode(encoding or "ascii")
    except (UnicodeError, LookupError):
        return _PLAIN
    return _SIGNS


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    at = _HEAD.index("left")
    return "  ".join(
        cell.rjust(size) if place == at else cell.ljust(size)
        for place, (cell, size) in enumerate(zip(cells, widths, strict=True))
    ).rstrip()


def _of_node(row: NodeRow, signs: str, *, wide: bool) -> list[tuple[str, ...]]:
    states = [word for word, is_so in (("not ready", not row.node.ready), ("cordoned", row.node.cordoned)) if is_so]
    name = f"{safe(row.node.name)} ({', '.join(states)})" if states else safe(row.node.name)
    if not row.held:
        return [(name, "", "", "", "", "", "")]
    lines: list[tuple[str, ...]] = []
    for at, held in enumerate(row.held):
        lines.append((
            name if at == 0 else "", held.resource, *_kinds(held), _cells(held, signs), str(held.left),
            _who(held, wide=wide),
        ))  # fmt: skip
        if wide:
            lines += [_device(one) for one in held.devices if one.id or not one.usable]
    return lines


def _kinds(held: Held) -> tuple[str, str]:
    """Return the models and memories; where a node mixes them, how many there are of each."""
    kinds = Counter((one.model, one.memory) for one in held.devices)
    mixed = len(kinds) > 1
    models, memories = [], []
    for (model, memory), count in sorted(kinds.items()):
        models.append(f"{count}× {safe(model) or 'unknown'}" if mixed else safe(model))
        memories.append(_memory(memory) if memory else "unknown" if mixed else "")
    return ", ".join(models), ", ".join(memories)


def _memory(amount: int) -> str:
    """Return bytes in GiB, as people say it."""
    gib = amount / 2**30
    return written(amount, MEMORY) if gib < 1 else f"{gib:.1f}Gi".replace(".0Gi", "Gi")


def _cells(held: Held, signs: str) -> str:
    """Return a cell for each place: not which of the devices it is, but how many of them are what."""
    counts = [held.held(state) for state in ("running", "leaving", "promised")]
    away = [held.away(cordoned=False), held.away(cordoned=True)]
    withheld = max(held.places - sum(away) - held.allocatable, 0)
    counts += [max(held.left, 0), withheld, *away]
    if held.places > _CELLS_MAX:
        return f"{sum(counts[:3])} of {held.places} in use"
    # Those that run on what is cordoned stay in sight: the cells of what is away give way to theirs.
    cells = "".join(sign * count for sign, count in zip(signs, counts, strict=True))
    return cells[: max(held.places, sum(counts[:3]))]


def _who(held: Held, *, wide: bool) -> str:
    if wide:
        parts = [f"{safe(one.pod)} ({_state(one.count, one.state)})" for one in held.holders]
    else:
        owners: Counter[str] = Counter()
        for one in held.holders:
            owners[one.gang or one.pod] += one.count
        parts = [
            f"{safe(name)} ×{count}" for name, count in sorted(owners.items(), key=lambda item: (-item[1], item[0]))
        ]
    cordoned = [str(one.index) for one in held.devices if one.cordoned]
    unhealthy = [str(one.index) for one in held.devices if not one.healthy and not one.cordoned]
    notes = [
        f"{word} {','.join(listed)}" for word, listed in (("cordoned", cordoned), ("unhealthy", unhealthy)) if listed
    ]
    return "; ".join(part for part in (", ".join(parts), *notes) if part)


def _state(count: int, state: str) -> str:
    return str(count) if state == "running" else f"{count}, {state}"


def _device(one: Device) -> tuple[str, ...]:
    """Return a line for one device of which more is known than of all together."""
    state = "cordoned" if one.cordoned else "" if one.healthy else "unhealthy"
    place = [f"{word} {number}" for word, number in (("numa", one.numa), ("group", one.group)) if number >= 0]
    many = [f"for {one.replicas} pods"] if one.replicas > 1 else []
    memory = _memory(one.memory) if one.memory else ""
    return (
        "",
        f"  {one.index}",
        safe(one.model),
        memory,
        state,
        "",
        ", ".join([safe(one.id), *place, *many]).strip(", "),
    )


def _cut(text: str, width: int | None) -> str:
    return text if width is None or len(text) <= width else text[: max(width - 1, 0)] + "…"
