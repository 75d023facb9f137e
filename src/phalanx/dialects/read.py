"""The door of the dialects: one Kubernetes object in, one event out, never an exception.

An object that cannot be read is `Refused` with the field and a sentence. Only a pod on a node is never refused:
it runs and takes room, so as much of it is read as can be (`salvage`). On a cluster (`held`) a pending pod of ours is
not refused either: it becomes a task that is held for its mistake, so that its owner is told as anybody who waits.
"""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from phalanx.dialects import table
from phalanx.dialects.core import pod_objects
from phalanx.dialects.core.pods import read_pod
from phalanx.dialects.core.salvage import on_which_node, salvage, waits_for
from phalanx.dialects.dialect import Kind, Version
from phalanx.dialects.mistakes import UNREADABLE, FieldError, is_name, of_wrong_type, one_of
from phalanx.model.events import Event, Refused, TaskSeen
from phalanx.model.quantity import shown
from phalanx.model.task import Hold


def read(document: Mapping[str, Any], schedulers: Collection[str], *, held: bool = False) -> Event | None:
    """Return the event of a decoded object, or None for a kind that no dialect knows.

    `held`: a pending pod of ours with a mistake is a task that is held, and not refused.
    """
    if not isinstance(document, Mapping):
        return Refused("Document", "", "", f"found {shown(document)}, allowed is a Kubernetes object")
    found, api_version = document.get("kind"), document.get("apiVersion")
    if not isinstance(found, str) or not found:
        return Refused("Object", _name(document, namespaced=True), "kind", f"found {shown(found)}, allowed is a kind")
    kind = table.TABLE.kind(found, api_version)
    if kind is None:
        return None
    version = table.TABLE.versions.get((found, api_version)) if isinstance(api_version, str) else None
    if version is not None:
        return _read(kind, version, document, schedulers, held=held)
    allowed = tuple(kind.api_version(one) for one in reversed(kind.versions))
    name = _name(document, namespaced=kind.namespaced)
    return Refused(kind.called, name, "apiVersion", one_of(api_version, allowed), kind.queue)


def _read(
    kind: Kind, version: Version, document: Mapping[str, Any], schedulers: Collection[str], *, held: bool
) -> Event:
    try:
        return _event(version, msgspec.convert(document, version.type), schedulers)
    except FieldError as mistake:
        field, message = mistake.field, mistake.message
    except UNREADABLE as error:
        field, message = of_wrong_type(str(error), document, version.type)
    name = _name(document, namespaced=kind.namespaced)
    told = on_which_node(document) is not None or (held and waits_for(document, schedulers))
    if version.type is pod_objects.Pod and told:
        return TaskSeen(salvage(document, schedulers, name, Hold(field, message), table.TABLE))
    return Refused(kind.called, name, field, message, kind.queue, _uid(document))


def _event(version: Version, one: Any, schedulers: Collection[str]) -> Event:
    return TaskSeen(read_pod(one, schedulers, table.TABLE)) if version.event is None else version.event(one)


def read_json(
    kind: str, data: bytes | msgspec.Raw, schedulers: Collection[str], api_version: str = "v1"
) -> Event | None:
    """Return the event of an object as the API server sends it; None for an unknown kind or version."""
    return read_decoded(kind, decode(kind, data, api_version), data, schedulers, api_version)


def decode(kind: str, data: bytes | msgspec.Raw, api_version: str = "v1") -> Any:
    """Return an object as its dialect decodes it, before anything in it is checked; None: it cannot be decoded."""
    version = table.TABLE.versions.get((kind, api_version))
    try:
        return None if version is None else version.decoder.decode(data)
    except UNREADABLE:
        return None


def read_decoded(
    kind: str, decoded: Any, data: bytes | msgspec.Raw, schedulers: Collection[str], api_version: str = "v1", *,
    held: bool = False,
) -> Event | None:  # fmt: skip
    """Return the event of an object that was decoded already from these bytes."""
    version = table.TABLE.versions.get((kind, api_version))
    if version is None:
        return None
    try:
        if decoded is not None:
            return _event(version, decoded, schedulers)
    except FieldError:
        pass
    # Rare, and worth a second reading: only the whole document can say what stood in the field.
    return _read_again(kind, data, schedulers, api_version, held=held)


def _read_again(
    kind: str, data: bytes | msgspec.Raw, schedulers: Collection[str], api_version: str, *, held: bool
) -> Event | None:
    try:
        document = msgspec.json.decode(data)
    except UNREADABLE as error:
        called = table.TABLE.name(kind, api_version)
        return Refused(called, "", "", f"found no JSON: {shown(str(error))}")
    # The items of a list do not say what they are.
    whole = {"apiVersion": api_version, "kind": kind, **document} if isinstance(document, dict) else document
    return read(whole, schedulers, held=held)


def _uid(document: Mapping[str, Any]) -> str:
    meta = document.get("metadata")
    uid = meta.get("uid") if isinstance(meta, Mapping) else None
    return uid if isinstance(uid, str) else ""


def _name(document: Mapping[str, Any], *, namespaced: bool) -> str:
    """Return `namespace/name` (or the name), fit to be shown, of an object of which nothing is known."""
    meta = document.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    parts = [meta.get("namespace") or "default"] if namespaced else []
    parts.append(meta.get("name") or "(without a name)")
    return "/".join(
        part if isinstance(part, str) and (is_name(part) or part.startswith("(")) else shown(part) for part in parts
    )
