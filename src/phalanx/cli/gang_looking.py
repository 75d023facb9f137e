"""What `phalanx gangs` does: look at a cluster or at files, once or again and again, and show the gangs."""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from phalanx.cli.gang_rows import Ask, GangRow, Said, gang_rows
from phalanx.cli.gang_text import gang_table
from phalanx.cli.lines import Line, print_lines
from phalanx.cli.output import Mistake, complain, counted
from phalanx.cli.plan_document import timestamp
from phalanx.cli.worlds import chosen, fill
from phalanx.model.task import State
from phalanx.sim.admission import Admission, items, mapping
from phalanx.sim.cycles import begin
from phalanx.world.views import tasks_of
from phalanx.world.world import World

if TYPE_CHECKING:
    from phalanx.kube.gang_watch import GangWatch
    from phalanx.kube.look import Sight

#: A terminal shows ages that grow.
_REDRAW = 10.0
_HOME, _REST = "\x1b[H\x1b[2J", "\x1b[J"


@dataclass(frozen=True, slots=True)
class Source:
    """Where the gangs are: in files, or, without any, in a cluster."""

    files: Sequence[str]
    kubeconfig: str | None
    context: str | None
    namespace: str | None
    everywhere: bool


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of the command."""

    source: Source
    output: str
    watch: bool
    policy: str
    scheduler_names: tuple[str, ...]


def run(wish: Wish) -> None:
    """Look and print; raise `Mistake` for what the user must mend."""
    policy = chosen(wish.policy, wish.scheduler_names)
    world = World(policy.label_keys, policy.devices)
    if wish.source.files:
        named = Admission()
        documents = [named.identify(one.object) for one in fill(world, wish.source.files, policy)]
        said = {str(mapping(one, "metadata").get("uid")): _said(one) for one in documents}
        view = _View(wish, world, lambda uid: said.get(uid, Said()), wish.source.namespace)
        view.show(begin(world, None))
        return
    _look(wish, world, policy.scheduler_names)


def _said(document: dict[str, Any]) -> Said:
    """Return what a manifest's status says."""
    status = mapping(document, "status")
    waiting = [
        (str(one.get("reason") or ""), str(one.get("message") or ""))
        for one in items(status, "conditions")
        if isinstance(one, dict) and (one.get("type"), one.get("status")) == ("PodScheduled", "False")
    ]
    return Said(status.get("phase") == "Running", waiting[0] if waiting else None)


def _look(wish: Wish, world: World, schedulers: Sequence[str]) -> None:
    # The network libraries take a while to load, and files do without.
    from phalanx.kube.credentials import AccessError, load_access  # noqa: PLC0415
    from phalanx.kube.gang_watch import GangWatch, Scope  # noqa: PLC0415
    from phalanx.kube.look import LookError  # noqa: PLC0415
    from phalanx.kube.standing import Hopeless  # noqa: PLC0415

    source = wish.source
    try:
        access = load_access(source.kubeconfig, source.context)
        namespace = None if source.everywhere else source.namespace or access.namespace
        watch = GangWatch(access, Scope(schedulers, namespace), world)

        def ask(uid: str) -> Said:
            known = watch.known(uid)
            return Said() if known is None else Said(known.running, known.waiting)

        view = _View(wish, world, ask, namespace)
        if wish.watch:
            _follow(view, watch)
            return
        sight = watch.once()
    except (AccessError, LookError, Hopeless) as error:
        raise Mistake(str(error)) from None
    for line in sight.lines:
        complain(line)
    view.show(sight.now)


def _follow(view: "_View", watch: "GangWatch") -> None:
    """Draw the table again and again on a terminal; elsewhere print it when something but the ages changed."""
    from phalanx.kube.log import Log  # noqa: PLC0415 (as above)

    if not sys.stdout.isatty():
        watch.follow(view.block, Log(), 3600.0)
        return
    # Lines of a log would stand in the middle of the table; what lasts is said below it.
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123
        watch.follow(view.draw, Log(stream=nowhere), _REDRAW)


@dataclass(slots=True)
class _View:
    """Shows the gangs of a world as the options want it."""

    wish: Wish
    world: World
    ask: Ask
    namespace: str | None
    _last: object = None

    def show(self, now: float) -> None:
        """Print everything once."""
        rows = self._rows()
        if self.wish.output in {"text", "wide"}:
            print_lines(self._table(rows, now))
            return
        document = {"gangs": [row.document(now) for row in rows]}
        if self.wish.output == "json":
            print(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
        else:
            print(msgspec.yaml.encode(document).decode(), end="")

    def block(self, sight: "Sight", blocks: Sequence[str]) -> None:
        """Print the table under its time, if it is another one."""
        del blocks
        rows = self._rows()
        if rows == self._last:
            return
        if self._last is None:
            for line in sight.lines:
                complain(line)
        self._last = rows
        print_lines([(timestamp(int(sight.now)), ""), *self._table(rows, sight.now), ("", "")])
        sys.stdout.flush()

    def draw(self, sight: "Sight", blocks: Sequence[str]) -> None:
        """Draw the table on the terminal, as much of it as there is room for."""
        rows, (_, height) = self._rows(), shutil.get_terminal_size()
        table = self._table(rows, sight.now)
        below: list[Line] = [(line, "") for line in (*sight.lines, *blocks)]
        room = height - len(below) - 3
        if len(table) > room > 0:
            below.insert(0, (f"and {counted(len(table) - room, 'gang')} more", ""))
            table = table[:room]
        sys.stdout.write(_HOME)
        print_lines([(timestamp(int(sight.now)), ""), *table, *below])
        sys.stdout.write(_REST)
        sys.stdout.flush()

    def _rows(self) -> list[GangRow]:
        return gang_rows(self.world, self.ask, self.namespace)

    def _table(self, rows: Sequence[GangRow], now: float) -> list[Line]:
        if not rows:
            return [(self._nothing(), "")]
        wide = self.wish.output == "wide"
        width = shutil.get_terminal_size()[0] if sys.stdout.isatty() and not wide else None
        return gang_table(rows, now, wide=wide, namespaced=self.namespace is not None, width=width)

    def _nothing(self) -> str:
        """Say that there is no gang, and where pods are that somebody may have meant."""
        where = "" if self.namespace is None else f" in namespace {self.namespace}"
        live = [task for task in tasks_of(self.world).values() if task.state is State.PENDING and not task.ours]
        others: Any = sorted({task.scheduler for task in live if self.namespace in {None, task.namespace}})
        hint = f"; pods wait there for {', '.join(others[:3])} (--scheduler-name NAME shows them)" if others else ""
        return f"no gangs{where}{hint}"
