"""What `phalanx plan` does: read, decide cycle by cycle, print."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import msgspec

from phalanx.cli.lines import print_lines
from phalanx.cli.output import Mistake, complain, counted
from phalanx.cli.plan_document import Planned, document
from phalanx.cli.plan_text import lines
from phalanx.cli.queue_bar import signs_for
from phalanx.cli.queue_tree_text import resources_shown, show, terminal_width, tree
from phalanx.cli.timings import TimedWorld, Timings
from phalanx.cli.worlds import chosen
from phalanx.dialects.mistakes import Mistakes
from phalanx.dialects.timestamps import moment
from phalanx.loop import Loop
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.task import State, Task
from phalanx.sim import manifests
from phalanx.sim.cycles import begin, play
from phalanx.sim.manifests import Manifests
from phalanx.sim.objects import Objects, read_objects
from phalanx.world.views import tasks_of
from phalanx.world.world import World

#: Reading less than this is over before a bar is drawn.
_BAR_BYTES = 2_000_000
#: A plan ends with a look at so many queues.
_QUEUES_MAX = 20


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of the command."""

    files: Sequence[str]
    output: str
    cycles: int
    now: str | None
    policy: str
    scheduler_names: tuple[str, ...]
    strict: bool
    timings: bool
    live: bool = False
    kubeconfig: str | None = None
    context: str | None = None


def run(wish: Wish) -> None:
    """Plan and print; raise `Mistake` for what the user must mend."""
    timings = Timings()
    # Everything that is read is kept to the end: looking for garbage in it only takes time.
    gc.disable()
    try:
        _run(wish, timings)
    finally:
        gc.enable()
    if wish.timings:
        for line in timings.lines():
            print(line, file=sys.stderr)


def _run(wish: Wish, timings: Timings) -> None:
    with timings.stage("policy"):
        now = None if wish.now is None else _moment(wish.now)
        policy = chosen(wish.policy, wish.scheduler_names)
    found = _read(wish.files, timings)
    if wish.live:
        with timings.stage("read"):
            now = _lay_on_cluster(wish, found, policy.asks)
    with timings.stage("admit"):
        objects = read_objects(found.documents, policy.ours)
    _complain(wish, found, objects)
    world = TimedWorld(policy.label_keys, policy.devices, timings)
    with timings.stage("apply"):
        for event in objects.events:
            world.apply(event)
    with timings.stage("decide"):
        plans = tuple(play(Loop(world, policy, live=wish.live), begin(world, now), wish.cycles, live=wish.live))
    with timings.stage("output"):
        _print(wish.output, Planned(plans, world, objects.refused, policy))
        _count(objects, world)
        bare = not any(isinstance(event, NodeSeen) for event in objects.events)
        if bare and not wish.live and wish.output == "text":
            complain("no Node among the objects, so nothing fits; --live plans for your cluster")


def _moment(text: str) -> float:
    mistakes = Mistakes(strict=False)
    now = moment(text, "--now", mistakes)
    if now is None:
        raise Mistake(f"plan: {mistakes.first}")
    return now


def _read(paths: Sequence[str], timings: Timings) -> Manifests:
    """Read and decode every file, with a bar when that takes long and somebody watches."""
    found = Manifests()
    with timings.stage("read"):
        files = manifests.find(paths, found)
    with _bar(files) as progress:
        for file in files:
            with timings.stage("read"):
                data = manifests.load(file, found)
            with timings.stage("decode"):
                if data is not None:
                    manifests.decode(data, file, found, progress)
    return found


def _lay_on_cluster(wish: Wish, found: Manifests, asks: Container[str]) -> float:
    """Put what the files have on top of what the cluster has; return the cluster's time."""
    # The network libraries take a while to load, and files do without.
    from phalanx.cli.live import at_home, from_cluster, home, homeless, on_top  # noqa: PLC0415

    if found.unreadable:
        raise Mistake("\n".join(found.unreadable))
    if found.problems and not found.documents:
        # A plan of the cluster alone would look like an answer about the files.
        raise Mistake("\n".join(found.problems))
    files = at_home(found.documents, home(wish.kubeconfig, wish.context)) if found.documents else []
    cluster, sight = from_cluster(wish.kubeconfig, wish.context, files, asks)
    found.documents, lines = on_top(cluster, files)
    for line in (*sight.lines, *homeless(cluster, files), *lines):
        complain(line)
    return sight.now


