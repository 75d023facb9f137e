"""The stage: what lets groups in and pods live, and looks at everything when it has come to rest."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec

from phalanx.kube.client import Client, Reply
from phalanx.testing.objects import Manifest
from tests.lives.pictures import Picture, events_of, name_of, seen
from tests.lives.scripts import Life

BATCH, SCHEDULING, BUS = "batch.volcano.sh/v1alpha1", "scheduling.volcano.sh/v1beta1", "bus.volcano.sh/v1alpha1"
MERGE = "application/merge-patch+json"
#: How long nothing may change before everything counts as at rest, and how long that may take.
CALM, PATIENCE = 2.5, 120.0
#: The same while replicas are killed: the next one must have found out that it leads.
DISTURBED = 8.0

LISTS = {
    "pods": "/api/v1/pods", "services": "/api/v1/services", "configmaps": "/api/v1/configmaps",
    "secrets": "/api/v1/secrets", "claims": "/api/v1/persistentvolumeclaims",
    "rules": "/apis/networking.k8s.io/v1/networkpolicies", "groups": f"/apis/{SCHEDULING}/podgroups",
    "jobs": f"/apis/{BATCH}/jobs", "events": "/api/v1/events", "commands": f"/apis/{BUS}/commands",
}  # fmt: skip
#: What tells whether anything still happens. Events may come late.
_MOVING = ("pods", "services", "configmaps", "secrets", "claims", "rules", "groups", "jobs", "commands")


class Stage:
    """Acts on the Jobs and looks at them."""

    def __init__(
        self, client: Client, everyone: Iterable[Life], disturb: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """`disturb`: what befalls the controller in every round, before everything comes to rest."""
        self._client, self._disturb = client, disturb
        self._calm = CALM if disturb is None else DISTURBED
        self._lives = {life.place: life for life in everyone}
        self._closed: set[str] = set()
        #: Bodies of pods by what they look like, so that each is kept once.
        self.pictures: dict[str, list[Picture]] = {name: [] for name in self._lives}

    async def play(self) -> dict[str, list[Picture]]:
        """Let every Job live its rounds, all beside each other; return what was seen after each."""
        for life in self._lives.values():
            await self._begin(life)
        for number in range(max(len(life.rounds) for life in self._lives.values())):
            acting = [life for life in self._lives.values() if number < len(life.rounds)]
            for life in acting:
                for action in life.rounds[number].split("; "):
                    await self._act(life, action.split())
            if not number:
                for life in acting:
                    await self._make(life)
            if self._disturb is not None:
                await asyncio.gather(self._disturb(), self._keep_letting_in())
            await self._rest()
            seen = await self._look()
            for life in acting:
                self.pictures[life.place].append(seen[life.place])
        events = await self._list("events")
        for name, rounds in self.pictures.items():
            rounds[-1]["events"] = events_of(name, events)
        return self.pictures

    async def _begin(self, life: Life) -> None:
        await self._post(
            "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": life.place}}
        )
        for claim in life.claims:
            body = {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }  # fmt: skip
            await self._post(f"/api/v1/namespaces/{life.place}/persistentvolumeclaims", body)

    async def _make(self, life: Life) -> None:
        # Pods are refused before their namespace has its service account.
        for _ in range(200):
            if (await self._client.request("GET", f"/api/v1/namespaces/{life.place}/serviceaccounts/default")).ok:
                break
            await asyncio.sleep(0.1)
        meta = {"name": life.name, "annotations": life.annotations, "labels": life.labels}
        body = {"apiVersion": BATCH, "kind": "Job", "metadata": meta, "spec": life.spec}
        await self._post(f"/apis/{BATCH}/namespaces/{life.place}/jobs", body)

    async def _act(self, life: Life, words: list[str]) -> None:
        what, *rest = words or [""]
        alive = {"Pending", "Running"}
        if what in {"closed", "open"}:
            (self._closed.add if what == "closed" else self._closed.discard)(life.place)
        elif what == "wait":
            self._until = time.monotonic() + float(rest[0])
        elif what == "run":
            await self._each(life, rest, {"Pending"}, _status("Running", ready=True))
        elif what == "succeed":
            await self._each(life, rest, alive, _status("Succeeded", code=0))
        elif what == "fail":
            await self._each(life, rest[1:], alive, _status("Failed", code=int(rest[0])))
        elif what == "restarts":
            await self._each(life, rest[1:], {"Running"}, _status("Running", ready=True, restarts=int(rest[0])))
        elif what == "evict":
            await self._each(life, rest, alive, None)
        elif what == "scale":
            await self._scale(life, rest[0], int(rest[1]))
        elif what == "command":
            await self._command(life, rest[0])
            await self._act(life, rest[1:])
        else:
            assert not what, words

    _until = 0.0
    #: Jobs whose pods are still to come: keys for ssh take their time.
    _awaited = False
    #: The controller has seen something.
    _begun = False

    async def _each(self, life: Life, names: list[str], phases: set[str], status: Any) -> None:
        for pod in await self._list("pods", life.place):
            short = pod["metadata"]["name"].removeprefix(f"{life.name}-")
            wanted = not names or short in names or short.rpartition("-")[0] in names
            if not wanted or pod["status"]["phase"] not in phases or "deletionTimestamp" in pod["metadata"]:
                continue
            path = f"/api/v1/namespaces/{life.place}/pods/{pod['metadata']['name']}"
            if status is None:
                await self._ask("DELETE", path, {"gracePeriodSeconds": 0})
            else:
                named = [{**one, "name": pod["spec"]["containers"][0]["name"]} for one in status["containerStatuses"]]
                await self._ask("PATCH", f"{path}/status", {"status": {**status, "containerStatuses": named}})

    async def _scale(self, life: Life, task: str, count: int) -> None:
        path = f"/apis/{BATCH}/namespaces/{life.place}/jobs/{life.name}"
        spec = (await self._client.request("GET", path)).json()["spec"]
        for one in spec["tasks"]:
            if one["name"] == task:
                grown = one["minAvailable"] == one["replicas"]
                one.update({"replicas": count} | ({"minAvailable": count} if grown else {}))
        least = sum(one["minAvailable"] for one in spec["tasks"])
        await self._ask("PATCH", path, {"spec": {"tasks": spec["tasks"], "minAvailable": least}})

    async def _command(self, life: Life, action: str) -> None:
        path = f"/apis/{BATCH}/namespaces/{life.place}/jobs/{life.name}"
        uid = (await self._client.request("GET", path)).json()["metadata"]["uid"]
        owner = {
            "apiVersion": BATCH, "kind": "Job", "name": life.name, "uid": uid, "controller": True,
            "blockOwnerDeletion": True,
        }  # fmt: skip
        body = {
            "apiVersion": BUS, "kind": "Command", "action": action, "target": owner,
            "metadata": {"generateName": f"{life.name}-{action.lower()}-", "ownerReferences": [owner]},
        }  # fmt: skip
        await self._post(f"/apis/{BUS}/namespaces/{life.place}/commands", body)

    async def _keep_letting_in(self) -> None:
        for _ in range(20):
            await self._let_in()
            await asyncio.sleep(0.2)

    async def _rest(self) -> None:
        """Let groups in until nothing changes any more."""
        start, last, since = time.monotonic(), "", time.monotonic()
        while time.monotonic() - start < PATIENCE:
            await self._let_in()
            now = time.monotonic()
            fresh = await self._versions()
            if fresh != last:
                last, since = fresh, now
            elif now - since > self._calm and now > self._until and self._begun and not self._awaited:
                return
            await asyncio.sleep(0.2)

    async def _let_in(self) -> None:
        for group in await self._list("groups"):
            meta = group["metadata"]
            phase = (group.get("status") or {}).get("phase", "")
            if meta["namespace"] in self._lives.keys() - self._closed and phase in {"", "Pending"}:
                path = f"/apis/{SCHEDULING}/namespaces/{meta['namespace']}/podgroups/{meta['name']}"
                await self._ask("PATCH", path, {"status": {"phase": "Inqueue"}})

    async def _versions(self) -> str:
        found = []
        peopled: set[str] = set()
        pending: set[str] = set()
        for kind in _MOVING:
            for one in await self._list(kind):
                meta = one["metadata"]
                if meta["namespace"] in self._lives:
                    self._begun |= kind == "jobs" and bool(one.get("status"))
                    found.append(f"{meta['uid']}{meta['resourceVersion']}")
                    if kind == "pods":
                        peopled.add(meta["namespace"])
                    if kind == "jobs" and ((one.get("status") or {}).get("state") or {}).get("phase") == "Pending":
                        pending.add(meta["namespace"])
        self._awaited = bool(pending - peopled - self._closed)
        return "".join(sorted(found))

    async def _look(self) -> dict[str, Picture]:
        pictures: dict[str, Picture] = {name: {} for name in self._lives}
        for kind in _MOVING:
            for one in await self._list(kind):
                meta = one["metadata"]
                if meta["namespace"] not in pictures or meta["name"] == "kube-root-ca.crt":
                    continue
                picture = pictures[meta["namespace"]]
                picture.setdefault(kind, {})[name_of(meta["name"])] = seen(kind, one)
                if kind == "pods":
                    picture.setdefault("phases", {})[meta["name"]] = one["status"]["phase"]
        return pictures

    async def _list(self, kind: str, namespace: str | None = None) -> list[Manifest]:
        path = LISTS[kind]
        if namespace is not None:
            root, _, plural = path.rpartition("/")
            path = f"{root}/namespaces/{namespace}/{plural}"
        reply = await self._client.request("GET", path)
        while reply.status == 429:
            # A definition that was just made.
            await asyncio.sleep(0.2)
            reply = await self._client.request("GET", path)
        assert reply.ok, reply.message
        items: list[Manifest] = reply.json()["items"]
        return items

    async def _post(self, path: str, body: Manifest) -> None:
        reply = await self._client.request("POST", path, body=msgspec.json.encode(body))
        assert reply.ok, f"{path}: {reply.message}"

    async def _ask(self, method: str, path: str, body: Manifest) -> Reply:
        kind = MERGE if method == "PATCH" else "application/json"
        return await self._client.request(method, path, body=msgspec.json.encode(body), content_type=kind)


def _status(phase: str, *, ready: bool = False, code: int | None = None, restarts: int = 0) -> dict[str, Any]:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    state: dict[str, Any] = {"running": {"startedAt": now}}
    if code is not None:
        state = {"terminated": {"exitCode": code, "startedAt": now, "finishedAt": now}}
    container = {"ready": ready, "restartCount": restarts, "image": "train:1", "imageID": "", "state": state}
    return {"phase": phase, "containerStatuses": [container]}
