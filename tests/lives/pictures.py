"""Pictures: what counts of the objects of a Job, without times, uids and words that are drawn; kept as a file."""

import base64
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from phalanx.testing.objects import Manifest

#: What is seen after a round, by kind and name.
Picture = dict[str, Any]

_CLAIM = re.compile(r"-pvc-[a-z0-9]{12}$")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def name_of(name: str) -> str:
    return _UID.sub("UID", _CLAIM.sub("-pvc-WORD", name))


def seen(kind: str, one: Manifest) -> Any:
    """Return what counts of an object: no times, no uids, no words that are drawn."""
    meta = one["metadata"]
    owners = [
        (owner["kind"], owner["name"], bool(owner.get("controller"))) for owner in meta.get("ownerReferences", ())
    ]
    head: dict[str, Any] = {
        "owners": owners,
        "labels": meta.get("labels") or {},
        "annotations": meta.get("annotations") or {},
    }
    match kind:
        case "jobs":
            return _job(one)
        case "pods":
            body = {**head, "spec": _pod_spec(one["spec"], meta["labels"]["volcano.sh/job-name"])}
        case "configmaps":
            body = {**head, "data": one.get("data") or {}}
        case "secrets":
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
    words = (
        "minAvailable",
        "pending",
        "running",
        "succeeded",
        "failed",
        "terminating",
        "unknown",
        "retryCount",
        "version",
    )
    phases: list[str] = []
    for condition in status.get("conditions") or ():
        # As 1.15.1 keeps them: of earlier times of the same phase the last one stays.
        phases = [*(phase for phase in phases if phase != condition["status"]), condition["status"]]
    counts = {name: task.get("phase") or {} for name, task in (status.get("taskStatusCount") or {}).items()}
    resources = {name_of(key): name_of(value) for key, value in (status.get("controlledResources") or {}).items()}
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


def events_of(name: str, events: list[Manifest]) -> dict[str, int]:
    """Return the events of a Job: reason and action, how often."""
    found: Counter[str] = Counter()
    for event in events:
        if event["involvedObject"]["kind"] == "Job" and event["metadata"]["namespace"] == name:
            action = next(
                (word for word in re.findall(r"\b[A-Z][a-z]+(?:Job|Task|Pod|Partition)\b", event["message"])), ""
            )
            found[f"{event['reason']} {action}".strip()] += event.get("count") or 1
    return dict(sorted(found.items()))


def save(path: Path, pictures: Any) -> None:
    """Write what was seen, each distinct body once."""
    bodies: list[str] = []
    places: dict[str, int] = {}

    def packed(value: Any) -> int:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
        if text not in places:
            places[text] = len(bodies)
            bodies.append(text)
        return places[text]

    rows = {
        name: [
            {kind: {of: packed(one) for of, one in objects.items()} for kind, objects in picture.items()}
            for picture in rounds
        ]
        for name, rounds in pictures.items()
    }
    path.write_text('{"bodies": [\n' + ",\n".join(bodies) + '\n],\n"lives": {\n' + ",\n".join(
        f"{json.dumps(name)}: {json.dumps(rounds, separators=(',', ':'))}" for name, rounds in rows.items()
    ) + "\n}}\n")  # fmt: skip


def load(path: Path) -> dict[str, list[Picture]]:
    """Read what `save` wrote."""
    found = json.loads(path.read_text())
    bodies = found["bodies"]
    return {
        name: [
            {kind: {of: bodies[at] for of, at in objects.items()} for kind, objects in one.items()} for one in rounds
        ]
        for name, rounds in found["lives"].items()
    }


def moved(value: Any, namespace: str) -> Any:
    """Return what was seen of a Job as if it were in another namespace."""
    if isinstance(value, dict):
        where = "volcano.sh/job-namespace"
        return {key: namespace if key == where else moved(one, namespace) for key, one in value.items()}
    return [moved(one, namespace) for one in value] if isinstance(value, list) else value
