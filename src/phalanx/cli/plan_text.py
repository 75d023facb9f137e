"""The result of `phalanx plan` for a person: who goes where, who waits and why, in as few lines as possible."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from phalanx.cli.output import counted, safe
from phalanx.cli.plan_document import Planned, timestamp
from phalanx.model.plan import Bind, Evict, Nominate, Plan, Step, Wait

#: More nodes than these are counted, not named.
_NODES_MAX = 6
#: Longer names do not push the column to the right for everybody.
_WIDTH_MAX = 40
_DIGITS = re.compile(r"([0-9]+)")

#: A line: its first word, which a terminal may colour, and the rest.
Line = tuple[str, str]


def lines(planned: Planned) -> list[Line]:
    """Return the whole report."""
    found: list[Line] = []
    before: list[Line] | None = None
    for number, plan in enumerate(planned.plans, start=1):
        now = _cycle(plan)
        said = now if now != before else [("", "as in the cycle before")]
        found += [("cycle", f"{number}  {timestamp(plan.now)}"), *(said or [("", "nothing to do")]), ("", "")]
        before = now
    if planned.refused:
        found += [("refused", f"{safe(str(one))} ({safe(source)})") for one, source in planned.refused]
        found.append(("", ""))
    return [*found, ("", _summary(planned))]


def _cycle(plan: Plan) -> list[Line]:
    """Return one line per group of steps, in the order of the first step of each."""
    groups: dict[tuple[str, ...], list[Step]] = {}
    for step in plan.steps:
        groups.setdefault(_group(step), []).append(step)
    rows = [_row(steps) for steps in groups.values()]
    width = min(max((len(who) for _, who, _ in rows), default=0), _WIDTH_MAX)
    return [(word, f"{who:{width}}  {what}") for word, who, what in rows]


def _group(step: Step) -> tuple[str, ...]:
    """Return what steps must share to stand on one line: a gang; or, of plain pods, all but the number."""
    match step:
        case Bind() | Nominate():
            plain = step.gang == step.task
            return type(step).__name__, _stem(step.task) if plain else step.gang_key, str(plain)
        case Wait():
            plain = step.missing == 1
            return "Wait", _stem(step.gang) if plain else step.gang_key, str(plain), str(step.reason)
        case Evict():
            return "Evict", step.uid


def _stem(name: str) -> str:
    return name.rpartition("-")[0] or name


def _row(steps: Sequence[Step]) -> tuple[str, str, str]:
    """Return word, who and what of one group."""
    first = steps[0]
    match first:
        case Bind() | Nominate():
            word = "bind" if isinstance(first, Bind) else "nominate"
            places = [step for step in steps if isinstance(step, Bind | Nominate)]
            names = [place.task for place in places]
            if len(names) == 1:
                pod = "" if first.gang == first.task else f"  ({_names(names)})"
                return word, first.gang, f"{first.node}{pod}"
            who = first.gang if first.gang != first.task else f"{_stem(first.task)}-*"
            nodes = _nodes(Counter(place.node for place in places))
            return word, who, f"{counted(len(names), 'pod')}: {nodes}  ({_names(names)})"
        case Wait():
            waits = [step for step in steps if isinstance(step, Wait)]
            why = f"{first.reason.code.value}: {safe(str(first.reason))}"
            if len(waits) > 1:
                names = [wait.gang for wait in waits]
                return "wait", f"{_stem(first.gang)}-*", f"{counted(len(names), 'pod')} ({_names(names)}), each {why}"
            return "wait", first.gang, f"{counted(first.missing, 'pod')}, {why}"
        case Evict():
            whom = f" for {first.beneficiary}" if first.beneficiary else ""
            return "evict", first.task, f"{first.node}  ({first.action}{whom}: {safe(first.reason)})"


def _nodes(counts: Counter[str]) -> str:
    """Return `n1 ×5, n2 ×3`, the fullest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], _natural(item[0])))
    shown = [f"{node} ×{count}" for node, count in ordered[:_NODES_MAX]]
    left = len(ordered) - _NODES_MAX
    return ", ".join([*shown, f"and {counted(left, 'node')} more"] if left > 0 else shown)


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
    return f"{counted(len(world.nodes), 'node')}, {counted(len(world.tasks), 'pod')}: {', '.join(said)}{cycles}"
