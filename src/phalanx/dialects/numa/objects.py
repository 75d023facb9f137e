"""NodeResourceTopology (`topology.node.k8s.io`): what each NUMA node has, what is in use there, and the policy."""

import re
from typing import Any

from msgspec import Struct

from phalanx.dialects.core import objects
from phalanx.dialects.core.numa_policies import OWN
from phalanx.dialects.mistakes import RESOURCE_ALLOWED, FieldError, check_name, is_resource
from phalanx.model.events import DevicesSeen
from phalanx.model.node import Zone
from phalanx.model.quantity import QuantityError, capacity, shown
from phalanx.model.reference import Reference

GROUP, KIND = "topology.node.k8s.io", "NodeResourceTopology"
ZONES_MAX = 64
#: The type of zones that are NUMA nodes.
_TYPE = "Node"
_NUMBER = re.compile(r"[a-z-]*?([0-9]{1,3})", re.ASCII)
_POLICY = "topologyManagerPolicy"
#: The field that the attribute replaced: a policy, and for which scope.
_OLDER = {
    "None": "none", "BestEffort": "best-effort", "BestEffortPodLevel": "best-effort",
    "BestEffortContainerLevel": "best-effort", "Restricted": "restricted", "RestrictedPodLevel": "restricted",
    "RestrictedContainerLevel": "restricted", "SingleNUMANodePodLevel": "single-numa-node",
    "SingleNUMANodeContainerLevel": "single-numa-node",
}  # fmt: skip


class Attribute(Struct, gc=False):
    """A word of the node about itself."""

    name: str | None = None
    value: str | None = None


class Resource(Struct, gc=False):
    """How much of a resource a zone has, may give out, and has left."""

    name: str = ""
    capacity: Any = None
    allocatable: Any = None
    available: Any = None


class Listed(Struct, gc=False):
    """One zone."""

    name: str = ""
    type: str | None = None
    resources: list[Resource] | None = None


class Topology(Struct, gc=False, rename="camel"):
    """A NodeResourceTopology."""

    metadata: objects.Metadata
    topology_policies: list[str] | None = None
    attributes: list[Attribute] | None = None
    zones: list[Listed] | None = None


def read_topology(one: Topology) -> DevicesSeen:
    """Return the NUMA nodes of a node, and what it does with pods that would lie across them."""
    check_name(one.metadata.name, "metadata.name")
    listed = [(f"zones[{at}]", zone) for at, zone in enumerate(one.zones or ()) if zone.type in {_TYPE, None}]
    if len(listed) > ZONES_MAX:
        raise FieldError("zones", f"found {len(listed)}, allowed are at most {ZONES_MAX}")
    zones: dict[int, Zone] = {}
    for path, zone in listed:
        found = _zone(path, zone)
        if found.id in zones:
            raise FieldError(f"{path}.name", f"found {found.id} for the second time, allowed is one zone of a number")
        zones[found.id] = found
    return DevicesSeen(
        Reference(f"{KIND}.{GROUP}", one.metadata.name), uid=one.metadata.uid or "",
        zones=tuple(sorted(zones.values())), numa_policy=_policy(one),
    )  # fmt: skip


def _policy(one: Topology) -> str:
    for at, attribute in enumerate(one.attributes or ()):
        if attribute.name == _POLICY:
            if attribute.value not in OWN:
                raise FieldError(
                    f"attributes[{at}].value", f"found {shown(attribute.value)}, allowed is {', '.join(OWN)}"
                )
            return attribute.value
    for at, name in enumerate(one.topology_policies or ()):
        if name not in _OLDER:
            raise FieldError(f"topologyPolicies[{at}]", f"found {shown(name)}, allowed is {', '.join(_OLDER)}")
        return _OLDER[name]
    return ""


def _zone(path: str, zone: Listed) -> Zone:
    match = _NUMBER.fullmatch(zone.name)
    if match is None:
        raise FieldError(f"{path}.name", f"found {shown(zone.name)}, allowed is a word with a number, such as node-0")
    amounts: dict[str, int] = {}
    used: dict[str, int] = {}
    for at, one in enumerate(zone.resources or ()):
        where = f"{path}.resources[{at}]"
        if not is_resource(one.name):
            raise FieldError(f"{where}.name", f"found {shown(one.name)}, allowed is {RESOURCE_ALLOWED}")
        given = one.capacity if one.allocatable is None else one.allocatable
        amounts[one.name] = _amount(one.name, given, f"{where}.allocatable")
        if one.available is not None:
            left = _amount(one.name, one.available, f"{where}.available")
            used[one.name] = max(amounts[one.name] - left, 0)
    return Zone(int(match[1]), tuple(sorted(amounts.items())), tuple(sorted(used.items())))


def _amount(name: str, value: object, field: str) -> int:
    try:
        return capacity(value, name)
    except QuantityError as error:
        raise FieldError(field, str(error)) from None
