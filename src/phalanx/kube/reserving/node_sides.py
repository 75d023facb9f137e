"""What comes before the bind of a pod whose devices a program on the node gives out: the words that it reads."""

import msgspec

from phalanx.dialects import table
from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.core.sides import Given, NodeSide
from phalanx.dialects.mistakes import FieldError
from phalanx.dialects.read import decode
from phalanx.kube.client import Client, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import PODS
from phalanx.kube.prepare import Prepared
from phalanx.model.plan import Bind
from phalanx.model.sharing import RESOURCE
from phalanx.world.views import nodes_of, task_of
from phalanx.world.world import World


class SidedDevices:
    """The `Preparation` of pods that get devices of such a program. Nothing is written before the bind."""

    def __init__(self, client: Client, feed: Feed, world: World, clock: Clock) -> None:
        self._client = client
        self._feed = feed
        self._world = world
        self._clock = clock

    def wanted(self, bind: Bind) -> bool:
        """Tell whether a program must be told of it."""
        return bool(bind.devices) and side_of(self._world, bind) is not None

    async def prepare(self, bind: Bind) -> Prepared:
        """Put what it gets in words; the Binding carries them."""
        known, side = self._feed.of(PODS, bind.uid), side_of(self._world, bind)
        task, node = task_of(self._world, bind.uid), nodes_of(self._world).get(bind.node)
        part = task.shape.part if task is not None else None
        if known is None or side is None or part is None:
            return Prepared("the pod is gone")
        names = {} if node is None else {
            name: one for one in node.devices if one.resource == RESOURCE for name in (str(one.index), one.id)
        }  # fmt: skip
        if not set(bind.devices) <= names.keys():
            return Prepared(f"the devices of {bind.node} changed meanwhile")
        try:
            reply = await self._client.request("GET", f"/api/v1/namespaces/{known.namespace}/pods/{known.name}")
        except Unanswered:
            return Prepared("no answer")
        pod = decode("Pod", msgspec.Raw(reply.body)) if reply.ok else None
        if not isinstance(pod, Pod) or pod.metadata.uid != bind.uid:
            return Prepared("the pod is gone")
        given = Given(part, [names[name] for name in bind.devices], bind.node, self._clock.now())
        try:
            return Prepared(annotations=side.told(pod, given))
        except FieldError as mistake:
            return Prepared(f"{mistake.field}: {mistake.message}")

    def spoiled(self, bind: Bind) -> str | None:
        """Return nothing: nothing was written."""
        del bind
        return None

    async def undo(self, bind: Bind) -> None:
        """Take nothing back."""


def side_of(world: World, bind: Bind) -> NodeSide | None:
    """Return the program that must be told of a bind; None: none."""
    task = task_of(world, bind.uid)
    part = task.shape.part if task is not None else None
    return table.TABLE.sides.get(part.side) if part is not None else None
