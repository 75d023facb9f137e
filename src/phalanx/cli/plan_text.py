"""The result of `phalanx plan` for a person: who goes where, who waits and why, in as few lines as possible."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from phalanx.cli.closeness_report import gang_lines
from phalanx.cli.lines import Line
from phalanx.cli.output import counted, safe
from phalanx.cli.plan_document import Planned, known, timestamp
from phalanx.model.plan import Bind, Evict, Nominate, Plan, Release, Step, Wait
from phalanx.world.views import nodes_of, tasks_of

#: More nodes than these are counted, not named.
_NODES_MAX = 6
#: Longer names do not push the column to the right for everybody.
_WIDTH_MAX = 40
#: Of more gangs that wait for the same reason the first is named.
_ALIKE_MAX = 5
_DIGITS = re.compile(r"([0-9]+)")


class Row(NamedTuple):
    """Steps that stand on one line: what is done, to whom, and the rest of the sentence."""

    word: str
    who: str
    what: str
    steps: Sequence[Step] = ()


def lines(planned: Planned) -> list[Line]:
    """Return the whole report."""
    found: list[Line] = []
    before: list[Line] | None = None
    for number, plan in enumerate(planned.plans, start=1):
        now = aligned(rows(plan))
        said = now if now != before else [("  as in the cycle before", "")]
        found += [(f"cycle {number}{_time(planned, plan)}", "cycle"), *(said or [("  nothing to do", "")]), ("", "")]
        before = now
    close = gang_lines(planned.world, planned.policy, *known(planned))
    found += [(f"  {one}", "") for one in close] + ([("", "")] if close else [])
    if planned.refused:
        found += [(f"refused {safe(str(one))} ({safe(source)})", "refused") for one, source in planned.refused]
        found.append(("", ""))
    return [*found, (_summary(planned), "")]


def _time(planned: Planned, plan: Plan) -> str:
    """Return when a cycle is. Objects without any time begin at 0, which is no date that a reader would know."""
    return f"  {timestamp(plan.now)}" if planned.plans[0].now else ""


def rows(plan: Plan) -> list[Row]:
    """Return one row per group of steps, in the order of the first step of each."""
    groups: dict[tuple[str, ...], list[Step]] = {}
    for step in plan.steps:
        groups.setdefault(_group(step), []).append(step)
    return [Row(*_row(steps), steps) for steps in groups.values()]


def aligned(table: Sequence[Row]) -> list[Line]:
    """Return rows as lines in columns, gangs that wait for the same reason on one where they are many."""
    table = list(_folded(table))
    words = max((len(row.word) for row in table), default=0)
    width = min(max((len(row.who) for row in table), default=0), _WIDTH_MAX)
    return [(f"  {row.word:{words}}  {row.who:{width}}  {row.what}".rstrip(), row.word) for row in table]


def _folded(table: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows; of many waiting gangs with the same reason one, in the place of the first."""
    alike: dict[str, list[Row]] = {}
    for row in table:
        if (why := _waits_for(row)) is not None:
            alike.setdefault(why, []).append(row)
    for row in table:
        why = _waits_for(row)
        same = alike[why] if why is not None else []
        if len(same) <= _ALIKE_MAX:
            yield row
        elif row is same[0]:
            steps = [step for one in same for step in one.steps]
            who = f"{row.who} and {counted(len(same) - 1, 'gang')} more"
            yield Row(row.word, who, f"{_missing(steps)}  {why}", steps)


def _waits_for(row: Row) -> str | None:
    first = row.steps[0] if row.steps else None
    return _why(first) if isinstance(first, Wait) else None


def _why(wait: Wait) -> str:
    return f"{wait.reason.code.value}: {safe(str(wait.reason))}"


def _missing(steps: Iterable[Step]) -> str:
    return counted(sum(step.missing for step in steps if isinstance(step, Wait)), "pod")


