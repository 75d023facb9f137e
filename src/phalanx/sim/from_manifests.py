"""A timeline from Kubernetes manifests: pods arrive when they were created, and work as long as they say.

Time zero is the creation of the first pod that waits. How long a gang works is in its pods' annotation
`phalanx.dev/expected-runtime`; one without it works for ever. Terminating pods are taken as gone.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from phalanx.model.events import Event, GroupsSeen, NodeSeen, TaskSeen
from phalanx.model.task import State, Task
from phalanx.sim.manifests import Manifests, decode, find, load
from phalanx.sim.objects import read_objects
from phalanx.sim.timeline import Arrive, Timeline

#: What tells manifests from a scenario.
MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")
_THERE = frozenset({State.PENDING, State.RUNNING})


def timeline_of_manifests(path: str, schedulers: Collection[str]) -> tuple[Timeline, list[str]]:
    """Return what these manifests let happen, and a line for everything in them that could not be used."""
    manifests = Manifests()
    for file in find([path], manifests):
        data = load(file, manifests)
        if data is not None:
            decode(data, file, manifests)
    objects = read_objects(manifests.documents, schedulers)
    tasks = [event.task for event in objects.events if isinstance(event, TaskSeen) and event.task.state in _THERE]
    nodes = tuple(event.node for event in objects.events if isinstance(event, NodeSeen))
    zero = _zero(tasks)
    others = tuple(_since(event, zero) for event in objects.events if not isinstance(event, NodeSeen | TaskSeen))
    problems = [*manifests.unreadable, *manifests.problems]
    problems += [f"{source}: {refused}" for refused, source in [*objects.refused, *objects.astray]]
    happenings = tuple(sorted(_arrivals(tasks, zero), key=lambda timed: timed[0]))
    return Timeline(nodes, happenings, {}, others), problems


def _zero(tasks: Sequence[Task]) -> float:
    # A pod without a creation time, as in a manifest that was never sent, is there from the start.
    return min((task.created for task in tasks if task.state is State.PENDING and task.created), default=0.0)


def _since(event: Event, zero: float) -> Event:
    """Return what an object says of groups with their creation counted from time zero, as their pods' is."""
    if not isinstance(event, GroupsSeen):
        return event
    groups = (
        group if group.created is None else replace(group, created=group.created - zero) for group in event.groups
    )
    return replace(event, groups=tuple(groups))


def _arrivals(tasks: Sequence[Task], zero: float) -> Iterator[tuple[float, Arrive]]:
    for task in tasks:
        created = task.created - zero if task.created else 0.0
        started = task.started - zero if task.started is not None else None
        at = created if task.state is State.PENDING else 0.0
        yield at, Arrive(replace(task, created=created, started=started))
