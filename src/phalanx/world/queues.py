"""The world's queues: the objects, the tree that they make up, who is in which, and what is in each."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from phalanx.model.axis import SUM_MAX, Axis
from phalanx.model.charges import Charges
from phalanx.model.events import QueueGone, QueueSeen, Refused
from phalanx.model.gang import Gang
from phalanx.model.queue import Queue
from phalanx.model.queue_table import QueueTable
from phalanx.model.reference import Reference
from phalanx.model.snapshot import GangTable, NodeTable
from phalanx.model.task import Task
from phalanx.model.usage import Memory
from phalanx.world.gangs import gang_key
from phalanx.world.indexes import subtract
from phalanx.world.outside import Outside
from phalanx.world.queue_answers import Answer, Doors, Said, answer, objection
from phalanx.world.queue_books import QueueBooks
from phalanx.world.queue_rows import blank, group_sums, reserves, sum_up, within_reserves
from phalanx.world.queue_tree import Tree, resolve
from phalanx.world.usage import Usage


@dataclass(frozen=True, slots=True)
class QueueReport:
    """One Queue object as of the last cycle, for whoever shows it or writes its status."""

    object: Reference
    #: As it was read; None: it cannot be.
    queue: Queue | None
    #: Of the resources that some queue lists, with what its children have. Empty where it is set aside.
    allocated: Mapping[str, int]
    requested: Mapping[str, int]
    #: Gangs in it of which something waits, held ones too.
    pending: int
    #: Why it is set aside.
    problem: str | None


class Queues:
    """Every Queue object, and the queue table."""

    def __init__(self) -> None:
        self.seen: dict[Reference, QueueSeen] = {}
        self.refused: dict[Reference, Refused] = {}
        self.usage: Usage | None = None
        self.tree: Tree = resolve((), {})
        self.table: QueueTable = blank(self.tree)
        #: The limits as the objects say them, and what of it is kept from others.
        self._limit, self._reserved = self.table.limit, reserves(self.tree, self.table.resources)
        self.stale = False
        #: What queues count resources as, and whether that changed.
        self.charges = Charges()
        self._recharged = False
        self._books = QueueBooks()
        self._books.open(None, self.table, self.charges)
        self._outside = Outside()
        #: Gangs by the queue that they name, whether or not it is there.
        self._gangs: dict[str, dict[str, None]] = {}
        self._said: dict[str, str] = {}
        self._answers: dict[str, Answer] = {}
        #: `status.usage` of objects at first sight, until somebody wants to remember.
        self._statuses: dict[Reference, object] = {}
        #: Who waits, as of the last cycle.
        self.waiting: GangTable | None = None

    def apply(self, event: QueueSeen | QueueGone | Refused, resources: Counter[str]) -> None:
        """Take in an object, and count the resources that it lists.

        Only what it says of the queue makes the tree stale, not its status. One that cannot be read any more is set
        aside.
        """
        thing = event.queue.object if isinstance(event, QueueSeen) else event.object
        old, mistake = self.seen.get(thing), self.refused.get(thing)
        if isinstance(event, QueueGone) and old is not None and event.uid not in {None, old.queue.uid}:
            return
        self.seen.pop(thing, None)
        self.refused.pop(thing, None)
        if old is not None:
            subtract(resources, old.queue.terms)
        match event:
            case QueueSeen(queue):
                self.seen[thing] = event
                resources.update(queue.terms.keys())
                if old is None and mistake is None:
                    self._first_sight(event)
                changed = old is None or old.queue != queue
            case Refused():
                self.refused[thing] = event
                changed = mistake != event
            case QueueGone():
                changed = old is not None or mistake is not None
                self._statuses.pop(thing, None)
        self.stale = self.stale or changed

    def read_charges(self, charges: Charges) -> None:
        """Say what queues count resources as, when the policy changes."""
        if charges != self.charges:
            self.charges, self._recharged, self.stale = charges, True, True

    def refresh(self) -> Iterable[str] | None:
        """Build the tree again if an object changed; return the gangs that are told something else now, None: all."""
        if not self.stale:
            return ()
        self.stale = False
        reasons = {
            thing: f"{one.field}: {one.message}" if one.field else one.message for thing, one in self.refused.items()
        }
        old, before = self.table, self._answers
        self.tree = resolve((one.queue for one in self.seen.values()), reasons)
        self.table = blank(self.tree)
        self._limit, self._reserved = self.table.limit, reserves(self.tree, self.table.resources)
        self._books.open(old, self.table, self.charges)
        self._answers = {name: answer(self.tree, name) for name in self._gangs}
        self._align()
        every, self._recharged = self._recharged or old.resources != self.table.resources, False
        if every:
            return None
        return [key for name in self._gangs if self._answers[name] != before.get(name) for key in self._gangs[name]]

    def objection(self, said: Said) -> str | None:
        """Return why a gang must not use the queue that it is in; None: it may."""
        if said.queue not in self._answers:
            self._answers[said.queue] = answer(self.tree, said.queue)
        return objection(said, self._answers[said.queue])

    def pause(self, said: Said) -> str | None:
        """Return why nothing may start in the queue of a gang that may use it; None: it may."""
        found = self._answers.get(said.queue)
        return f"Queue {said.queue}: {found.hold}" if isinstance(found, Doors) and found.hold else None

    def put(self, key: str, said: Said | None, gang: Gang | None, members: Sequence[Task]) -> str | None:
        """Write one gang into the books, with its unfinished members (none: it is gone); return its queue's name.

        A gang that must not use its queue is in none.
        """
        self._index(key, said.queue if said else None)
        before = key in self._books
        inside = said is not None and gang is not None and self.objection(said) is None
        if said is not None and gang is not None and inside:
            self._books.put(key, self.tree.row[said.queue], gang, members)
        else:
            self._books.drop(key)
        if before != inside:
            for task in members:
                if task.node is not None:
                    self._outside.touch(task.node)
        return said.queue if said is not None and inside else None

    def touch(self, node: str) -> None:
        """Mark a node: it, or a task on it, changed."""
        self._outside.touch(node)

    def compile(self, now: float, axis: Axis, nodes: NodeTable, on_node: Callable[[str], list[Task]]) -> QueueTable:
        """Return the table as of now. Every gang that changed must have been put before."""
        columns = np.array([axis.index[name] for name in self.table.resources], np.int64)
        table = replace(self.table, columns=columns)
        total = self._outside.total(
            table, axis, nodes, self.charges, on_node, lambda task: task.ours and gang_key(task) in self._books
        )
        allocated, fixed, requested = self._books.sums(table)
        usage = table.usage
        if self.usage is not None:
            usage = self.usage.sample(now, [queue.name for queue in table.queues], allocated, total)
        limit, reserved = self._limit, self._reserved
        if reserved is not None:
            limit = within_reserves(table, limit, reserved, total)
        for array in (total, allocated, fixed, requested, usage, limit):
            array.flags.writeable = False
        self.table = replace(
            table, total=total, allocated=allocated, fixed=fixed, requested=requested, usage=usage, limit=limit
        )  # fmt: skip
        return self.table

    def assume(self, tasks: Iterable[Task]) -> None:
        """Note that these tasks run from now on: the next sample counts them since the last one."""
        if self.usage is None:
            return
        table = self.table
        placed = [task for task in tasks if gang_key(task) in self._books]
        rows = np.array([table.row[self._said[gang_key(task)]] for task in placed], np.int64)
        amounts = np.array([self._books.amounts(task) for task in placed], np.int64)
        more = group_sums(rows, amounts.reshape(len(placed), len(table.resources)), len(table))
        filled = np.broadcast_to(~table.leaf[:, None], more.shape)
        more = sum_up(more, table.parent, table.depth, filled)
        using = table.allocated + np.minimum(more, SUM_MAX - table.allocated)
        self.usage.correct([queue.name for queue in table.queues], using)

    def remember(self, memory: Memory | None) -> None:
        """Remember what is used from now on; None: no longer. Another window or half-life starts anew."""
        if memory == (self.usage.memory if self.usage else None):
            return
        self.usage = None if memory is None else Usage(memory)
        self._align()
        statuses, self._statuses = self._statuses, {}
        for thing, text in statuses.items():
            if self.usage is not None and thing in self.seen:
                self.usage.load(text, self.seen[thing].queue.name, self.seen[thing].queue.uid)

    def report(self) -> list[QueueReport]:
        """Return every known queue as of the last cycle, sorted by name, those too that need no object."""
        waiting = Counter[str]()
        if self.waiting is not None:
            waiting.update(gang.queue for gang in self.waiting.gangs)
        rows = np.array([[waiting[queue.name]] for queue in self.table.queues], np.int64).reshape(-1, 1)
        pending = sum_up(rows, self.table.parent, self.table.depth, ~self.table.leaf[:, None])[:, 0].tolist()
        found = []
        there = {} if self.tree.implicit else {queue.object: queue for queue in self.table.queues}
        there.update({thing: seen.queue for thing, seen in self.seen.items()})
        for thing in sorted({*there, *self.refused}, key=lambda thing: (thing.full_name, thing)):
            queue, problem = there.get(thing), self.tree.aside.get(thing)
            name = thing.full_name
            if problem is not None:
                # Who names a queue that is set aside waits for it; of two of one name, for the one that counts.
                lost = waiting[name] if name in self.tree.missing else 0
                found.append(QueueReport(thing, queue, {}, {}, lost, problem))
            elif name in self.table.row:
                row = self.table.row[name]
                allocated, requested = (
                    dict(zip(self.table.resources, values[row].tolist(), strict=True))
                    for values in (self.table.allocated, self.table.requested)
                )
                found.append(QueueReport(thing, queue, allocated, requested, pending[row], None))
        return found

    def _index(self, key: str, name: str | None) -> None:
        old = self._said.get(key)
        if old == name:
            return
        if old is not None:
            del self._gangs[old][key]
            if not self._gangs[old]:
                del self._gangs[old]
                self._answers.pop(old, None)
        self._said.pop(key, None)
        if name is not None:
            self._said[key] = name
            self._gangs.setdefault(name, {})[key] = None

    def _first_sight(self, event: QueueSeen) -> None:
        text = event.status.get("usage")
        if text is None:
            return
        if self.usage is None:
            self._statuses[event.queue.object] = text
        else:
            self.usage.load(text, event.queue.name, event.queue.uid)

    def _align(self) -> None:
        """History is kept for every queue that is known, set aside or not: who is put in order again goes on."""
        if self.usage is not None:
            known = {queue.name: queue.uid for queue in self.table.queues}
            known.update({one.queue.name: one.queue.uid for one in self.seen.values() if one.queue.name not in known})
            self.usage.align(known, self.table.resources)