def _group(step: Step) -> tuple[str, ...]:
    """Return what steps must share to stand on one line: the gang; or, of plain pods, all but the number."""
    if isinstance(step, Evict):
        return "evict", step.uid
    # A plain pod is a gang of one, under a key of this kind.
    gang = _stem(step.gang) if step.gang_key.startswith("Pod/") else step.gang_key
    return (type(step).__name__, gang, str(step.reason) if isinstance(step, Wait | Release) else "")


def _stem(name: str) -> str:
    return name.rpartition("-")[0] or name


def _place(step: Bind | Nominate | Release) -> str:
    """Return the node, with the GPUs there that it shares."""
    shared = () if isinstance(step, Release) else step.devices
    return f"{step.node} GPU {', '.join(map(safe, shared))}" if shared else step.node


def _row(steps: Sequence[Step]) -> tuple[str, str, str]:
    """Return word, who and what of one group."""
    first = steps[0]
    if isinstance(first, Evict):
        whom = f" for {first.beneficiary}" if first.beneficiary else ""
        return "evict", first.task, f"{first.node}  ({first.action}{whom}: {safe(first.reason)})"
    gangs = {step.gang: None for step in steps if not isinstance(step, Evict)}
    who = first.gang if len(gangs) == 1 else f"{_stem(first.gang)}-*"
    if isinstance(first, Wait):
        each = "" if len(gangs) == 1 else f" ({_names(gangs)})"
        return "wait", who, f"{_missing(steps)}{each}  {_why(first)}"
    places = [step for step in steps if isinstance(step, Bind | Nominate | Release)]
    word, names = type(first).__name__.lower(), [place.task for place in places]
    nodes = shown_nodes(Counter(map(_place, places))) if len(places) > 1 else _place(first)
    shown = "" if names == [who] else f"  ({_names(names)})"
    why = f"  ({safe(first.reason)})" if isinstance(first, Release) else ""
    return word, who, f"{counted(len(names), 'pod')}: {nodes}{shown}{why}"


def shown_nodes(counts: Counter[str], most: int = _NODES_MAX) -> str:
    """Return the nodes and how many pods go to each, the most first; beyond so many nodes, how many more there are."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], _natural(item[0])))
    shown = [f"{node} \N{MULTIPLICATION SIGN}{count}" for node, count in ordered[:most]]
    left = len(ordered) - most
    return ", ".join(shown) + (f" and {counted(left, 'node')} more" if left > 0 else "")


def _names(names: Iterable[str]) -> str:
    """Return `a, b, c`, or `train-0 … train-7`; the namespace stands in front already."""
    short = sorted((name.partition("/")[2] for name in names), key=_natural)
    return ", ".join(short) if len(short) <= 3 else f"{short[0]} … {short[-1]}"


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that puts `n2` before `n10`."""
    return [(int(part[:18]), part) if part[:1].isdigit() else (-1, part) for part in _DIGITS.split(name)]


def _summary(planned: Planned) -> str:
    """Return the line that answers the question."""
    world, steps = planned.world, [step for plan in planned.plans for step in plan.steps]
    waits = planned.plans[-1].waits if planned.plans else ()
    binds = sum(isinstance(step, Bind) for step in steps)
    evicts = sum(isinstance(step, Evict) for step in steps)
    said = [f"{counted(binds, 'pod')} bound"]
    if evicts:
        said.append(f"{counted(evicts, 'pod')} evicted")
    if waits:
        waiting = f"{counted(len(waits), 'gang')} {'waits' if len(waits) == 1 else 'wait'}"
        said.append(f"{waiting} ({counted(sum(wait.missing for wait in waits), 'pod')})")
    if planned.refused:
        said.append(f"{counted(len(planned.refused), 'object')} refused")
    cycles = f" in {counted(len(planned.plans), 'cycle')}" if len(planned.plans) > 1 else ""
    return f"{counted(len(nodes_of(world)), 'node')}, {counted(len(tasks_of(world)), 'pod')}: {', '.join(said)}{cycles}"
