"""Assumptions: what was decided and is not on the server yet. Late echoes of the time before do not undo it."""

from phalanx.model.outcome import Bound, Evicted, Outcome, Result
from phalanx.model.task import State, Task, changed

_ON_NODE = frozenset({State.BINDING, State.RUNNING})


class Assumptions:
    """Knows which evictions and nominations are on their way."""

    def __init__(self) -> None:
        #: By uid: tasks that were asked to leave, as they would be if they stayed.
        self._leaving: dict[str, Task] = {}
        #: By uid of a waiting task: the node that we nominated last, or None where we took it back.
        self._nominated: dict[str, str | None] = {}

    def evict(self, task: Task, gone_at: float) -> Task:
        """Return a task that is asked to leave: its room counts as leaving, and nobody asks it twice."""
        self._leaving[task.uid] = task
        return changed(task, state=State.RELEASING, gone_at=gone_at, nominated=None)

    def leaving(self, uid: str) -> Task | None:
        """Return a task that is asked to leave as it would be if it stayed; None: it is not."""
        return self._leaving.get(uid)

    def confirm(self, task: Task | None, outcome: Outcome) -> Task | None:
        """Return a task as it is after the answer to what was asked of it; None: the answer changes nothing."""
        match outcome:
            case Evicted(uid, Result.REFUSED):
                return self._leaving.pop(uid, None)
            case Bound() if task is not None:
                return self._bound(task, outcome)
        return None

    def _bound(self, task: Task, outcome: Bound) -> Task | None:
        before = self._leaving.get(task.uid, task)
        if before.state is not State.BINDING or before.node != outcome.node or outcome.result is Result.UNKNOWN:
            return None
        if outcome.result is Result.OK:
            # Whoever has a place needs no promise of one; if it is made again under its uid, it waits like others.
            self._nominated.pop(task.uid, None)
            after = changed(before, state=State.RUNNING, started=outcome.at, nominated=None)
        else:
            after = changed(before, state=State.PENDING, node=None)
        if task.uid not in self._leaving:
            return after
        # It was asked to leave meanwhile, wherever it is.
        self._leaving[task.uid] = after
        return None

    def nominate(self, task: Task, node: str | None, groups: tuple[str, ...] = ()) -> Task:
        """Return a task with the place that is kept for it from now on."""
        self._nominated[task.uid] = node
        return changed(task, nominated=node, groups=groups)

    def seen(self, old: Task | None, task: Task) -> Task:
        """Return a task as it was seen, with what it cannot tell yet."""
        if old is None:
            return task
        if task.state is not State.PENDING:
            self._nominated.pop(task.uid, None)
        if task.uid in self._nominated:
            if self._nominated[task.uid] == task.nominated:
                del self._nominated[task.uid]
            else:
                task = changed(task, nominated=self._nominated[task.uid])
        if task.nominated is not None and task.nominated == old.nominated and not task.groups:
            # The server keeps the node alone.
            task = changed(task, groups=old.groups)
        if task.uid in self._leaving:
            if task.state in {State.PENDING, *_ON_NODE}:
                self._leaving[task.uid] = _bound(self._leaving[task.uid], task)
                return changed(self._leaving[task.uid], state=State.RELEASING, gone_at=old.gone_at, node=old.node)
            del self._leaving[task.uid]
        if old.stuck and task.state is State.RELEASING:
            return changed(task, stuck=True)
        return _bound(old, task)

    def forget(self, uid: str) -> None:
        """A task is gone."""
        self._leaving.pop(uid, None)
        self._nominated.pop(uid, None)


def _bound(old: Task, task: Task) -> Task:
    """A late echo of an unbound pod must not undo a bind: a pod that got a node keeps it for life."""
    if old.state in _ON_NODE and task.state is State.PENDING:
        return changed(task, state=old.state, node=old.node, started=old.started, groups=old.groups)
    return task