@contextmanager
def _bar(files: Sequence[str]) -> Iterator[manifests.Progress]:
    """Draw a progress bar on a terminal while files are read."""
    total = sum(os.path.getsize(file) for file in files if os.path.isfile(file))  # noqa: PTH202, PTH113
    if total < _BAR_BYTES or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading manifests", total=total)
        yield lambda size: bar.update(task, advance=size)


def _complain(wish: Wish, found: Manifests, objects: Objects) -> None:
    """Tell what could not be used; stop where a plan from the rest would be worthless."""
    if found.unreadable:
        raise Mistake("\n".join(found.unreadable))
    refused = [f"{one} ({source})" for one, source in objects.refused]
    odd = [
        f"Pod {event.task.full_name}: {event.task.hold} (it is on a node and counts there, as far as it can be read)"
        for event in objects.events
        if isinstance(event, TaskSeen) and _is_odd(event.task)
    ]
    odd += [f"{one} ({source})" for one, source in objects.astray]
    # A node that contradicts itself is counted all the same: that makes no object bad.
    remarks = [
        f"Node {event.node.name}: {remark}"
        for event in objects.events
        if isinstance(event, NodeSeen)
        for remark in event.node.remarks
    ]
    nothing = not any(isinstance(event, NodeSeen | TaskSeen) for event in objects.events)
    bad = [*found.problems, *refused, *odd]
    if nothing and not bad:
        raise Mistake(f"nothing to plan: found no Node and no Pod{_ignored(objects)}")
    if nothing or (wish.strict and bad):
        raise Mistake("\n".join(bad))
    # The text has the refused objects in it; for a program's output a person would miss them.
    for line in [*found.problems, *odd, *remarks, *(refused if wish.output != "text" else [])]:
        complain(line)


def _is_odd(task: Task) -> bool:
    """Tell a pod on a node whose object has a mistake.

    A mistake says what was found. The other holds are constraints that are not honoured yet: they bind nobody
    while the pod stays where it is.
    """
    wrong = task.hold is not None and task.hold.message.startswith(("found ", "missing"))
    return wrong and task.state is not State.PENDING


def _ignored(objects: Objects) -> str:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(objects.ignored.items()))
    return f" (ignored: {kinds})" if kinds else ""


def _count(objects: Objects, world: World) -> None:
    """Count what was left out, a line each."""
    if objects.ignored:
        complain(f"ignored objects of kinds that are not read: {_ignored(objects)[11:-1]}")
    others = Counter(
        task.scheduler for task in tasks_of(world).values() if not task.ours and task.state is State.PENDING
    )
    if others:
        names = ", ".join(f"{name} {count:,}" for name, count in sorted(others.items()))
        pods = counted(others.total(), "pending pod")
        complain(f"{pods} of other schedulers left out ({names}); plan them too with --scheduler-name NAME")


def _print(form: str, planned: Planned) -> None:
    if form == "json":
        print(msgspec.json.format(msgspec.json.encode(document(planned)), indent=2).decode())
    elif form == "yaml":
        print(msgspec.yaml.encode(document(planned)).decode(), end="")
    else:
        print_lines(lines(planned))
        _print_queues(planned)


def _print_queues(planned: Planned) -> None:
    """Print the queues, where there are some. Who is in none was said already, with the gangs that wait."""
    found = planned.accounts()
    if found is not None:
        print()
        found = replace(found, outside={})
        show(tree(found, resources_shown(found), terminal_width(), signs_for(sys.stdout.encoding), _QUEUES_MAX))
