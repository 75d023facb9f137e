"""Nodes and namespaces. A node with a mistake is set aside whole: half a node would be a false book."""

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache

from phalanx.dialects.core import objects
from phalanx.dialects.core.devices import described
from phalanx.dialects.core.numa_policies import numa_policy
from phalanx.dialects.mistakes import RESOURCE_ALLOWED, FieldError, check_name, is_resource, one_of, under
from phalanx.model.axis import AMOUNT_MAX, is_extended
from phalanx.model.events import NamespaceSeen
from phalanx.model.image import Image
from phalanx.model.node import Node, Taint
from phalanx.model.quantity import QuantityError, capacity, shown

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_WORD = re.compile(r"[!-~]{1,316}", re.ASCII)


def read_node(node: objects.Node) -> Node:
    """Return the node, or raise the first mistake in it."""
    meta = node.metadata
    spec, status = node.spec or objects.NodeSpec(), node.status or objects.NodeStatus()
    check_name(meta.name, "metadata.name")
    if status.allocatable is None:
        allocatable = _amounts(status.capacity, "status.capacity")
    else:
        allocatable = _amounts(status.allocatable, "status.allocatable")
    found = described(meta.labels or {}, meta.annotations or {}, _readable(status.capacity, allocatable), allocatable)
    policy, wrong = numa_policy(meta.labels or {})
    return Node(
        name=meta.name,
        uid=meta.uid or "",
        allocatable=found.allocatable,
        labels=meta.labels or {},
        taints=_taints(spec.taints),
        ready=all(one.status == "True" for one in status.conditions or () if one.type == "Ready"),
        cordoned=bool(spec.unschedulable),
        features=tuple(sorted(set(status.declared_features or ()))),
        images=tuple(_image(tuple(one.names or ()), one.size_bytes or 0) for one in status.images or ()),
        devices=found.devices,
        remarks=found.remarks if wrong is None else (*found.remarks, wrong),
        numa_policy=policy,
    )


@lru_cache(maxsize=16_384)
def _image(names: tuple[str, ...], size: int) -> Image:
    """Return an image. Nodes have the same ones, so each is kept once."""
    return Image(names, min(max(size, 0), AMOUNT_MAX))


def _amounts(quantities: objects.Amounts, path: str) -> dict[str, int]:
    amounts = {}
    for name, value in sorted((quantities or {}).items()):
        if not is_resource(name):
            raise FieldError(under(path, name), f"found {shown(name)}, allowed is {RESOURCE_ALLOWED}")
        try:
            amount = capacity(value, name)
        except QuantityError as error:
            raise FieldError(under(path, name), str(error)) from None
        if amount:
            amounts[name] = amount
    return amounts


def _readable(quantities: objects.Amounts, names: Iterable[str]) -> dict[str, int]:
    """Return the capacity of these resources as far as it can be read: it only explains what is allocatable."""
    found = {}
    for name in names if quantities else ():
        if is_extended(name) and quantities is not None and name in quantities:
            with suppress(QuantityError):
                found[name] = capacity(quantities[name], name)
    return found


def _taints(listed: list[objects.Taint] | None) -> tuple[Taint, ...]:
    found = set()
    for index, one in enumerate(listed or ()):
        if one.effect not in _EFFECTS:
            raise FieldError(f"spec.taints[{index}].effect", one_of(one.effect, _EFFECTS))
        for name, word in (("key", one.key), ("value", one.value or "-")):
            if not _WORD.fullmatch(word):
                raise FieldError(f"spec.taints[{index}].{name}", f"found {shown(word)}, allowed is one printable word")
        found.add(Taint(one.key, one.value or "", one.effect))
    return tuple(sorted(found))


def read_namespace(namespace: objects.Namespace) -> NamespaceSeen:
    """Return the namespace, or raise the mistake in it."""
    name = namespace.metadata.name
    check_name(name, "metadata.name")
    # The API server puts this label on every namespace; selectors rely on it, and files may lack it.
    labels = {**(namespace.metadata.labels or {}), "kubernetes.io/metadata.name": name}
    return NamespaceSeen(name, labels, namespace.metadata.annotations or {})
