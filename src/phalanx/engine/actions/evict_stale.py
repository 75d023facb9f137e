"""Evict stale gangs: one that lost members and cannot be made whole gives back what it holds for nothing."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.eviction.budgets import affords_all
from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.model.duration import Seconds

_MINUTE = Seconds(60.0)


@dataclass(frozen=True, slots=True)
class EvictStale:
    """Evict what is left of a gang that lost members and has run below its minimum for longer than `grace`.

    A gang whose minimum was raised lost no member. Missing members go before all others (see the plugin `gang`), so the
    gang is made whole first wherever that is possible. Members that finished their work count as if they were there.
    A pod whose device is no longer healthy for so long is evicted alone, and its gang has lost a member.
    """

    grace: Seconds = _MINUTE
    name: ClassVar[str] = "evict_stale"
    reads_running: ClassVar[bool] = True
    evicts: ClassVar[bool] = True

    def run(self, session: Session, policy: Policy) -> None:
        """Look at every gang that is broken."""
        del policy
        self._off_lost_devices(session)
        snapshot, running = session.snapshot, session.snapshot.running
        stale = np.flatnonzero(snapshot.now - running.broken_since >= self.grace)
        if not len(stale):
            return
        placed = np.bincount(snapshot.tasks.gang[session.place >= 0], minlength=len(snapshot.gangs))
        waiting = {gang.key: row for row, gang in enumerate(snapshot.gangs.gangs)}
        # A loop over the gangs that are broken, which are few.
        for row in stale.tolist():
            waits = waiting.get(running.gangs[row].key)
            there = int(running.count[row]) + (0 if waits is None else int(placed[waits]))
            if there >= running.minimum[row]:
                continue
            tasks = np.arange(running.first[row], running.first[row] + running.count[row])
            left = tasks[session.evicted[tasks] == 0]
            if len(left) and affords_all(session, left):
                lost = f"{there} of the {running.minimum[row]} that it needs are there"
                session.evict_for(left, self.name, None, f"its gang is broken: {lost}")
                if waits is not None and len(promised := session.promised_tasks(waits)):
                    session.release(promised, "its gang is broken")

    def _off_lost_devices(self, session: Session) -> None:
        """Evict whose device is lost, where a controller will make him again."""
        running, now = session.snapshot.running, session.snapshot.now
        late = {uid for uid, since in session.snapshot.lost_devices.items() if now - since >= self.grace}
        if not late:
            return
        rows = np.array([row for row, uid in enumerate(running.uids) if uid in late], np.int64)
        rows = rows[running.movable[rows] & (session.evicted[rows] == 0)]
        # One by one: a disruption budget that forbids one need not forbid another.
        for row in rows.tolist():
            one = np.array([row])
            if affords_all(session, one):
                session.evict_for(one, self.name, None, "its device is no longer healthy")
