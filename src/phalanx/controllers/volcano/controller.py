"""The shell: hears what changes, asks the core for the next step of each Job, carries it out. The leader alone acts."""

import asyncio
from typing import Any

from phalanx.controllers.volcano.cron_controller import CRONS, Crons
from phalanx.controllers.volcano.decide import decide
from phalanx.controllers.volcano.hands import Fenced, Hands, Undone
from phalanx.controllers.volcano.rival import Rival
from phalanx.controllers.volcano.steps import Memory, Note, Step
from phalanx.controllers.volcano.store import JOBS, KINDS, Store
from phalanx.dialects.volcano.pods import SCHEDULER
from phalanx.kube.client import Unanswered
from phalanx.kube.leader import Leader
from phalanx.kube.reflector import Reflector
from phalanx.kube.scheduler import Scheduler

#: Jobs that are looked at at a time.
WORKERS = 32
#: Steps of one Job in a row, before others have their turn.
_STEPS = 8
_PAUSE_MAX = 60.0
_LOOK, _TICK = 0.25, 0.05


class Controller:
    """One controller of Jobs, in the process of a scheduler: with its lease, its events and its fence."""

    def __init__(self, host: Scheduler) -> None:
        self._host, self._clock, self._log = host, host.clock, host.log
        self.store = Store(self._changed)
        self.rival = Rival(host.client, host.clock, host.log, self._begin)
        self.hands = Hands(host.client, self.store, self.may_act)
        self.crons = Crons(self.store, self.hands, host.clock, self.may_act, self._tell)
        self._memory: dict[str, Memory] = {}
        #: Jobs to be looked at, and those that a worker has in hand.
        self._dirty: dict[str, None] = {}
        self._busy: set[str] = set()
        self._there = asyncio.Event()
        self._wake_at: dict[str, float] = {}
        #: Until when a Job is not looked at again.
        self._rests: dict[str, float] = {}
        #: How often in a row the writes of a Job failed, and what was said of it.
        self._failed: dict[str, int] = {}
        self._said: dict[str, str] = {}
        self._reflectors = [
            Reflector(host.client, kind, self.store, host.log, lambda: None, host.standing) for kind in KINDS
        ]
        self._reflectors.append(Reflector(host.client, CRONS, self.crons, host.log, lambda: None, host.standing))

    def may_act(self) -> bool:
        """The fence: asked before every request."""
        return self.rival.gone and self._host.may_write()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.rival.run())
            group.create_task(self._reflect(group))
            group.create_task(self._wake())
            group.create_task(self.crons.run())
            if self._host.leader is not None:
                group.create_task(self._follow(self._host.leader))
            for _ in range(WORKERS):
                group.create_task(self._work())

    async def _reflect(self, group: asyncio.TaskGroup) -> None:
        """Watch Jobs; once the cluster has such, all else. Jobs are listed first: see `KINDS`."""
        first, *rest = self._reflectors
        group.create_task(first.run())
        while not first.served:  # noqa: ASYNC110 (a definition may be installed at any time, and is looked for)
            await asyncio.sleep(_LOOK)
        for one in rest:
            group.create_task(one.run())

    async def _follow(self, leader: Leader) -> None:
        """On winning the lease, list everything anew: somebody else has written meanwhile."""
        while True:
            await leader.won.wait()
            for one in self._reflectors:
                if self.store.ready:
                    one.relist()
            self._begin()
            await leader.lost.wait()

    def _changed(self, uid: str) -> None:
        self._dirty[uid] = None
        self._there.set()
        self.crons.job_changed(uid)

    def _begin(self) -> None:
        """Look at every Job as if for the first time."""
        self._memory.clear()
        self.crons.begin()
        for uid in self.store.jobs:
            self._changed(uid)

    async def _wake(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            now = self._clock.now()
            for uid in [uid for uid, at in self._wake_at.items() if at <= now]:
                del self._wake_at[uid]
                self._changed(uid)
            if not self.may_act():
                # Whoever acts now answers for them.
                self.store.gone_pods.clear()
            elif self._dirty and self.store.ready:
                self._there.set()

    async def _work(self) -> None:
        while True:
            await self._there.wait()
            now = self._clock.monotonic()
            uid = next((one for one in self._dirty if one not in self._busy and self._rests.get(one, 0.0) <= now), None)
            if uid is None or not (self.store.ready and self.may_act()):
                self._there.clear()
                continue
            del self._dirty[uid]
            self._busy.add(uid)
            try:
                await self._look_at(uid)
            finally:
                self._busy.discard(uid)

    async def _look_at(self, uid: str) -> None:
        sure = False
        for _ in range(_STEPS):
            view = self.store.view(uid, self._lets_in())
            if view is None:
                for kept in (self._memory, self._wake_at, self._failed, self._said, self._rests):
                    kept.pop(uid, None)
                return
            began = self._clock.monotonic()
            step = decide(view, self._memory.get(uid, Memory()), self._clock.now(), sure=sure)
            # Thousands of pods tell their news one by one: a large Job is looked at for a fifth of the time at most.
            ended = self._clock.monotonic()
            self._rests[uid] = ended + 4 * (ended - began)
            try:
                if step.look:
                    await self.hands.read_pods(uid, view.document)
                    sure = True
                    continue
                await self.hands.carry_out(uid, view.document, step.writes)
                if step.status is not None and not await self.hands.write_status(view.document, step.status):
                    continue
            except Fenced:
                self._changed(uid)
                return
            except (Undone, Unanswered) as trouble:
                self._put_off(uid, view.document, trouble)
                return
            self._done(uid, view.document, step)
            self.store.looked(uid, view.gone, step.keep)
            if step.idle:
                return
        self._changed(uid)

    def _lets_in(self) -> frozenset[str]:
        """Return our scheduler names, unless the groups of Volcano's own are ours: those are let in by their status."""
        names = frozenset(self._host.feed.schedulers)
        return frozenset() if SCHEDULER in names else names

    def _done(self, uid: str, document: Any, step: Step) -> None:
        self._memory[uid] = step.memory
        self._failed.pop(uid, None)
        if step.wake is not None:
            self._wake_at[uid] = step.wake
        else:
            self._wake_at.pop(uid, None)
        for note in step.notes:
            self._tell(document, note)

    def _put_off(self, uid: str, document: Any, trouble: Undone | Unanswered) -> None:
        """Try again after a pause that grows; what is wrong is said when it is something new."""
        times = self._failed[uid] = self._failed.get(uid, 0) + 1
        wait = trouble.wait if isinstance(trouble, Undone) else 0.0
        self._wake_at[uid] = self._clock.now() + max(wait, min(0.1 * 2**times, _PAUSE_MAX))
        text = str(trouble)
        if isinstance(trouble, Undone) and times > 1 and self._said.get(uid) != text:
            self._said[uid] = text
            self._tell(document, Note("FailedCreate", text, True))
            meta = document["metadata"]
            self._log.say("job-put-off", job=f"{meta['namespace']}/{meta['name']}", why=text)

    def _tell(self, document: Any, note: Note, of: str = JOBS.kind) -> None:
        meta = document["metadata"]
        regarding = {
            "kind": of, "apiVersion": JOBS.api_version, "name": meta["name"], "namespace": meta["namespace"],
            "uid": meta["uid"],
        }  # fmt: skip
        kind = "Warning" if note.warning else "Normal"
        self._host.telling.events.about(regarding, kind, note.reason, "Controlling", note.text)
