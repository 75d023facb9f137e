"""The stage: a control plane with Volcano's definitions, a driver that lets groups in and pods live, and what is seen."""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from phalanx.kube.client import Client, Reply
from phalanx.testing.objects import Manifest
from tests.lives.scripts import Life

BATCH, SCHEDULING, BUS = "batch.volcano.sh/v1alpha1", "scheduling.volcano.sh/v1beta1", "bus.volcano.sh/v1alpha1"
MERGE = "application/merge-patch+json"
#: How long nothing may change before everything counts as at rest, and how long that may take.
CALM, PATIENCE = 2.5, 60.0

LISTS = {
    "pods": "/api/v1/pods", "services": "/api/v1/services", "configmaps": "/api/v1/configmaps",
    "secrets": "/api/v1/secrets", "claims": "/api/v1/persistentvolumeclaims",
    "rules": "/apis/networking.k8s.io/v1/networkpolicies", "groups": f"/apis/{SCHEDULING}/podgroups",
    "jobs": f"/apis/{BATCH}/jobs", "events": "/api/v1/events", "commands": f"/apis/{BUS}/commands",
}  # fmt: skip
#: What tells whether anything still happens. Events may come late.
_MOVING = ("pods", "services", "configmaps", "secrets", "claims", "rules", "groups", "jobs", "commands")

#: What is seen after a round, by kind and name.
Picture = dict[str, Any]


class Stage:
    """Acts on the Jobs and looks at them."""

    def __init__(self, client: Client, everyone: Iterable[Life]) -> None:
        self._client = client
        self._lives = {life.name: life for life in everyone}
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
            await self._rest()
            seen = await self._look()
            for life in acting:
                self.pictures[life.name].append(seen[life.name])
        events = await self._list("events")
        for name, rounds in self.pictures.items():
            rounds[-1]["events"] = _events(name, events)
        return self.pictures

    async def _begin(self, life: Life) -> None:
        await self._post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": life.name}})
        for claim in life.claims:
            body = {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }  # fmt: skip
            await self._post(f"/api/v1/namespaces/{life.name}/persistentvolumeclaims", body)

    async def _make(self, life: Life) -> None:
        # Pods are refused before their namespace has its service account.
        for _ in range(200):
            if (await self._client.request("GET", f"/api/v1/namespaces/{life.name}/serviceaccounts/default")).ok:
                break
            await asyncio.sleep(0.1)
        meta = {"name": life.name, "annotations": life.annotations, "labels": life.labels}
        body = {"apiVersion": BATCH, "kind": "Job", "metadata": meta, "spec": life.spec}
        await self._post(f"/apis/{BATCH}/namespaces/{life.name}/jobs", body)

    async def _act(self, life: Life, words: list[str]) -> None:
        match words:
            case ["closed"]:
                self._closed.add(life.name)
            case ["open"]:
                self._closed.discard(life.name)
            case ["wait", seconds]:
                await asyncio.sleep(float(seconds) / 10)
                self._until = time.monotonic() + float(seconds)
            case ["run", *names]:
                await self._each(life, names, {"Pending"}, _status("Running", True))
            case ["succeed", *names]:
                await self._each(life, names, {"Pending", "Running"}, _status("Succeeded", False, 0))
            case ["fail", code, *names]:
                await self._each(life, names, {"Pending", "Running"}, _status("Failed", False, int(code)))
            case ["restarts", count, *names]:
                await self._each(life, names, {"Running"}, _status("Running", True, restarts=int(count)))
            case ["evict", *names]:
                await self._each(life, names, {"Pending", "Running"}, None)
            case ["scale", task, count]:
                await self._scale(life, task, int(count))
            case ["command", action, *rest]:
                await self._command(life, action)
                if rest:
                    await self._act(life, rest)
            case []:
                pass
            case _:
                raise AssertionError(words)

    _until = 0.0
    #: The controller has seen something.
    _begun = False

    async def _each(self, life: Life, names: list[str], phases: set[str], status: Any) -> None:
        for pod in await self._list("pods", life.name):
            short = pod["metadata"]["name"].removeprefix(f"{life.name}-")
            wanted = not names or short in names or short.rpartition("-")[0] in names
            if not wanted or pod["status"]["phase"] not in phases or "deletionTimestamp" in pod["metadata"]:
                continue
            path = f"/api/v1/namespaces/{life.name}/pods/{pod['metadata']['name']}"
            if status is None:
                await self._ask("DELETE", path, {"gracePeriodSeconds": 0})
            else:
                named = [{**one, "name": pod["spec"]["containers"][0]["name"]} for one in status["containerStatuses"]]
                await self._ask("PATCH", f"{path}/status", {"status": {**status, "containerStatuses": named}})

    async def _scale(self, life: Life, task: str, count: int) -> None:
        path = f"/apis/{BATCH}/namespaces/{life.name}/jobs/{life.name}"
        spec = (await self._client.request("GET", path)).json()["spec"]
        for one in spec["tasks"]:
            if one["name"] == task:
                grown = one["minAvailable"] == one["replicas"]
                one |= {"replicas": count} | ({"minAvailable": count} if grown else {})
        least = sum(one["minAvailable"] for one in spec["tasks"])
        await self._ask("PATCH", path, {"spec": {"tasks": spec["tasks"], "minAvailable": least}})

    async def _command(self, life: Life, action: str) -> None:
        path = f"/apis/{BATCH}/namespaces/{life.name}/jobs/{life.name}"
        uid = (await self._client.request("GET", path)).json()["metadata"]["uid"]
        owner = {
            "apiVersion": BATCH, "kind": "Job", "name": life.name, "uid": uid, "controller": True,
            "blockOwnerDeletion": True,
        }  # fmt: skip
        body = {
            "apiVersion": BUS, "kind": "Command", "action": action, "target": owner,
            "metadata": {"generateName": f"{life.name}-{action.lower()}-", "ownerReferences": [owner]},
        }  # fmt: skip
        await self._post(f"/apis/{BUS}/namespaces/{life.name}/commands", body)

    async def _rest(self) -> None:
        """Let groups in until nothing changes any more."""
        start, last, since = time.monotonic(), "", time.monotonic()
        while time.monotonic() - start < PATIENCE:
            await self._let_in()
            now = time.monotonic()
            fresh = await self._versions()
            if fresh != last:
                last, since = fresh, now
            elif now - since > CALM and now > self._until and self._begun:
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
        for kind in _MOVING:
            for one in await self._list(kind):
                meta = one["metadata"]
                if meta["namespace"] in self._lives:
                    self._begun |= kind == "jobs" and bool(one.get("status"))
                    found.append(f"{meta['uid']}{meta['resourceVersion']}")
        return "".join(sorted(found))

    async def _look(self) -> dict[str, Picture]:
        pictures: dict[str, Picture] = {name: {} for name in self._lives}
        for kind in _MOVING:
            for one in await self._list(kind):
                meta = one["metadata"]
                if meta["namespace"] not in pictures or meta["name"] in {"kube-root-ca.crt"}:
                    continue
                pictures[meta["namespace"]].setdefault(kind, {})[_name(meta["name"])] = seen(kind, one)
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


