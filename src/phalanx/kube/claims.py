"""Volumes before the bind: each claim is given its volume, or one is made for its node, and the pod waits for it.

Two writes, both for the persistent volume controller: a claim on the volume, or the chosen node on the claim. Each
bears the uid of the pod for which it was made, so that whoever leads next can take it back. Only what nobody has acted
upon is taken back: a claim that got its volume keeps it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec

from phalanx.dialects.core.storage import PREPARED_FOR, SELECTED_NODE
from phalanx.kube.client import MERGE_PATCH, Client, Reply, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import CLAIMS, PODS, VOLUMES, Kind
from phalanx.kube.log import Log
from phalanx.kube.prepare import Prepared
from phalanx.model.plan import Bind
from phalanx.model.task import State
from phalanx.model.volume import Chosen, within
from phalanx.world.views import nodes_of, task_of
from phalanx.world.world import World

#: How the controller knows that a volume may be taken from its claim again.
_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
#: Looked so often whether claims are bound, asked again so late at most.
LOOK, PAUSE_MAX = 0.1, 5.0
#: As many writes at once.
IN_FLIGHT = 16


class Claims:
    """The `Preparation` of pods whose claims get a volume with the node."""

    def __init__(
        self, client: Client, feed: Feed, world: World, clock: Clock, log: Log, fence: Callable[[], bool],
        patience: float,
    ) -> None:  # fmt: skip
        self._client = client
        self._feed = feed
        self._world = world
        self._clock = clock
        self._log = log
        self._fence = fence
        #: So many seconds a claim may take to be bound.
        self._patience = patience
        self._door = asyncio.Semaphore(IN_FLIGHT)
        #: What is being taken back: the pod and its claim or volume.
        self._returning: set[tuple[str, Chosen]] = set()
        self._jobs: asyncio.Queue[Coroutine[Any, Any, None]] = asyncio.Queue()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                group.create_task(await self._jobs.get())

    def wanted(self, bind: Bind) -> bool:
        """Tell whether some claim gets a volume."""
        return bool(bind.volumes)

    async def prepare(self, bind: Bind) -> Prepared:
        """Write what the plan chose, and wait until every claim is bound."""
        until = self._clock.monotonic() + self._patience
        uids = {one.claim: self._uid(one.claim) for one in bind.volumes}
        written = await asyncio.gather(*(self._write(bind, one, until) for one in bind.volumes))
        refused = next((why for why in written if why is not None), None)
        while refused is None:
            states = [self._state(bind, one, uids[one.claim]) for one in bind.volumes]
            refused = self._over(bind, until, bind.volumes[0].claim) or next((why for why in states if why), None)
            if refused is None and all(why is None for why in states):
                return Prepared()
            if refused is None:
                await asyncio.sleep(LOOK)
        return Prepared(refused)

    def spoiled(self, bind: Bind) -> str | None:
        """Return which claim lost its volume, or is gone, while the claims of others were bound."""
        for one in bind.volumes:
            why = self._state(bind, one, self._uid(one.claim))
            if why is not None:
                return why or f"claim {one.claim} has no volume any more"
        return None

    async def undo(self, bind: Bind) -> None:
        """Give back what was written for a pod that is not bound there after all."""
        await asyncio.gather(*(self._take_back(bind.uid, one) for one in bind.volumes))

    def sweep(self) -> None:
        """Take back what is left of pods that nobody binds now, from before a crash; never waits."""
        objects = self._world.links.storage
        for thing, uid in list(objects.prepared.items()):
            one = Chosen(thing.full_name, None) if thing.kind == CLAIMS.kind else Chosen("", thing.full_name)
            if not self._binding(uid) and (uid, one) not in self._returning:
                self._jobs.put_nowait(self._take_back(uid, one))

    def _uid(self, claim: str) -> str:
        known = self._world.links.storage.claims.get(claim)
        return known.uid if known is not None else ""

    def _binding(self, uid: str) -> bool:
        """Tell whether a pod is being bound, so that what is written for it stays."""
        task = task_of(self._world, uid)
        return task is not None and task.state is State.BINDING

    def _over(self, bind: Bind, until: float, claim: str) -> str | None:
        """Return why nothing more is to be written for a pod."""
        if self._feed.of(PODS, bind.uid) is None:
            return "the pod is gone"
        if not self._fence():
            return "no longer the leader"
        if self._clock.monotonic() >= until:
            return f"claim {claim} got no volume within {self._patience:g} s{self._classless(claim)}"
        return None

    def _classless(self, name: str) -> str:
        """Say that the class of a claim is not there any more, if it is not: then nobody makes its volume."""
        objects = self._world.links.storage
        claim = objects.claims.get(name)
        gone = claim is not None and claim.storage_class and claim.storage_class not in objects.classes
        return f": its class {claim.storage_class} is not there" if claim is not None and gone else ""

    def _state(self, bind: Bind, one: Chosen, uid: str) -> str | None:  # noqa: PLR0911 (one return per truth)
        """Return None once a claim is bound, nothing while it is on its way, or why it will not be."""
        objects, node = self._world.links.storage, nodes_of(self._world).get(bind.node)
        claim = objects.claims.get(one.claim)
        if claim is None or claim.deleting or claim.uid != uid:
            return f"claim {one.claim} was deleted"
        if node is None:
            return f"node {bind.node} is gone"
        if claim.lost:
            return f"claim {one.claim} lost its volume {claim.volume}"
        volume = objects.volumes.get(claim.volume or one.volume or "")
        if volume is not None and not within(volume.place, node.labels):
            return f"volume {volume.name} of claim {one.claim} cannot be used on {bind.node}"
        if claim.bound and volume is not None:
            return None
        if not claim.volume and one.volume is not None:
            gone = volume is None or volume.deleting or not volume.serves(claim)
            return f"volume {one.volume} was taken from claim {one.claim}" if gone else ""
        if not claim.volume and not claim.selected:
            return f"no volume could be made for claim {one.claim} on {bind.node}: its provisioner gave it back"
        return ""

    async def _write(self, bind: Bind, one: Chosen, until: float) -> str | None:
        """Write one choice, as often as it takes; return why it cannot be."""
        kind, path, pause = _address(one), _path(one), 0.05
        while (over := self._over(bind, until, one.claim)) is None:
            reply = await self._ask("GET", path)
            if reply is not None and reply.status == 404:
                return f"{kind.kind} {one.volume or one.claim} was deleted"
            there = reply.json() if reply is not None and reply.ok else None
            if there is not None:
                patch = self._patch(bind, one, there)
                if not isinstance(patch, dict):
                    return patch
                reply = await self._ask("PATCH", path, patch)
                if reply is not None and reply.ok:
                    self._feed.put(kind, msgspec.Raw(reply.body))
                    return None
            if reply is not None and reply.status in {400, 401, 403, 422}:
                return reply.message
            await asyncio.sleep(pause)
            pause = min(2 * pause, PAUSE_MAX)
        return over

    def _patch(self, bind: Bind, one: Chosen, there: dict[str, Any]) -> dict[str, Any] | str | None:
        """Return what to write to an object as it is; None: it is so already; or why it must not be."""
        meta, spec = there["metadata"], there.get("spec", {})
        notes = meta.get("annotations") or {}
        if one.volume is not None:
            return self._claim_on(bind, one, meta, spec)
        chosen = notes.get(SELECTED_NODE)
        if spec.get("volumeName") or chosen == bind.node:
            return None
        if chosen:
            # A claim that several pods of a gang mount gets its volume with the first of them.
            return (
                None if self._binding(notes.get(PREPARED_FOR, "")) else f"claim {one.claim} gets its volume on {chosen}"
            )
        return {"metadata": _meta(meta, {SELECTED_NODE: bind.node, PREPARED_FOR: bind.uid})}

    def _claim_on(
        self, bind: Bind, one: Chosen, meta: dict[str, Any], spec: dict[str, Any]
    ) -> dict[str, Any] | str | None:  # fmt: skip
        namespace, _, name = one.claim.partition("/")
        ref, uid = spec.get("claimRef") or {}, self._uid(one.claim)
        if ref.get("uid") == uid and uid:
            return None
        if "deletionTimestamp" in meta:
            return f"volume {one.volume} is being deleted"
        if ref and (ref.get("uid") or (ref.get("namespace"), ref.get("name")) != (namespace, name)):
            return f"volume {one.volume} was given to claim {ref.get('namespace')}/{ref.get('name')}"
        claim = {"apiVersion": "v1", "kind": CLAIMS.kind, "namespace": namespace, "name": name, "uid": uid}
        notes = {_BY_CONTROLLER: "yes", PREPARED_FOR: bind.uid} if not ref else {}
        return {"metadata": _meta(meta, notes), "spec": {"claimRef": claim}}

    async def _take_back(self, uid: str, one: Chosen) -> None:
        """Take one choice back, unless somebody has acted upon it or the pod is bound again; as often as it takes."""
        if (uid, one) in self._returning:
            return
        self._returning.add((uid, one))
        try:
            await self._given_back(uid, one)
        finally:
            self._returning.discard((uid, one))

    async def _given_back(self, uid: str, one: Chosen) -> None:
        kind, path, pause = _address(one), _path(one), 0.05
        while self._fence() and not self._binding(uid):
            reply = await self._ask("GET", path)
            if reply is not None and reply.ok:
                there = reply.json()
                meta, spec = there["metadata"], there.get("spec", {})
                notes = meta.get("annotations") or {}
                acted = spec.get("volumeName") or (one.volume and there.get("status", {}).get("phase") != "Available")
                if notes.get(PREPARED_FOR) != uid or acted:
                    self._feed.put(kind, msgspec.Raw(reply.body))
                    return
                gone = [PREPARED_FOR, _BY_CONTROLLER if one.volume else SELECTED_NODE]
                patch: dict[str, Any] = {"metadata": _meta(meta, dict.fromkeys(gone))}
                patch |= {"spec": {"claimRef": None}} if one.volume else {}
                reply = await self._ask("PATCH", path, patch)
                if reply is not None and reply.ok:
                    self._feed.put(kind, msgspec.Raw(reply.body))
                    self._log.say("given-back", object=f"{kind.kind} {one.volume or one.claim}")
                    return
            if reply is not None and reply.status in {400, 401, 403, 404, 422}:
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, PAUSE_MAX)

    async def _ask(self, method: str, path: str, patch: dict[str, Any] | None = None) -> Reply | None:
        """Return the answer, or None when there was none."""
        body = None if patch is None else msgspec.json.encode(patch)
        async with self._door:
            try:
                return await self._client.request(method, path, body=body, content_type=MERGE_PATCH)
            except Unanswered:
                return None


def _address(one: Chosen) -> Kind:
    return CLAIMS if one.volume is None else VOLUMES


def _path(one: Chosen) -> str:
    if one.volume is not None:
        return f"{VOLUMES.path}/{one.volume}"
    namespace, _, name = one.claim.partition("/")
    return f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"


def _meta(meta: dict[str, Any], notes: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the preconditions by which a write lands on this very object as it is, or not at all."""
    return {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"], "annotations": notes}
