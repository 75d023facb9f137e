"""The timeline: what a scenario lets happen, and when. Everything in it has passed the dialects already."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from phalanx.dialects.read import read
from phalanx.model.events import BudgetSeen, Event, NodeSeen, QueueSeen, TaskSeen
from phalanx.model.node import Node
from phalanx.model.task import Task
from phalanx.sim.documents import budget_document, node_document, pod_document, queue_document
from phalanx.sim.lines import BudgetLine, NodeLine, PodLine, QueueLine, ScaleLine, Scenario, ScenarioError
from phalanx.sim.network import Communication, Network, communication
from phalanx.sim.words import Runtime


@dataclass(frozen=True, slots=True)
class Arrive:
    """A pod is created (or was running all along)."""

    task: Task


@dataclass(frozen=True, slots=True)
class Scale:
    """A gang is given another size: these members leave, and its minimum may be another. New ones arrive."""

    gang: str
    members: int
    leave: tuple[str, ...]
    minimum: int | None


@dataclass(frozen=True, slots=True)
class Withdraw:
    """A gang is taken away, done or not: an autoscaler does so, or a user who goes home."""

    gang: str


@dataclass(frozen=True, slots=True)
class Fail:
    """A node dies with everything on it."""

    node: str


@dataclass(frozen=True, slots=True)
class Return:
    """A node that failed is back, empty."""

    node: str


@dataclass(frozen=True, slots=True)
class Relabel:
    """The labels of a node change; an empty value takes one away."""

    node: str
    labels: Mapping[str, str]


Planned = Arrive | Scale | Withdraw | Fail | Return | Relabel


@dataclass(frozen=True, slots=True)
class Timeline:
    """A cluster at time zero, what happens to it, and how long the work takes."""

    nodes: tuple[Node, ...]
    #: In order of time; at one instant, in the order of the scenario.
    happenings: tuple[tuple[float, Planned], ...]
    #: By `namespace/name` of the gang; absent: what its pods expect, or for ever.
    runtimes: Mapping[str, float]
    #: What else is there from the start.
    others: tuple[Event, ...] = ()
    #: How fast gangs talk; None: as if it took no time. And what each one talks, as by `runtimes`.
    network: Network | None = None
    talks: Mapping[str, Communication] = field(default_factory=dict[str, Communication])


@dataclass(frozen=True, slots=True)
class _Member:
    """One pod of a line on its way into the timeline."""

    pod: PodLine
    name: str
    created: float


#: Words that hold for a gang as a whole: a line that leaves one out takes it from the first that has it.
_GANG_WIDE = (
    "minimum", "maximum", "runtime", "until", "start_timeout", "patience", "preemptible", "preempts",
    "topology_required", "topology_preferred", "segment_size", "segment_topology", "topology_exclusive",
    "topology_exclusive_against", "replica_of", "topology_spread", "queue", "scheduler",
    "communication", "step_bytes", "step_compute",
)  # fmt: skip


def timeline(scenario: Scenario, seed: int = 0, schedulers: Sequence[str] = ("phalanx",)) -> Timeline:
    """Lay a scenario out in time. Chance (`runtime=1h±10%`) is drawn here, by seed, gang by gang."""
    gangs: dict[str, list[PodLine]] = {}
    for pod in scenario.pods:
        gangs.setdefault(f"{pod.namespace}/{pod.name}", []).append(pod)
    scalings: dict[str, list[ScaleLine]] = {}
    for scaling in scenario.scalings:
        scalings.setdefault(f"{scaling.namespace}/{scaling.name}", []).append(scaling)
    happenings: list[tuple[float, Planned]] = []
    runtimes: dict[str, float] = {}
    talks: dict[str, Communication] = {}
    for gang, written in gangs.items():
        lines = _filled(written)
        members = _numbered([member for line in lines for member in _members(line)])
        members, happened = _scaled(gang, members, scalings.get(gang, []))
        happenings += [(member.created, Arrive(_task(scenario, member, schedulers))) for member in members]
        happenings += happened
        if lines[0].runtime is not None:
            runtimes[gang] = _drawn(lines[0].runtime, f"{seed} {gang}")
        talk = communication(lines[0].communication, lines[0].step_bytes, lines[0].step_compute)
        if talk is not None:
            talks[gang] = talk
        if lines[0].until is not None:
            happenings.append((lines[0].until, Withdraw(gang)))
    for failure in scenario.failures:
        happenings.append((failure.at, Fail(failure.name)))
        if failure.lasts is not None:
            happenings.append((failure.at + failure.lasts, Return(failure.name)))
    happenings += [(one.at, Relabel(one.name, one.label)) for one in scenario.relabellings]
    nodes = tuple(_node(scenario, line) for line in scenario.nodes)
    others: list[Event] = [_queue(scenario, line) for line in scenario.queues]
    others += [_budget(scenario, line) for line in scenario.budgets]
    network = scenario.networks[0].speeds if scenario.networks else None
    happenings.sort(key=lambda timed: timed[0])
    return Timeline(nodes, tuple(happenings), runtimes, tuple(others), network, talks)


def _filled(lines: list[PodLine]) -> list[PodLine]:
    """Return the lines of one gang with what they leave out: gang-wide words, and minimums of everybody."""
    wide = {
        field: next((value for line in lines if (value := getattr(line, field)) is not None), None)
        for field in _GANG_WIDE
    }
    least: dict[str | None, int] = {}
    for subgroup in dict.fromkeys(line.subgroup for line in lines):
        own = [line for line in lines if line.subgroup == subgroup]
        given = next((line.subgroup_minimum for line in own if line.subgroup_minimum), None)
        least[subgroup] = given or sum(line.members or 1 for line in own)
    filled = []
    for line in lines:
        own_words = {field: value for field in _GANG_WIDE if (value := getattr(line, field)) is not None}
        words: dict[str, Any] = {**wide, **own_words}
        words["minimum"] = words["minimum"] or sum(least.values())
        filled.append(replace(line, subgroup_minimum=least[line.subgroup] if line.subgroup else None, **words))
    return filled


def _members(line: PodLine) -> list[_Member]:
    """Return the pods of a line, not yet numbered."""
    stem = f"{line.name}-{line.subgroup}" if line.subgroup else line.name
    return [_Member(line, stem, line.created + index * line.every) for index in range(line.members or 1)]


def _numbered(members: list[_Member]) -> list[_Member]:
    """Number the members of a gang, each subgroup from 0; a pod alone keeps its name."""
    counts: Counter[str] = Counter()
    numbered = []
    for member in members:
        alone = member.pod.members is None
        name = member.name if alone else f"{member.name}-{counts[member.name]}"
        numbered.append(replace(member, name=name))
        counts[member.name] += 1
    return numbered


def _scaled(
    gang: str, members: list[_Member], scalings: list[ScaleLine]
) -> tuple[list[_Member], list[tuple[float, Planned]]]:
    """Return who is ever created, and the scalings themselves."""
    there, gone = members, list[_Member]()
    happened: list[tuple[float, Planned]] = []
    for scaling in sorted(scalings, key=lambda scaling: scaling.at):
        mine = [member for member in there if member.pod.subgroup == scaling.subgroup]
        leaving = mine[scaling.members :]
        names = {member.name for member in leaving}
        there = [member for member in there if member.name not in names]
        gone += [member for member in leaving if member.created <= scaling.at]
        last = replace(mine[-1].pod, on=None)
        stem = mine[-1].name.rpartition("-")[0]
        there += [_Member(last, f"{stem}-{index}", scaling.at) for index in range(len(mine), scaling.members)]
        if scaling.minimum is not None:
            # Whoever is created from now on says the new minimum; the pretend cluster rewrites the others.
            there = [_with_minimum(member, scaling) for member in there]
        leave = tuple(member.name for member in leaving if member.created <= scaling.at)
        happened.append((scaling.at, Scale(gang, scaling.members, leave, scaling.minimum)))
    return [*gone, *there], happened


def _with_minimum(member: _Member, scaling: ScaleLine) -> _Member:
    if member.created < scaling.at:
        return member
    return replace(member, pod=replace(member.pod, minimum=scaling.minimum))


def _drawn(runtime: Runtime, seed: str) -> float:
    """Return one length of the range. Seeded by name, so that another gang changes nothing for this one."""
    chance = random.Random(seed).uniform(-runtime.spread, runtime.spread)  # noqa: S311 (no secret)
    return runtime.seconds * (1 + chance)


def _node(scenario: Scenario, line: NodeLine) -> Node:
    event = read(node_document(line), ())
    if isinstance(event, NodeSeen):
        return event.node
    raise ScenarioError(f"{scenario.source}:{line.line}: {event}")


def _queue(scenario: Scenario, line: QueueLine) -> QueueSeen:
    event = read(queue_document(line), ())
    if isinstance(event, QueueSeen):
        return event
    raise ScenarioError(f"{scenario.source}:{line.line}: {event}")


def _budget(scenario: Scenario, line: BudgetLine) -> BudgetSeen:
    event = read(budget_document(line), ())
    if isinstance(event, BudgetSeen):
        return event
    raise ScenarioError(f"{scenario.source}:{line.line}: {event}")


def _task(scenario: Scenario, member: _Member, schedulers: Sequence[str]) -> Task:
    document = pod_document(member.pod, member.name, member.created, schedulers[0])
    event = read(document, schedulers)
    if isinstance(event, TaskSeen):
        return event.task
    raise ScenarioError(f"{scenario.source}:{member.pod.line}: {event}")