def _status(phase: str, ready: bool, code: int | None = None, restarts: int = 0) -> dict[str, Any]:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    state: dict[str, Any] = {"running": {"startedAt": now}}
    if code is not None:
        state = {"terminated": {"exitCode": code, "startedAt": now, "finishedAt": now}}
    container = {"ready": ready, "restartCount": restarts, "image": "train:1", "imageID": "", "state": state}
    return {"phase": phase, "containerStatuses": [container]}


_CLAIM = re.compile(r"-pvc-[a-z0-9]{12}$")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _name(name: str) -> str:
    return _UID.sub("UID", _CLAIM.sub("-pvc-WORD", name))


def seen(kind: str, one: Manifest) -> Any:
    """Return what counts of an object: no times, no uids, no words that are drawn."""
    meta = one["metadata"]
    owners = [(owner["kind"], owner["name"], bool(owner.get("controller"))) for owner in meta.get("ownerReferences", ())]
    head = {"owners": owners, "labels": meta.get("labels") or {}, "annotations": meta.get("annotations") or {}}
    match kind:
        case "jobs":
            return _job(one)
        case "pods":
            body = {**head, "spec": _pod_spec(one["spec"], one["metadata"]["namespace"]), "phase": one["status"]["phase"]}
        case "configmaps":
            body = {**head, "data": one.get("data") or {}}
        case "secrets":
            import base64

            config = base64.b64decode((one.get("data") or {}).get("config", "")).decode()
            body = {**head, "keys": sorted(one.get("data") or {}), "config": config}
        case "commands":
            body = {"action": one["action"]}
        case _:
            body = {**head, "spec": {k: v for k, v in one["spec"].items() if k not in {"clusterIP", "clusterIPs"}}}
            if kind == "services":
                body["spec"]["headless"] = one["spec"].get("clusterIP") == "None"
    return json.loads(_UID.sub("UID", json.dumps(body)))


