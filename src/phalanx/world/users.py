"""Users: what each user of a queue has now, and what it used of the cluster, fading. Who a user is, the policy says.

A row of amounts per gang is written afresh when the gang changes; sums are formed from all rows, as in `queue_books`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from phalanx.model.axis import SUM_MAX, Axis, Int
from phalanx.model.charges import Charges
from phalanx.model.snapshot import NodeTable
from phalanx.model.task import State, Task
from phalanx.model.usage import ByUser, UserTable
from phalanx.world.gang_rows import UserKey
from phalanx.world.gangs import gang_key
from phalanx.world.queue_rows import group_sums, total_of
from phalanx.world.usage import Usage

NOBODY: Mapping[UserKey, int] = {}
#: Who has nothing, waits for nothing and used less of the cluster than this is forgotten.
_TRIFLE = 1e-4
_FIRST_CAPACITY = 64


class Users:
    """The books of users. Without a policy that looks at them nothing is kept."""

    def __init__(self) -> None:
        self._wish: ByUser | None = None
        self._charges = Charges()
        self._usage: Usage | None = None
        self._clear(())

    def remember(self, wish: ByUser | None, charges: Charges) -> bool:
        """Say whose use is remembered; tell whether every gang must be put again. Another wish starts anew."""
        if (wish, charges) == (self._wish, self._charges):
            return False
        self._wish, self._charges = wish, charges
        self._clear(wish.resources if wish else ())
        self._usage = Usage(wish.memory) if wish else None
        return wish is not None

    def _clear(self, resources: tuple[str, ...]) -> None:
        nobody = np.zeros((0, len(resources)), np.int64)
        self._table = UserTable((), {}, resources, np.zeros(len(resources), np.int64), nobody, nobody.astype(float))
        #: Whose each gang is, how many gangs each user has, and everybody's number: the row of who has one.
        self._of: dict[str, UserKey] = {}
        self._gangs = Counter[UserKey]()
        self._number: dict[UserKey, int] = {}
        self._slot: dict[str, int] = {}
        self._free: list[int] = []
        #: [slot]: the number of the gang's user, and [slot, resource] what it has.
        self._user: Int = np.zeros(_FIRST_CAPACITY, np.int64)
        self._amounts: Int = np.zeros((_FIRST_CAPACITY, len(resources)), np.int64)

    def put(self, key: str, queue: str | None, members: Sequence[Task]) -> UserKey | None:
        """Write one gang into the books, with its unfinished members (none: it is gone); return whose it is.

        A gang is its oldest member's user's.
        """
        if self._wish is None:
            return None
        old = self._of.pop(key, None)
        if old is not None:
            self._gangs[old] -= 1
        if queue is None or not members:
            slot = self._slot.pop(key, None)
            if slot is not None:
                self._amounts[slot] = 0
                self._free.append(slot)
            return None
        first = min(members, key=lambda task: (task.created, task.name))
        user = self._of[key] = (queue, self._wish.name(first))
        self._gangs[user] += 1
        slot = self._slot[key] if key in self._slot else self._take_slot()
        self._slot[key] = slot
        self._user[slot] = self._number.setdefault(user, len(self._number))
        here = (task for task in members if task.charged and task.state is not State.RELEASING)
        self._amounts[slot] = self._sum(here)
        return user

    def compile(self, now: float, axis: Axis, nodes: NodeTable) -> UserTable | None:
        """Return the table as of now. Every gang that changed must have been put before."""
        if self._usage is None:
            return None
        if len(self._number) != len(self._table.users):
            self._align(self._usage)
        table, columns = self._table, [axis.index.get(name) for name in self._table.resources]
        sums = total_of(nodes.allocatable[nodes.ready])
        total = np.array([0 if column is None else sums[column] for column in columns], np.int64)
        has = group_sums(self._user, self._amounts, max(len(table.users), 1))[: len(table.users)]
        used = self._usage.sample(now, _names(table.users), has, total)
        self._table = replace(table, total=total, has=has, used=used)
        for array in (total, has, used):
            array.flags.writeable = False
        return self._table

    def assume(self, tasks: Iterable[Task]) -> None:
        """Note that these tasks run from now on: the next sample counts them since the last one."""
        table = self._table
        if self._usage is None:
            return
        using = table.has.copy()
        for task in tasks:
            user = self._of.get(gang_key(task))
            if user is not None and user in table.row:
                using[table.row[user]] += self._sum([task])
        self._usage.correct(_names(table.users), np.minimum(using, SUM_MAX))

    def _align(self, usage: Usage) -> None:
        """Give a row to everybody who has gangs, or used more than a trifle; the others are forgotten."""
        old = self._table
        self._gangs = Counter({user: count for user, count in self._gangs.items() if count > 0})
        lasting = [
            user for user, parts in zip(old.users, old.used.tolist(), strict=True) if max(parts, default=0) > _TRIFLE
        ]
        users = tuple(sorted({*self._gangs, *lasting}))
        row = {user: at for at, user in enumerate(users)}
        self._user = np.array([row.get(user, 0) for user in self._number], np.int64)[self._user]
        self._number = dict(row)
        usage.align(dict.fromkeys(_names(users), ""), old.resources)
        self._table = UserTable(users, row, old.resources, old.total, old.has, old.used)

    def _sum(self, tasks: Iterable[Task]) -> list[int]:
        sums = dict.fromkeys(self._table.resources, 0)
        for task in tasks:
            for name, amount in self._charges.charged(task.shape.charged):
                if name in sums:
                    sums[name] += amount
        return [min(amount, SUM_MAX) for amount in sums.values()]

    def _take_slot(self) -> int:
        if self._free:
            return self._free.pop()
        slot = len(self._slot)
        if slot == len(self._user):
            self._user = np.concatenate([self._user, np.zeros_like(self._user)])
            self._amounts = np.concatenate([self._amounts, np.zeros_like(self._amounts)])
        return slot


def _names(users: Iterable[UserKey]) -> list[str]:
    """Return everybody as one text. Names of queues have no line breaks."""
    return ["\n".join(user) for user in users]
