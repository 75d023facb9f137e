"""A run in words: what happened at each instant, and how it ended."""

import re
from collections.abc import Iterable, Sequence

from phalanx.model.axis import GPU
from phalanx.model.plan import Bind, Plan, Reason
from phalanx.sim.cluster import End
from phalanx.sim.simulator import Moment
from phalanx.sim.timeline import Arrive, Fail, Return, Scale, Withdraw

_NUMBERED = re.compile(r"(?P<stem>.*?)(?P<number>[0-9]+)")


def short(name: str) -> str:
    """Return a name without the namespace that everything is in."""
    return name.removeprefix("default/")


def devices(resource: str) -> str:
    """Return what the devices are called, in the plural."""
    return "GPUs" if resource == GPU else f"{resource.rpartition('/')[2]}s"


def gathered(names: Iterable[str]) -> str:
    """Return names in short: `training-0…4`, `small-1,3,5`, `large`."""
    stems: dict[str, list[int] | None] = {}
    for name in names:
        form = _NUMBERED.fullmatch(name)
        if form is None:
            stems[name] = None
        else:
            stems[form["stem"]] = [*(stems.get(form["stem"]) or []), int(form["number"])]
    return ", ".join(stem if numbers is None else stem + _ranges(sorted(numbers)) for stem, numbers in stems.items())


def _ranges(numbers: Sequence[int]) -> str:
    """Return sorted numbers in short: three or more in a row as `0…4`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [f"{run[0]}…{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs]
    return ",".join(parts)


def told(moment: Moment, heard: dict[str, Reason]) -> list[str]:
    """Return what happened at an instant, a line each. A reason that was heard already is not told again."""
    lines = _happened(moment)
    plan = moment.plan or Plan(moment.now, ())
    lines += [f"{gathered(names)} → {node}" for node, names in _by_node(plan.binds).items()]
    for wait in plan.waits:
        if heard.get(wait.gang_key) != wait.reason:
            heard[wait.gang_key] = wait.reason
            lines.append(f"{short(wait.gang)} waits: {wait.reason}")
    arrived = gathered(one.task.name for one in moment.happenings if isinstance(one, Arrive))
    return lines or [f"{arrived} {'arrive' if many(arrived) else 'arrives'}, and nothing changes"]


def _happened(moment: Moment) -> list[str]:
    """Return what the cluster did by itself. Most arrivals show in what is decided about them."""
    ended = gathered(short(one.life.partition("/")[2]) for one in moment.happenings if isinstance(one, End))
    lines = [f"{ended} {'end' if many(ended) else 'ends'}"] if ended else []
    for one in moment.happenings:
        match one:
            case Withdraw(gang):
                lines.append(f"{short(gang)} is taken away")
            case Fail(node):
                lines.append(f"{node} fails")
            case Return(node):
                lines.append(f"{node} is back")
            case Scale(gang, members):
                lines.append(f"{short(gang)} is scaled to {members}")
            case _:
                pass
    return lines


def many(names: str) -> bool:
    """Tell whether gathered names are several."""
    return "," in names or "…" in names


def _by_node(binds: Iterable[Bind]) -> dict[str, list[str]]:
    placed: dict[str, list[str]] = {}
    for bind in binds:
        placed.setdefault(bind.node, []).append(short(bind.task))
    return placed
