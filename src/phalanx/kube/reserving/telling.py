"""What tells a container which of the node's GPUs it has: an annotation in the Binding, or a ConfigMap.

Only what the pod itself reads is waited for and written, and a ConfigMap of somebody else is never touched.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from phalanx.dialects.table import TABLE
from phalanx.kube.client import MERGE_PATCH, Client, Reply, Unanswered
from phalanx.model.keys import GPU_IDS

#: What NVIDIA's container runtime reads.
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_PATH = f"metadata.annotations['{GPU_IDS}']"


class _KeyRef(Struct):
    name: str = ""
    key: str = ""


class _FieldRef(Struct, rename="camel"):
    field_path: str = ""


class _From(Struct, rename="camel"):
    config_map_key_ref: _KeyRef | None = None
    field_ref: _FieldRef | None = None


class _Env(Struct, rename="camel"):
    name: str = ""
    value_from: _From | None = None


class _Container(Struct):
    env: list[_Env] | None = None


class _Spec(Struct, rename="camel"):
    containers: list[_Container] = []
    init_containers: list[_Container] = []


class _Meta(Struct):
    name: str
    namespace: str
    uid: str
    annotations: dict[str, str] | None = None


class Pod(Struct):
    """As much of a pod as says how it learns its devices."""

    metadata: _Meta
    spec: _Spec


_pod = msgspec.json.Decoder(Pod)


@dataclass(frozen=True, slots=True)
class Telling:
    """What a pod reads to learn its devices."""

    pod: Pod
    #: From the annotation in the Binding.
    annotated: bool
    #: By the names of ConfigMaps in its namespace: the keys that it reads there.
    config_maps: Mapping[str, Mapping[str, str]]

    @property
    def wanted(self) -> bool:
        """Tell whether it reads anything."""
        return self.annotated or bool(self.config_maps)

    async def write(self, client: Client) -> str | None:
        """Write the ConfigMaps; return why one cannot be written."""
        for name, data in self.config_maps.items():
            why = await _write(client, self.pod, name, data)
            if why is not None:
                return why
        return None


async def telling_of(client: Client, path: str, uid: str, ids: str, portion: str) -> Telling | None:
    """Return what a pod reads, given what there is to tell; None: it is gone, or there was no answer."""
    reply = await _ask(client, "GET", path)
    if reply is None or not reply.ok:
        return None
    pod = _pod.decode(reply.body)
    return _telling(pod, ids, portion) if pod.metadata.uid == uid else None


def _telling(pod: Pod, ids: str, portion: str) -> Telling:
    said: dict[str, dict[str, str]] = {}
    annotated = False
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        for one in container.env or ():
            source = one.value_from or _From()
            annotated = annotated or (source.field_ref is not None and source.field_ref.field_path == _PATH)
            if one.name == VISIBLE and source.config_map_key_ref is not None:
                said.setdefault(source.config_map_key_ref.name, {})[source.config_map_key_ref.key] = ids
    for words in TABLE.config_maps:
        for name, data in words(pod.metadata.annotations or {}, ids, portion).items():
            said.setdefault(name, {}).update(data)
    return Telling(pod, annotated, said)


async def _write(client: Client, pod: Pod, name: str, data: Mapping[str, str]) -> str | None:
    meta = pod.metadata
    called = f"ConfigMap {meta.namespace}/{name}"
    path = f"/api/v1/namespaces/{meta.namespace}/configmaps"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid}
    body = {
        "apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": name, "namespace": meta.namespace, "ownerReferences": [owner]},
    }  # fmt: skip
    reply = await _ask(client, "POST", path, msgspec.json.encode(body))
    if reply is not None and reply.status == 409:
        there = await _ask(client, "GET", f"{path}/{name}")
        if there is not None and there.ok:
            found = there.json()
            if meta.uid not in {one["uid"] for one in found["metadata"].get("ownerReferences") or ()}:
                return f"{called} is not the pod's own, and would be told the GPU of one pod alone"
            if data.items() <= (found.get("data") or {}).items():
                return None
        reply = await _ask(client, "PATCH", f"{path}/{name}", msgspec.json.encode({"data": data}), MERGE_PATCH)
    if reply is None or not reply.ok:
        return f"{called} could not be written: {reply.message if reply is not None else 'no answer'}"
    return None


async def _ask(
    client: Client, method: str, path: str, body: bytes | None = None, kind: str = "application/json"
) -> Reply | None:
    try:
        return await client.request(method, path, body=body, content_type=kind)
    except Unanswered:
        return None