def _job(one: Manifest) -> Any:
    status = one.get("status") or {}
    words = ("minAvailable", "pending", "running", "succeeded", "failed", "terminating", "unknown", "retryCount", "version")
    phases: list[str] = []
    for condition in status.get("conditions") or ():
        # As 1.15.1 keeps them: of earlier times of the same phase the last one stays.
        phases = [*(phase for phase in phases if phase != condition["status"]), condition["status"]]
    counts = {name: task.get("phase") or {} for name, task in (status.get("taskStatusCount") or {}).items()}
    resources = {_name(key): _name(value) for key, value in (status.get("controlledResources") or {}).items()}
    return {
        "phase": (status.get("state") or {}).get("phase", ""), "conditions": phases, "tasks": counts,
        "resources": resources, **{word: status.get(word, 0) for word in words},
        "has duration": "runningDuration" in status,
    }  # fmt: skip


def _pod_spec(spec: dict[str, Any], job: str) -> dict[str, Any]:
    """Return a pod's spec without what the API server adds for each; lists that plugins fill in any order, sorted."""
    drawn = {
        one["name"]: f"{job}-WORD-{one['persistentVolumeClaim']['claimName']}"
        for one in spec.get("volumes", ()) if "persistentVolumeClaim" in one
    }  # fmt: skip
    text = json.dumps(spec)
    for name, word in drawn.items():
        text = text.replace(f'"{name}"', f'"{word}"')
    found: dict[str, Any] = json.loads(re.sub(r"-pvc-[a-z0-9]{12}", "-pvc-WORD", text))
    found["volumes"] = _sorted(one for one in found.get("volumes", ()) if not one["name"].startswith("kube-api-access"))
    for container in (*found["containers"], *found.get("initContainers", ())):
        mounts = container.get("volumeMounts", ())
        container["volumeMounts"] = _sorted(one for one in mounts if not one["name"].startswith("kube-api-access"))
        container["env"] = _sorted(container.get("env", ()))
        container["ports"] = _sorted(container.get("ports", ()))
    return found


def _sorted(items: Iterable[Any]) -> list[Any]:
    return sorted(items, key=json.dumps)


def _events(name: str, events: list[Manifest]) -> dict[str, int]:
    """Return the events of a Job: reason and action, how often."""
    found: Counter[str] = Counter()
    for event in events:
        if event["involvedObject"]["kind"] == "Job" and event["metadata"]["namespace"] == name:
            action = next((word for word in re.findall(r"\b[A-Z][a-z]+(?:Job|Task|Pod|Partition)\b", event["message"])), "")
            found[f"{event['reason']} {action}".strip()] += 1
    return dict(sorted(found.items()))


def save(path: Path, pictures: Any) -> None:
    """Write what was seen, each distinct body once."""
    bodies: list[str] = []
    places: dict[str, int] = {}

    def packed(value: Any) -> int:
        text = json.dumps(value, sort_keys=True)
        if text not in places:
            places[text] = len(bodies)
            bodies.append(text)
        return places[text]

    rows = {
        name: [{kind: {of: packed(one) for of, one in objects.items()} for kind, objects in seen_.items()} for seen_ in rounds]
        for name, rounds in pictures.items()
    }  # fmt: skip
    path.write_text('{"bodies": [\n' + ",\n".join(bodies) + '\n],\n"lives": {\n' + ",\n".join(
        f"{json.dumps(name)}: {json.dumps(rounds)}" for name, rounds in rows.items()
    ) + "\n}}\n")  # fmt: skip


def load(path: Path) -> dict[str, list[Picture]]:
    """Read what `save` wrote."""
    found = json.loads(path.read_text())
    bodies = found["bodies"]
    return {
        name: [{kind: {of: bodies[at] for of, at in objects.items()} for kind, objects in one.items()} for one in rounds]
        for name, rounds in found["lives"].items()
    }
