"""The shell around CronJobs: hears of them and of their Jobs, and carries out what `cron` decides."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from phalanx.controllers.volcano.cron import CronStep, decide, owner_of
from phalanx.controllers.volcano.hands import Fenced, Hands, Undone, sound
from phalanx.controllers.volcano.steps import Note
from phalanx.controllers.volcano.store import JOBS, Store
from phalanx.kube.client import Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.kinds import Kind

CRONS = Kind("CronJob", JOBS.api_version, f"/apis/{JOBS.api_version}/cronjobs", optional=True)
#: Nobody notices that a Job was made so much later.
TICK = 0.5
_AGAIN = 5.0

Object = Mapping[str, Any]


class Crons:
    """All CronJobs: what a reflector fills, and what acts on them."""

    def __init__(
        self, store: Store, hands: Hands, clock: Clock, may_act: Callable[[], bool],
        tell: Callable[[Object, Note, str], None],
    ) -> None:  # fmt: skip
        self._store, self._hands, self._clock, self._may_act, self._tell = store, hands, clock, may_act, tell
        self._documents: dict[str, Object] = {}
        self._versions: dict[str, int] = {}
        self._dirty: set[str] = set()
        self._wake_at: dict[str, float] = {}
        #: By uid: what was said last, so that it is not said again.
        self._said: dict[str, str] = {}
        self._of_job: dict[str, str] = {}
        self._synced = False

    def job_changed(self, uid: str) -> None:
        """Take note that something has changed about a Job."""
        job = self._store.jobs.get(uid)
        cron = owner_of(job) if job is not None else self._of_job.pop(uid, None)
        if cron is not None:
            self._dirty.add(cron)
            if job is not None:
                self._of_job[uid] = cron

    def begin(self) -> None:
        """Look at all of them anew."""
        self._dirty.update(self._documents)

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await asyncio.sleep(TICK)
            if not (self._synced and self._store.ready and self._may_act()):
                continue
            now = self._clock.now()
            due = {uid for uid, at in self._wake_at.items() if at <= now}
            for uid in sorted(self._dirty | due):
                self._dirty.discard(uid)
                self._wake_at.pop(uid, None)
                if uid in self._documents:
                    await self._look_at(uid)

    async def _look_at(self, uid: str) -> None:
        document = self._documents[uid]
        own = [job for job in self._store.jobs.values() if owner_of(job) == uid]
        step = decide(document, own, self._clock.now())
        try:
            await self._carry_out(document, step)
        except Fenced:
            self._dirty.add(uid)
            return
        except (Undone, Unanswered) as trouble:
            self._wake_at[uid] = self._clock.now() + _AGAIN
            step = CronStep(notes=(Note("FailedCreate", str(trouble), True),), wake=self._wake_at[uid])
        for note in step.notes:
            if self._said.get(uid) != note.text:
                self._tell(document, note, CRONS.kind)
            self._said[uid] = note.text
        if step.delete or step.create or step.status:
            self._dirty.add(uid)
        elif step.wake is not None:
            self._wake_at[uid] = step.wake

    async def _carry_out(self, document: Object, step: CronStep) -> None:
        meta = document["metadata"]
        jobs = f"/apis/{JOBS.api_version}/namespaces/{meta['namespace']}/jobs"
        for job in step.delete:
            body = {"preconditions": {"uid": job["metadata"]["uid"]}, "propagationPolicy": "Background"}
            path = f"{jobs}/{job['metadata']['name']}"
            reply = await self._hands.ask("DELETE", path, msgspec.json.encode(body))
            if reply.status not in {404, 409}:
                sound(reply)
            await self._hands.read_job(job)
        if step.create is not None:
            reply = await self._hands.ask("POST", jobs, msgspec.json.encode(step.create))
            if reply.status == 409:
                # Made before a crash, or by somebody else under the name that it must have.
                reply = await self._hands.ask("GET", f"{jobs}/{step.create['metadata']['name']}")
                if reply.ok and owner_of(reply.json()) != meta["uid"]:
                    raise Undone(f"job {step.create['metadata']['name']} is there already and is not this CronJob's")
            self._store.put(JOBS, msgspec.Raw(sound(reply)))
        if step.status is not None:
            path = f"/apis/{CRONS.api_version}/namespaces/{meta['namespace']}/cronjobs/{meta['name']}"
            body_ = msgspec.json.encode({**document, "status": step.status})
            reply = await self._hands.ask("PUT", f"{path}/status", body_)
            if reply.status in {404, 409}:
                reply = await self._hands.ask("GET", path)
            if reply.ok:
                self.put(CRONS, msgspec.Raw(reply.body))

    def put(self, kind: Kind, raw: msgspec.Raw, *, listed: bool = False, api_version: str | None = None) -> str:
        """Take a CronJob as it is now."""
        del kind, listed, api_version
        document = msgspec.json.decode(raw)
        uid, version = str(document["metadata"]["uid"]), int(document["metadata"]["resourceVersion"])
        if version >= self._versions.get(uid, 0):
            self._documents[uid], self._versions[uid] = document, version
            self._dirty.add(uid)
        return uid

    def gone(self, kind: Kind, raw: msgspec.Raw) -> None:
        """Take a deletion."""
        del kind
        self._forget(str(msgspec.json.decode(raw)["metadata"]["uid"]))

    def replaced(self, kind: Kind, seen: set[str]) -> None:
        """A list is complete."""
        del kind
        for uid in self._documents.keys() - seen:
            self._forget(uid)
        self._synced = True

    def unsync(self, kind: Kind) -> None:
        """Nothing is done until they were listed again."""
        del kind
        self._synced = False

    def forget_versions(self, *kinds: Kind) -> None:
        """Nothing here depends on how an object was read."""

    def heard(self, kind: Kind) -> None:
        """Nobody asks when."""

    def _forget(self, uid: str) -> None:
        for kept in (self._documents, self._versions, self._wake_at, self._said):
            kept.pop(uid, None)
        self._dirty.discard(uid)
