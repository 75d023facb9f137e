"""One reservation pod for each device that is shared: made before the first bind, deleted after the last pod has ended.

What is there is compared with what should be, again and again, and names are worked out from node and group. So it
does not matter when a scheduler ends: the next one uses what it finds, makes what is missing and takes away the rest.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import msgspec

from phalanx.kube.client import Client, Reply, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import PODS
from phalanx.kube.log import Log
from phalanx.kube.reserving.pods import GRACE, Reserved, Reserving, manifest, name_of
from phalanx.model.task import State
from phalanx.world.reservations import Place
from phalanx.world.views import task_of
from phalanx.world.world import World

#: A kubelet says at once whether it takes a pod. Where nothing is heard in so many seconds there is none.
SILENT = 10.0
#: So long a pod is waited for that should be gone by now; then it is deleted whatever its kubelet says.
STUCK = 15.0
#: What we did not make ourselves stays so long after we begin to lead: binds of who led before may still arrive.
ORPHANS = 10.0
#: What is missing is made again so often, at most; and everything is compared so often though nothing was heard.
AGAIN, PERIOD = 5.0, 1.0


class Keeper:
    """Makes reservation pods and takes them away."""

    def __init__(
        self, client: Client, feed: Feed, world: World, clock: Clock, log: Log, fence: Callable[[], bool],
        wish: Reserving,
    ) -> None:  # fmt: skip
        self._client = client
        self._feed = feed
        self._world = world
        self._clock = clock
        self._log = log
        self._fence = fence
        self.wish = wish
        #: The uid of the pod that reserves a device; set when that changes; for whom one is being made.
        self._at: dict[Place, str] = {}
        self._stirred: dict[Place, asyncio.Event] = {}
        self._making: set[Place] = set()
        feed.on_reservation = self._stir
        #: By uid: those that we asked to go, since when each is on its way out, and since when we know each.
        self._leaving: set[str] = set()
        self._left_at: dict[str, float] = {}
        self._since: dict[str, float] = {}
        self._again: dict[Place, float] = {}
        #: Called with a uid and a sentence when a pod may have lost its GPU. By uid: which reservation it was told of.
        self.tell: Callable[[str, str], None] = lambda _, __: None
        self._told: dict[str, str] = {}
        #: Devices that were shared in our sight.
        self._ours: set[Place] = set()
        self._led_from = clock.monotonic()
        self._looked = (-PERIOD, -1)
        self._jobs: asyncio.Queue[Coroutine[Any, Any, object]] = asyncio.Queue()

    def lead(self) -> None:
        """Take note that we lead from now on."""
        self._led_from = self._clock.monotonic()
        self._ours.clear()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                group.create_task(self._jobs.get_nowait() if not self._jobs.empty() else await self._jobs.get())

    async def reserved(self, place: Place, until: float, *, named: bool) -> Reserved | str:
        """Return the pod that reserves a device once the kubelet has taken it (and, `named`, it has said which one).

        Return a sentence when that cannot be, or was not so in time.
        """
        refused: set[str] = set()
        while True:
            one = self.of(place)
            if one is None and refused:
                return f"its GPU on {place.node} could not be reserved: {min(refused)}"
            why = await self._make(place) if one is None else None
            if why is not None:
                return f"its GPU on {place.node} could not be reserved: {why}"
            if one is not None and one.over:
                # One that was over before we knew it says nothing of today.
                refused |= {one.why or "the reservation pod has ended"} if one.uid in self._since else set()
                await self._delete(one)
            elif one is not None and self._stands(one) and (one.ids is not None or not named):
                strangers = list(self._strangers(one))
                if strangers:
                    return f"{one.name} keeps another GPU on {place.node} than the one that pods there share"
                return one
            if self._clock.monotonic() >= until:
                which = f"reservation pod {one.namespace}/{one.name}" if one else "its reservation pod"
                return f"{which} on {place.node} did not start in time: {one.why if one and one.why else 'no reason'}"
            await self._news(place, until)

    def of(self, place: Place) -> Reserved | None:
        """Return the pod that reserves a device."""
        return self._feed.reservations.get(self._at.get(place, ""))

    def sweep(self) -> None:
        """Compare what is reserved with what is shared, if anything was heard of either; never waits."""
        now, changes = self._clock.monotonic(), self._world.reservations.changes
        if self._looked[1] == changes and now - self._looked[0] < PERIOD:
            return
        self._looked = (now, changes)
        shared = {place for place, uids in self._world.reservations.shared.items() if self._any(uids, unbound=True)}
        self._ours |= shared
        there: dict[Place, Reserved] = {}
        for one in self._all():
            there[one.place] = one
            if one.leaves and now - self._left_at.setdefault(one.uid, now) > GRACE + STUCK:
                self._left_at[one.uid] = now
                self._do(self._delete(one, force=True))
            elif one.uid in self._leaving or one.leaves:
                continue
            elif one.over or (one.place not in shared and self._may_go(one.place, now)):
                self._do(self._delete(one))
        for place in shared - there.keys():
            if self._any(self._world.reservations.shared[place]) and now >= self._again.get(place, 0.0):
                self._again[place] = now + AGAIN
                self._do(self._make_again(place))
        for one in there.values():
            self._tell_strangers(one)
        self._forget(shared)

    def _strangers(self, one: Reserved) -> Iterator[str]:
        """Yield the uids of those who share a device and were told another one than its reservation has now."""
        for uid in self._world.reservations.shared.get(one.place, ()) if one.ids else ():
            task, said = task_of(self._world, uid), self._feed.gpu_ids.get(uid, "").split(",")
            known = dict(zip(task.groups, said, strict=False)) if task is not None and task.ours else {}
            if known.get(one.place.group, "") not in {"", *(one.ids or ())}:
                yield uid

    def _tell_strangers(self, one: Reserved) -> None:
        for uid in self._strangers(one):
            if self._told.get(uid) != one.uid:
                self._told[uid] = one.uid
                now = ",".join(one.ids or ())
                self._log.say("gpu-changed", node=one.place.node, pod=uid, reserved=now, told=self._feed.gpu_ids[uid])
                self.tell(uid, f"its GPU {self._feed.gpu_ids[uid]} is not kept for it any more, but {now}")

    def _may_go(self, place: Place, now: float) -> bool:
        return place in self._ours or now >= self._led_from + ORPHANS

    def _forget(self, shared: set[Place]) -> None:
        known = self._feed.reservations.keys()
        self._leaving &= known
        self._left_at = {uid: since for uid, since in self._left_at.items() if uid in known}
        self._since = {uid: since for uid, since in self._since.items() if uid in known}
        self._told = {uid: told for uid, told in self._told.items() if uid in self._feed.gpu_ids}
        self._again = {place: until for place, until in self._again.items() if place in shared}
        self._ours = {place for place in self._ours if place in shared or place in self._at}
        self._stirred = {place: event for place, event in self._stirred.items() if place in shared}

    def _all(self) -> Iterator[Reserved]:
        for one in self._feed.reservations.values():
            if self._is_ours(one):
                yield one

    def _is_ours(self, one: Reserved) -> bool:
        return (one.installation, one.namespace) == (self.wish.name, self.wish.namespace)

    def _any(self, uids: dict[str, None], *, unbound: bool = False) -> bool:
        """Tell whether one of these is a task of ours that is on its node, or (unbound) on its way there."""
        tasks = (task_of(self._world, uid) for uid in uids)
        return any(task is not None and task.ours and (unbound or task.state is State.RUNNING) for task in tasks)

    def _stands(self, one: Reserved) -> bool:
        """Tell whether the device is reserved: the kubelet has taken the pod, or no kubelet is there to do so."""
        if one.leaves or one.uid in self._leaving:
            return False
        now = self._clock.monotonic()
        return one.admitted or now - self._since.setdefault(one.uid, now) >= SILENT

    def _do(self, job: Coroutine[Any, Any, object]) -> None:
        self._jobs.put_nowait(job)

    def look_again(self) -> None:
        """Compare again the next time, whatever was heard."""
        self._looked = (-PERIOD, -1)

    def _stir(self, one: Reserved) -> None:
        """A reservation pod changed: whoever waits for it looks again."""
        if not self._is_ours(one):
            return
        self.look_again()
        if one.uid in self._feed.reservations:
            self._at[one.place] = one.uid
        elif self._at.get(one.place) == one.uid:
            del self._at[one.place]
        if one.place in self._stirred:
            self._stirred.pop(one.place).set()

    async def _news(self, place: Place, until: float) -> None:
        stirred = self._stirred.setdefault(place, asyncio.Event())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(min(until - self._clock.monotonic(), 1.0), 0.05)):
                await stirred.wait()

    async def _make_again(self, place: Place) -> None:
        """Somebody took a reservation away while the device is shared."""
        why = await self._make(place)
        self._log.say("reservation-made-again", node=place.node, group=place.group, failed=why)

    async def _make(self, place: Place) -> str | None:
        """Make a reservation pod, unless somebody is at it; return why it cannot be made."""
        if not self._fence() or place in self._making:
            return None
        self._making.add(place)
        try:
            return await self._made(place)
        finally:
            self._making.discard(place)

    async def _made(self, place: Place) -> str | None:
        reply = await self._ask("POST", self.wish.path, msgspec.json.encode(manifest(place, self.wish)))
        if reply is None or reply.status == 429 or reply.status >= 500:
            return None
        if reply.status == 409:
            # It is there already, from before a crash or from an answer that was lost.
            reply = await self._ask("GET", f"{self.wish.path}/{name_of(place, self.wish)}")
            if reply is None or not reply.ok:
                return None
            found = self._take(reply)
            return None if found is not None and found.place == place else "another pod has its name"
        if not reply.ok:
            return reply.message
        made = self._take(reply)
        if made is not None:
            self._since.setdefault(made.uid, self._clock.monotonic())
            self._log.say("reserved", node=place.node, group=place.group, pod=made.name)
        return None

    async def _delete(self, one: Reserved, *, force: bool = False) -> None:
        """Delete a reservation pod, unless it changed since we looked at it."""
        if not self._fence() or (one.uid in self._leaving and not force):
            return
        self._leaving.add(one.uid)
        conditions = {"uid": one.uid} if force else {"uid": one.uid, "resourceVersion": one.version}
        body = {"preconditions": conditions} | ({"gracePeriodSeconds": 0} if force else {})
        path = f"/api/v1/namespaces/{one.namespace}/pods/{one.name}"
        reply = await self._ask("DELETE", path, msgspec.json.encode(body))
        if reply is not None and reply.status == 404:
            gone = {"metadata": {"name": one.name, "namespace": one.namespace, "uid": one.uid}}
            self._feed.gone(PODS, msgspec.Raw(msgspec.json.encode(gone)))
        elif reply is None or not reply.ok:
            self._leaving.discard(one.uid)
            if reply is not None and reply.status == 403:
                self._log.say("reservation-stays", pod=one.name, why=reply.message)
        else:
            self._log.say("reservation-removed", node=one.place.node, group=one.place.group, pod=one.name)

    def _take(self, reply: Reply) -> Reserved | None:
        """Take in a pod from an answer, before the watch tells of it."""
        return self._feed.reservations.get(self._feed.put(PODS, msgspec.Raw(reply.body)))

    async def _ask(self, method: str, path: str, body: bytes | None = None) -> Reply | None:
        try:
            return await self._client.request(method, path, body=body)
        except Unanswered:
            return None
