"""Whether Volcano's own controller is at work: it holds a lease, and of two who make pods for one Job one must rest."""

import asyncio
from collections.abc import Callable

import msgspec

from phalanx.kube.client import Client, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.log import Log

LEASE = "vc-controller-manager"
#: Wherever it was installed.
_PATH = "/apis/coordination.k8s.io/v1/leases"
_QUERY = {"fieldSelector": f"metadata.name={LEASE}"}
#: How often it is looked for.
PERIOD = 5.0
_DURATION = 15.0


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: float | None = None
    renew_time: str | None = None


class _Meta(msgspec.Struct):
    namespace: str = ""


class _Lease(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _List(msgspec.Struct):
    items: list[_Lease]


class Rival:
    """Looks at the lease. Whoever has not shown itself for as long as it claims is gone, by our clock."""

    def __init__(self, client: Client, clock: Clock, log: Log, changed: Callable[[], None]) -> None:
        self._client, self._clock, self._log, self._changed = client, clock, log, changed
        #: Nobody is taken for gone before the lease was looked at; None: not yet.
        self.there: bool | None = None
        self._seen: dict[str, tuple[_Spec, float]] = {}

    @property
    def gone(self) -> bool:
        """Tell whether we may act."""
        return self.there is False

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(PERIOD if self.there is not None else 1.0)

    async def look(self) -> None:
        """Look once."""
        try:
            reply = await self._client.request("GET", _PATH, query=_QUERY)
        except Unanswered:
            return
        if not reply.ok:
            # Without the right to read it nobody can know: Jobs are left alone.
            if self.there is not True:
                self._log.say("jobs-of-volcano-left-alone", why=f"the lease {LEASE} cannot be read: {reply.message}")
            self._set(there=True)
            return
        now, holder = self._clock.monotonic(), None
        for lease in msgspec.json.decode(reply.body, type=_List).items:
            spec, where = lease.spec, lease.metadata.namespace
            old = self._seen.get(where)
            if old is None or old[0] != spec:
                old = self._seen[where] = (spec, now)
            if spec.holder_identity and now < old[1] + (spec.lease_duration_seconds or _DURATION):
                holder = f"{where}/{LEASE} is held by {spec.holder_identity}"
        if holder is not None and self.there is not True:
            self._log.say("jobs-of-volcano-left-alone", why=f"its own controller is there: the lease {holder}")
        elif holder is None and self.there is not False:
            self._log.say("jobs-of-volcano-taken", why=f"nobody holds a lease {LEASE}")
        self._set(there=holder is not None)

    def _set(self, *, there: bool) -> None:
        if there is not self.there:
            self.there = there
            self._changed()
