"""What comes before the bind of a pod that shares GPUs: each is reserved there, and the pod can learn which it is."""

import asyncio

from phalanx.kube.client import Client
from phalanx.kube.clock import Clock
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import PODS
from phalanx.kube.prepare import Prepared
from phalanx.kube.reserving.keeper import Keeper
from phalanx.kube.reserving.pods import Reserved
from phalanx.kube.reserving.telling import telling_of
from phalanx.model.keys import GPU_GROUP, GPU_IDS
from phalanx.model.plan import Bind
from phalanx.model.sharing import MIB, RESOURCE, WHOLE, milli_of
from phalanx.world.reservations import Place
from phalanx.world.views import nodes_of, task_of
from phalanx.world.world import World

#: An image may have to be pulled first.
PATIENCE = 90.0


class SharedDevices:
    """The `Preparation` of pods that share devices."""

    def __init__(self, client: Client, feed: Feed, world: World, clock: Clock, keeper: Keeper) -> None:
        self._client = client
        self._feed = feed
        self._world = world
        self._clock = clock
        self._keeper = keeper

    def wanted(self, bind: Bind) -> bool:
        """Tell whether the pod shares devices."""
        task = task_of(self._world, bind.uid)
        part = task.shape.part if task is not None else None
        return bool(bind.devices) and (part is None or not part.side)

    async def prepare(self, bind: Bind) -> Prepared:
        """Reserve the devices; tell the pod which they are, if it wants to know."""
        known = self._feed.of(PODS, bind.uid)
        if known is None:
            return Prepared("the pod is gone")
        until = self._clock.monotonic() + PATIENCE
        path = f"/api/v1/namespaces/{known.namespace}/pods/{known.name}"
        asks = await telling_of(self._client, path, bind.uid, "", "")
        named = asks is not None and asks.wanted
        places = [Place(bind.node, group) for group in bind.devices]
        found = await asyncio.gather(*(self._keeper.reserved(place, until, named=named) for place in places))
        refused = next((one for one in found if isinstance(one, str)), None)
        if refused is not None:
            return Prepared(refused)
        there = [one for one in found if isinstance(one, Reserved)]
        ids = ",".join(id_ for one in there for id_ in one.ids or ())
        mute = next((one for one in there if not one.ids), None)
        if named and mute is not None:
            return Prepared(f"which GPU of {bind.node} it would have is not known: {mute.name} says: {mute.why}")
        if named:
            telling = await telling_of(self._client, path, bind.uid, ids, self._portion(bind))
            why = "the pod is gone" if telling is None else await telling.write(self._client)
            if why is not None:
                return Prepared(why)
        told = {GPU_IDS: ids} if ids and mute is None else {}
        return Prepared(annotations={GPU_GROUP: ",".join(bind.devices)} | told)

    def spoiled(self, bind: Bind) -> str | None:
        """Return nothing: a reservation that goes is made again, for whoever is bound on it."""
        del bind
        return None

    async def undo(self, bind: Bind) -> None:
        """Look again at what is reserved: what nobody shares any more goes. A ConfigMap ends with its pod."""
        del bind
        self._keeper.look_again()

    def _portion(self, bind: Bind) -> str:
        """Return which part of each device the pod has."""
        task, node = task_of(self._world, bind.uid), nodes_of(self._world).get(bind.node)
        if task is None or task.part is None:
            return ""
        sizes = [one.memory // MIB for one in node.devices if one.resource == RESOURCE] if node is not None else []
        memory = min((size for size in sizes if size), default=0)
        milli = milli_of(task.part, memory) if memory or not task.part.memory else 0
        return f"{milli / WHOLE:g}" if milli else ""
