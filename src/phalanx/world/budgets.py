"""The world's disruption budgets: whom each covers, and how many of them may leave now."""

from collections.abc import Iterable, Sequence

import numpy as np

from phalanx.model.axis import Int
from phalanx.model.budget import Budget
from phalanx.model.events import BudgetGone, BudgetSeen, Refused
from phalanx.model.running import OVERBUDGETED, UNBUDGETED
from phalanx.model.selectors import LabelSelector
from phalanx.model.task import State, Task

#: Budgets cover what is not finished.
_OVER = frozenset({State.SUCCEEDED, State.FAILED})


class Budgets:
    """Every PodDisruptionBudget with the tasks that it covers, of whichever scheduler."""

    def __init__(self) -> None:
        #: By `namespace/name`.
        self.seen: dict[str, Budget] = {}
        #: Something changed on which the columns rest.
        self.stale = False
        #: Names by namespace.
        self._inside: dict[str, dict[str, None]] = {}
        #: Unfinished tasks by budget and uid.
        self._covered: dict[str, dict[str, Task]] = {}
        #: Per task that is covered: the budgets.
        self._over: dict[str, tuple[str, ...]] = {}
        self._last: tuple[Sequence[str], Int, Int] | None = None

    def apply(self, event: BudgetSeen | BudgetGone | Refused, tasks: Iterable[Task]) -> None:
        """Take in an object. `tasks`: everybody that it could cover."""
        match event:
            case BudgetSeen(budget):
                self._set(budget, tasks)
            case Refused():
                # Nobody can tell whom it protects, so nobody of its namespace is disturbed until it is repaired.
                namespace, _, name = event.name.partition("/")
                self._set(Budget(namespace, name, LabelSelector(), allowed=0), tasks)
            case BudgetGone(name, uid):
                old = self.seen.get(name)
                if old is not None and (uid is None or old.uid in {"", uid}):
                    self._drop(old, tasks)

    def put(self, task: Task) -> None:
        """Take in a task as it is now."""
        before = self._over.get(task.uid, ())
        names = self._inside.get(task.namespace)
        if not names and not before:
            return
        now: tuple[str, ...] = ()
        if names and task.state not in _OVER:
            now = tuple(sorted(name for name in names if _covers(self.seen[name], task)))
        if before or now:
            self._cover(task, before, now)

    def drop(self, task: Task) -> None:
        """Forget a task."""
        before = self._over.get(task.uid, ())
        if before:
            self._cover(task, before, ())

    def covers(self, uid: str) -> bool:
        """Tell whether some budget speaks of this task."""
        return uid in self._over

    def columns(self, uids: Sequence[str]) -> tuple[Int, Int]:
        """Return the budget of each of these tasks, and how many more of each budget's may leave.

        Budgets are numbered by name.
        """
        last = self._last
        if last is not None and not self.stale and last[0] is uids:
            return last[1:]
        self.stale = False
        row = {name: number for number, name in enumerate(sorted(self.seen))}
        under = {uid: row[names[0]] if len(names) == 1 else OVERBUDGETED for uid, names in self._over.items()}
        budget = np.array([under.get(uid, UNBUDGETED) for uid in uids] if under else [], np.int64)
        if not under:
            budget = np.full(len(uids), UNBUDGETED)
        left = np.array([self._left(name) for name in row], np.int64)
        self._last = (uids, budget, left)
        return budget, left

    def _left(self, name: str) -> int:
        tasks = self._covered.get(name, {})
        running = sum(task.state is State.RUNNING for task in tasks.values())
        return self.seen[name].allows(running, len(tasks))

    def _set(self, budget: Budget, tasks: Iterable[Task]) -> None:
        old = self.seen.get(budget.full_name)
        if old == budget:
            return
        self.seen[budget.full_name] = budget
        self._inside.setdefault(budget.namespace, {})[budget.full_name] = None
        self.stale = True
        # A status changes with every pod that comes or goes; whom it covers does not.
        if old is None or old.selector != budget.selector:
            self._look_again(budget.namespace, tasks)

    def _drop(self, budget: Budget, tasks: Iterable[Task]) -> None:
        self._inside[budget.namespace].pop(budget.full_name)
        if not self._inside[budget.namespace]:
            del self._inside[budget.namespace]
        self.stale = True
        self._look_again(budget.namespace, tasks)
        del self.seen[budget.full_name]

    def _look_again(self, namespace: str, tasks: Iterable[Task]) -> None:
        for task in tasks:
            if task.namespace == namespace:
                self.put(task)

    def _cover(self, task: Task, before: tuple[str, ...], now: tuple[str, ...]) -> None:
        self.stale = True
        for name in before:
            if name not in now:
                del self._covered[name][task.uid]
                if not self._covered[name]:
                    del self._covered[name]
        for name in now:
            self._covered.setdefault(name, {})[task.uid] = task
        if now:
            self._over[task.uid] = now
        else:
            self._over.pop(task.uid, None)


def _covers(budget: Budget, task: Task) -> bool:
    return budget.selector is not None and budget.selector.matches(task.labels)
