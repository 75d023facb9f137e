"""Hardware: objects beside the nodes that describe their devices, and what a node is with its object.

Object and node come in any order, and either may go; a node is worked out from both whenever one of them is seen.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from phalanx.model.axis import GPU, unit
from phalanx.model.events import DevicesGone, DevicesSeen, NodeSeen, Refused
from phalanx.model.node import Node


class Hardware:
    """Remembers the objects by node and kind, and what those nodes are without them."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, DevicesSeen]] = {}
        self._plain: dict[str, Node] = {}

    def apply(self, event: NodeSeen | DevicesSeen | DevicesGone | Refused, nodes: Mapping[str, Node]) -> Iterator[Node]:
        """Take in a node, or that an object says something (else), is gone or set aside; yield what its node is now."""
        if isinstance(event, NodeSeen):
            yield self._described(event.node)
            return
        name, kind = event.object.name, event.object.kind
        of = self._seen.setdefault(name, {})
        old = of.get(kind)
        if isinstance(event, DevicesSeen):
            of[kind] = event
        else:
            another = isinstance(event, DevicesGone) and old is not None and event.uid not in {None, old.uid}
            if old is not None and old.object == event.object and not another:
                del of[kind]
        if not of:
            del self._seen[name]
        if of.get(kind) is not old and name in nodes:
            yield self._described(self._plain.get(name, nodes[name]))

    def _described(self, node: Node) -> Node:
        """Return a node with what its objects say."""
        seen = self._seen.get(node.name)
        if seen is None:
            self._plain.pop(node.name, None)
            return node
        self._plain[node.name] = node
        for kind in sorted(seen):
            node = _zoned(_with(node, seen[kind]), seen[kind])
        return node


def _zoned(node: Node, seen: DevicesSeen) -> Node:
    """Return a node with the NUMA nodes that its object describes. What its own labels say of the policy counts."""
    if not seen.zones and not seen.numa_policy:
        return node
    return replace(node, zones=seen.zones or node.zones, numa_policy=node.numa_policy or seen.numa_policy)


def _with(node: Node, seen: DevicesSeen) -> Node:
    """Return a node with the GPUs that its object lists. Those of a register, or that are time-sliced, stay."""
    own = [one for one in node.devices if one.resource == GPU]
    if not seen.devices or any(one.id or one.replicas > 1 for one in own):
        return node
    cordoned = {one.index for one in own if one.cordoned}
    # Where nobody else counts them, who writes the object gives them out.
    side = seen.side if any(one.side for one in own) else ""
    listed = [
        replace(one, cordoned=one.index in cordoned, side=side, by_name=bool(side)) for one in seen.devices
    ]  # fmt: skip
    usable, given = sum(one.usable for one in listed) * unit(GPU), node.allocatable.get(GPU)
    # What the device plugin withholds is most likely what the object calls unhealthy: not taken off twice.
    amount = usable if given is None else min(given, usable)
    others = [one for one in node.devices if one.resource != GPU]
    amounts = {name: there for name, there in node.allocatable.items() if name != GPU}
    there = len(own) or (given or 0) // unit(GPU)
    remark = f"{seen.object} lists {len(listed)} of {GPU}, the device plugin counts {there}"
    return replace(
        node, devices=tuple(sorted([*others, *listed])), allocatable=amounts | ({GPU: amount} if amount else {}),
        remarks=node.remarks if given is None or there == len(listed) else (*node.remarks, remark),
    )  # fmt: skip
