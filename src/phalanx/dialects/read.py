"""The door of the dialects: one Kubernetes object in, one event out, never an exception.

An object that cannot be read is `Refused` with the field and a sentence. Only a pod on a node is never refused:
it runs and takes room, so as much of it is read as can be (`salvage`).
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from phalanx.dialects import (
    budgets,
    kai,
    kai_groups,
    kai_objects,
    objects,
    queue_objects,
    queues,
    workload,
    workload_objects,
)
from phalanx.dialects.kinds import called
from phalanx.dialects.mistakes import NAME_ALLOWED, UNREADABLE, FieldError, is_name, of_wrong_type, one_of
from phalanx.dialects.nodes import read_node
from phalanx.dialects.pods import read_pod
from phalanx.dialects.priority_classes import VERSIONS, PriorityClass, read_class
from phalanx.dialects.salvage import on_which_node, salvage
from phalanx.model.events import Event, NamespaceSeen, NodeSeen, Refused, TaskSeen
from phalanx.model.quantity import shown
from phalanx.model.task import Hold


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one kind is decoded and read."""

    type: Any
    namespaced: bool
    event: Callable[[Any, Collection[str]], Event]
    decoder: msgspec.json.Decoder[Any]


def _kind(type_: Any, event: Callable[[Any, Collection[str]], Event], *, namespaced: bool = False) -> _Kind:
    return _Kind(type_, namespaced, event, msgspec.json.Decoder(type_))


def _namespace(namespace: objects.Namespace, schedulers: Collection[str]) -> Event:
    del schedulers
    name = namespace.metadata.name
    if not is_name(name):
        raise FieldError("metadata.name", f"found {shown(name)}, allowed is {NAME_ALLOWED}")
    # The API server puts this label on every namespace; selectors rely on it, and files may lack it.
    return NamespaceSeen(name, {**(namespace.metadata.labels or {}), "kubernetes.io/metadata.name": name})


def _groups(type_: Any, read_: Callable[[Any, str], Event], *versions: str) -> dict[str, _Kind]:
    """Return a reader for each version of a kind that describes groups."""

    def of(version: str) -> Callable[[Any, Collection[str]], Event]:
        return lambda one, _: read_(one, version)

    return {version: _kind(type_, of(version), namespaced=True) for version in versions}


#: (API group, kind) -> apiVersion -> its reader.
_KINDS = {
    ("", "Pod"): {"v1": _kind(objects.Pod, lambda pod, names: TaskSeen(read_pod(pod, names)), namespaced=True)},
    ("", "Node"): {"v1": _kind(objects.Node, lambda node, _: NodeSeen(read_node(node)))},
    ("", "Namespace"): {"v1": _kind(objects.Namespace, _namespace)},
    (workload.GROUP, "Workload"): {
        **_groups(workload_objects.Workload, workload.read_workload, workload.WITH_GROUPS),
        **_groups(workload_objects.Templates, workload.read_templates, *workload.CONDITIONS),
    },
    (workload.GROUP, "PodGroup"): _groups(workload_objects.PodGroup, workload.read_group, *workload.CONDITIONS),
    (workload.GROUP, "PriorityClass"): dict.fromkeys(VERSIONS, _kind(PriorityClass, lambda one, _: read_class(one))),
    (budgets.GROUP, budgets.KIND): {
        budgets.VERSION: _kind(
            budgets.PodDisruptionBudget, lambda budget, _: budgets.read_budget(budget), namespaced=True
        )
    },
    (queues.GROUP, queues.KIND): {
        queues.VERSION: _kind(queue_objects.Queue, lambda queue, _: queues.read_queue(queue))
    },
    (kai.GROUP, "Queue"): {kai.QUEUE_VERSION: _kind(kai_objects.Queue, lambda queue, _: kai.read_queue(queue))},
    (kai.GROUP, "PodGroup"): {
        kai_groups.GROUP_VERSION: _kind(
            kai_objects.PodGroup, lambda group, _: kai_groups.read_group(group), namespaced=True
        )
    },
}


def read(document: Mapping[str, Any], schedulers: Collection[str]) -> Event | None:
    """Return the event of a decoded object, or None for a kind that no dialect knows."""
    if not isinstance(document, Mapping):
        return Refused("Document", "", "", f"found {shown(document)}, allowed is a Kubernetes object")
    kind, version = document.get("kind"), document.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        return Refused("Object", _name(document, namespaced=True), "kind", f"found {shown(kind)}, allowed is a kind")
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    readers = _KINDS.get((group, kind))
    if readers is None:
        return None
    reader = readers.get(version) if isinstance(version, str) else None
    if reader is None:
        name = _name(document, namespaced=any(one.namespaced for one in readers.values()))
        return Refused(called(kind, version), name, "apiVersion", one_of(version, tuple(readers)))
    return _read(called(kind, version), reader, document, schedulers)


def _read(kind: str, reader: _Kind, document: Mapping[str, Any], schedulers: Collection[str]) -> Event:
    try:
        return reader.event(msgspec.convert(document, reader.type), schedulers)
    except FieldError as mistake:
        field, message = mistake.field, mistake.message
    except UNREADABLE as error:
        field, message = of_wrong_type(str(error), document, reader.type)
    name = _name(document, namespaced=reader.namespaced)
    if reader.type is objects.Pod and on_which_node(document) is not None:
        return TaskSeen(salvage(document, schedulers, name, Hold(field, message)))
    return Refused(kind, name, field, message)


def read_json(
    kind: str, data: bytes | msgspec.Raw, schedulers: Collection[str], api_version: str = "v1"
) -> Event | None:
    """Return the event of an object as the API server sends it; None for an unknown kind or version."""
    reader = _KINDS.get((api_version.rpartition("/")[0], kind), {}).get(api_version)
    if reader is None:
        return None
    try:
        return reader.event(reader.decoder.decode(data), schedulers)
    except (FieldError, *UNREADABLE):
        # Rare, and worth a second reading: only the whole document can say what stood in the field.
        return _read_again(kind, data, schedulers, api_version)


def _read_again(kind: str, data: bytes | msgspec.Raw, schedulers: Collection[str], api_version: str) -> Event | None:
    try:
        document = msgspec.json.decode(data)
    except UNREADABLE as error:
        return Refused(called(kind, api_version), "", "", f"found no JSON: {shown(str(error))}")
    # The items of a list do not say what they are.
    whole = {"apiVersion": api_version, "kind": kind, **document} if isinstance(document, dict) else document
    return read(whole, schedulers)


def _name(document: Mapping[str, Any], *, namespaced: bool) -> str:
    """Return `namespace/name` (or the name), fit to be shown, of an object of which nothing is known."""
    meta = document.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    parts = [meta.get("namespace") or "default"] if namespaced else []
    parts.append(meta.get("name") or "(without a name)")
    return "/".join(
        part if isinstance(part, str) and (is_name(part) or part.startswith("(")) else shown(part) for part in parts
    )
