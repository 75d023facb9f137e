"""What must hold on the server after any fault, told by the server alone: its objects and its audit log."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from phalanx.model import quantity
from phalanx.model.keys import GANG, MINIMUM

#: Every bind is written down whole, other writes in a line, reads not at all.
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Request, verbs: [create], resources: [{group: "", resources: [pods/binding]}]}
- {level: Metadata, verbs: [create, update, patch, delete]}
- {level: None}
"""
_OVER = {"Succeeded", "Failed"}


def binds(audit: Path) -> list[dict[str, Any]]:
    """Return every attempt to bind: who, which pod, which node, the server's answer."""
    found = []
    for line in audit.read_text().splitlines():
        entry = json.loads(line)
        reference = entry.get("objectRef") or {}
        if (reference.get("resource"), reference.get("subresource")) == ("pods", "binding"):
            asked = entry["requestObject"]
            found.append({
                "user": entry["user"]["username"],
                "pod": f"{reference['namespace']}/{reference['name']}",
                "uid": asked["metadata"]["uid"],
                "node": asked["target"]["name"],
                "code": (entry.get("responseStatus") or {}).get("code"),
                "at": entry["requestReceivedTimestamp"],
            })  # fmt: skip
    return found


def faults(pods: Iterable[dict[str, Any]], nodes: Iterable[dict[str, Any]], audit: Path) -> list[str]:
    """Return every broken promise in words: none is what a test wants to see."""
    pods = list(pods)
    return [*_bound_twice(pods, audit), *split_gangs(pods), *_overfull_nodes(pods, nodes)]


def _bound_twice(pods: list[dict[str, Any]], audit: Path) -> list[str]:
    attempts = binds(audit)
    landed = Counter(attempt["uid"] for attempt in attempts if attempt["code"] == 201)
    tried = defaultdict(set)
    for attempt in attempts:
        tried[attempt["uid"]].add(attempt["node"])
    found = [f"uid {uid} was bound {times} times" for uid, times in landed.items() if times > 1]
    for pod in pods:
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        if node is not None and tried[uid] and node not in tried[uid]:
            found.append(f"{pod['metadata']['name']} is on {node}, where nobody has put it")
    return found


def split_gangs(pods: Iterable[dict[str, Any]]) -> list[str]:
    """Return the gangs of which some are on nodes, and too few."""
    minimum: dict[str, int] = {}
    there: Counter[str] = Counter()
    for pod in pods:
        said = pod["metadata"].get("annotations") or {}
        if GANG in said:
            gang = f"{pod['metadata']['namespace']}/{said[GANG]}"
            minimum[gang] = int(said[MINIMUM])
            there[gang] += _on_node(pod)
    return [
        f"gang {gang} has {there[gang]} of {least} on nodes"
        for gang, least in minimum.items()
        if 0 < there[gang] < least
    ]


def _overfull_nodes(pods: list[dict[str, Any]], nodes: Iterable[dict[str, Any]]) -> list[str]:
    used: dict[str, Counter[str]] = defaultdict(Counter)
    for pod in pods:
        if _on_node(pod):
            used[pod["spec"]["nodeName"]].update(requests(pod))
    found = []
    for node in nodes:
        name = node["metadata"]["name"]
        room = {key: quantity.capacity(amount, key) for key, amount in node["status"]["allocatable"].items()}
        over = [key for key, amount in used[name].items() if amount > room.get(key, 0)]
        found += [f"node {name} has more {key} given away than it has" for key in over]
    return found


def requests(pod: dict[str, Any]) -> dict[str, int]:
    """Return what a plain pod asks for: the sum over its containers, and one of the node's pods."""
    total = {"pods": quantity.request("1", "pods")}
    for container in pod["spec"]["containers"]:
        for name, amount in (container.get("resources", {}).get("requests") or {}).items():
            total[name] = total.get(name, 0) + quantity.request(amount, name)
    return total


def _on_node(pod: dict[str, Any]) -> bool:
    return "nodeName" in pod["spec"] and pod["status"].get("phase") not in _OVER
