"""Leader election by a Lease, understood by client-go's electors: of several replicas one writes, the others watch.

A lease alone does not stop a leader that was paused and wakes up late. So `holds` is a fence by the local monotonic
clock, asked before every write: it closes `renew` seconds after the last renewal was *sent*, and nobody else takes the
lease earlier than `lease` seconds after it was *seen*. The difference is what a write may need to arrive.
"""

import asyncio
import math
import random
from contextlib import suppress
from typing import Any

import msgspec

from phalanx.kube.client import Client, Reply, Unanswered
from phalanx.kube.clock import Clock, micro_stamp
from phalanx.kube.fault import Fault, Trouble, refused, silent
from phalanx.kube.log import Log
from phalanx.kube.standing import Standing

_CLOSED = -math.inf
#: Tries to hand the lease back: one is not enough when a renewal that nobody waits for any more lands in between.
_RELEASE_TRIES = 3
#: Refusals that are part of the game: there is no lease yet, or somebody else was faster.
_TURNS = {404, 409}


class Leader:
    """One candidate. `won` and `lost` are set in turns; a candidate starts as one that has lost."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        lease: float = 15.0,
        renew: float = 10.0,
        retry: float = 2.0,
        *,
        clock: Clock | None = None,
        log: Log | None = None,
        standing: Standing | None = None,
    ) -> None:
        if not lease > renew > retry > 0:
            raise ValueError(
                f"lease {lease:g} s, renew {renew:g} s, retry {retry:g} s: each must be shorter than the last"
            )
        self.name = f"{namespace}/{name}"
        self._who = f"the lease {self.name}"
        self.identity = identity
        self.won = asyncio.Event()
        self.lost = asyncio.Event()
        self.lost.set()
        self._client = client
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._metadata = {"name": name, "namespace": namespace}
        self._lease, self._renew, self._retry = lease, renew, retry
        self._clock = clock or Clock()
        self._log = log or Log()
        self._standing = standing or Standing(self._log, self._clock)
        self._turn = asyncio.Lock()
        self._released = False
        #: The fence: nothing is written from this moment on.
        self._until = _CLOSED
        #: The Lease as the server last showed it, and when its spec last changed before our eyes.
        self._seen: dict[str, Any] | None = None
        self._changed_at = _CLOSED

    @property
    def heard(self) -> bool:
        """Tell whether the server ever showed us the Lease."""
        return self._changed_at > _CLOSED

    def holds(self) -> bool:
        """Tell whether a write may be sent now."""
        return self._clock.monotonic() < self._until

    async def run(self) -> None:
        """Compete for the lease and keep it, until cancelled or released."""
        while not self._released:
            await self.attempt()
            await asyncio.sleep(self._pause())

    async def attempt(self) -> bool:
        """Acquire or renew the lease once; return whether we lead."""
        async with self._turn:
            # Whoever was away for too long starts over, even when nobody else took the lease: what it remembers of
            # the cluster is as old as its last renewal.
            self._announce()
            with suppress(Unanswered):
                if not self._released:
                    await self._acquire_or_renew()
            self._announce()
            return self.won.is_set()

    async def release(self) -> None:
        """Hand the lease over at once instead of letting it run out; nothing may be written afterwards."""
        self._until = _CLOSED
        self._released = True
        async with self._turn:
            self._until = _CLOSED
            self._announce()
            with suppress(Unanswered):
                for _ in range(_RELEASE_TRIES):
                    reply = await self._look()
                    if not reply.ok or self._holder() != self.identity or (await self._write(self._empty())).ok:
                        return

    async def _acquire_or_renew(self) -> None:
        # A leader writes over what it wrote last without looking: one request a round. A conflict sends it to look.
        if self.holds() and (await self._take()).ok:
            return
        reply = await self._look()
        if reply.ok and self._holder() != self.identity:
            # Somebody else wrote it, and may have written more: whatever we were, we are not any more.
            self._until = _CLOSED
            self._announce()
            if self._is_alive():
                return
        if reply.ok or reply.status == 404:
            await self._take()

    async def _look(self) -> Reply:
        reply = await self._ask("GET", f"{self._path}/{self._metadata['name']}")
        if reply.ok:
            self._see(reply)
        elif reply.status == 404:
            self._seen = None
        return reply

    async def _take(self) -> Reply:
        """Write ourselves as the holder. The fence moves only when the server said yes, and counts from the sending."""
        sent = self._clock.monotonic()
        reply = await self._write(self._ours())
        if reply.ok and not self._released:
            self._until = sent + self._renew
        return reply

    async def _write(self, spec: dict[str, Any]) -> Reply:
        head = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": self._metadata}
        # With the resourceVersion that we saw, so that of two who saw the same only one writes.
        body = msgspec.json.encode({**(self._seen or head), "spec": spec})
        if self._seen is None:
            reply = await self._ask("POST", self._path, body)
            if reply.status == 404 and await self._make_namespace():
                reply = await self._ask("POST", self._path, body)
        else:
            reply = await self._ask("PUT", f"{self._path}/{self._metadata['name']}", body)
        if reply.ok:
            self._see(reply)
        return reply

    async def _make_namespace(self) -> bool:
        """Make the namespace of the lease: on a fresh cluster there is none, and an administrator may."""
        name = self._metadata["namespace"]
        # As the one that is installed: whoever installs Phalanx later finds nothing to change.
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        reply = await self._ask("POST", "/api/v1/namespaces", msgspec.json.encode(body))
        if reply.ok:
            self._log.say("namespace-made", namespace=name, why="the lease lives in it")
        elif reply.status == 403:
            why = f"the namespace {name} of the lease does not exist, and we may not make it"
            self._standing.bad(self._who, Fault(Trouble.NAMESPACE, why, f"kubectl create namespace {name}"))
        return reply.ok or reply.status == 409

    async def _ask(self, method: str, path: str, body: bytes | None = None) -> Reply:
        # Half of what a renewal may take, so that one lost answer leaves time for another try.
        patience = self._renew / 2
        left = self._until - self._clock.monotonic()
        try:
            reply = await self._client.request(
                method, path, body=body, timeout=min(patience, left) if left > 0 else patience
            )
        except Unanswered as silence:
            self._standing.bad(self._who, silent(silence))
            raise
        if reply.ok:
            self._standing.good(self._who)
        elif reply.status not in _TURNS:
            self._standing.bad(self._who, refused(reply))
        return reply

    def _see(self, reply: Reply) -> None:
        """Remember the Lease. Only a change of its spec counts as a sign of life, whatever its times claim."""
        lease = reply.json()
        before = self._spec()
        self._seen = lease
        if self._spec() != before or self._changed_at == _CLOSED:
            self._changed_at = self._clock.monotonic()
            if self._holder() not in {"", self.identity, before.get("holderIdentity")}:
                self._log.say("following", lease=self.name, leader=self._holder())

    def _spec(self) -> dict[str, Any]:
        return (self._seen or {}).get("spec") or {}

    def _holder(self) -> str:
        return self._spec().get("holderIdentity") or ""

    def _is_alive(self) -> bool:
        """Tell whether the holder has shown itself within the time that it claims, by our clock."""
        seconds = self._spec().get("leaseDurationSeconds") or self._lease
        return bool(self._holder()) and self._clock.monotonic() < self._changed_at + seconds

    def _ours(self) -> dict[str, Any]:
        spec, now = self._spec(), micro_stamp(self._clock.now())
        ours = self._holder() == self.identity
        transitions = spec.get("leaseTransitions") or 0
        return {
            **spec,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self._lease),
            "acquireTime": (spec.get("acquireTime") if ours else None) or now,
            "renewTime": now,
            "leaseTransitions": transitions if ours or self._seen is None else transitions + 1,
        }

    def _empty(self) -> dict[str, Any]:
        """A lease that nobody holds, and that would run out in a second if somebody did: as client-go leaves it."""
        now = micro_stamp(self._clock.now())
        return {
            **self._spec(), "holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now,
        }  # fmt: skip

    def _announce(self) -> None:
        holds = self.holds()
        if holds and not self.won.is_set():
            self.lost.clear()
            self.won.set()
        elif not holds and self.won.is_set():
            self.won.clear()
            self.lost.set()

    def _pause(self) -> float:
        if self.won.is_set():
            return max(0.0, min(self._retry, self._until - self._clock.monotonic()))
        # As client-go does: candidates that started together must not ask together for ever.
        return self._retry * (1 + 1.2 * random.random())  # noqa: S311 (spread, not secrecy)
