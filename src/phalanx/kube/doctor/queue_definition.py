"""The Queue as the cluster defines it, beside ours: the server drops fields that its definition does not have.

It is read from the API's own description, which everybody may see; definitions themselves are administrators' alone.
"""

from collections.abc import Iterator
from typing import Any

from phalanx.dialects.native import queues
from phalanx.kube.client import Client
from phalanx.kube.doctor.finding import Finding, absent, failed, ok, unread, warning
from phalanx.kube.queue_crd import NAME, SPEC, STATUS

ABOUT = "queues"
_VERSION = queues.VERSION.rpartition("/")[2]


async def look_at_queue_definition(client: Client, remedy: str) -> Finding:
    """Compare the cluster's definition with ours."""
    reply = await client.request("GET", f"/apis/{queues.GROUP}")
    if reply.status == 404:
        return absent(ABOUT, f"{NAME} is not defined: everybody shares one queue without bounds", remedy)
    if not reply.ok:
        return unread(ABOUT, reply)
    served = [one["version"] for one in reply.json()["versions"]]
    if _VERSION not in served:
        return failed(
            ABOUT, f"{NAME} is served as {', '.join(served)}, and read as {_VERSION}: no Queue counts", remedy
        )
    reply = await client.request("GET", f"/openapi/v3/apis/{queues.VERSION}")
    if not reply.ok:
        return unread(ABOUT, reply)
    schemas = reply.json().get("components", {}).get("schemas", {})
    theirs: dict[str, Any] = next((schema for name, schema in schemas.items() if name.endswith(f".{queues.KIND}")), {})
    return _compared(theirs.get("properties", {}), remedy)


def _compared(theirs: dict[str, Any], remedy: str) -> Finding:
    ours = {"spec": {"type": "object", "properties": SPEC}, "status": {"type": "object", "properties": STATUS}}
    described = {part: _plain(theirs.get(part, {})) for part in ours}
    here, there = (list(_fields({"properties": parts})) for parts in (ours, described))
    lacks, more = ([name for name in one if name not in other] for one, other in ((here, there), (there, here)))
    if lacks:
        says = f"{NAME} is older than this Phalanx: the API server drops {', '.join(lacks)} without a word"
        return failed(ABOUT, says, remedy)
    if more:
        says = f"{NAME} is newer than this Phalanx, which does not read {', '.join(more)}"
        return warning(ABOUT, says, "run the Phalanx that it came with")
    if described != ours:
        return warning(ABOUT, f"{NAME} is of another version: it checks Queues by other rules than ours", remedy)
    return ok(ABOUT, f"{NAME} is defined as this Phalanx reads it, in {_VERSION}")


def _plain(schema: Any) -> Any:
    """Return a schema without what the API's description adds."""
    if isinstance(schema, dict):
        both = schema.get("x-kubernetes-int-or-string") is True
        return {key: _plain(value) for key, value in schema.items() if not (both and key == "anyOf")}
    return [_plain(one) for one in schema] if isinstance(schema, list) else schema


def _fields(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the path of every field in a schema."""
    for name, inside in schema.get("properties", {}).items():
        full = f"{path}.{name}" if path else name
        yield full
        yield from _fields(inside, full)
    for key in ("additionalProperties", "items"):
        if isinstance(schema.get(key), dict):
            yield from _fields(schema[key], f"{path}[]")
