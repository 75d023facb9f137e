"""Evictions go through the Eviction API, for this very pod and no other of its name."""

import msgspec

from phalanx.kube.feed import Feed
from phalanx.kube.kinds import PODS
from phalanx.kube.writes import Write, Writes
from phalanx.model.task import Task


def evict(writes: Writes, feed: Feed, task: Task) -> None:
    """Queue the eviction of one pod. A budget that forbids it answers 429, and it is tried again."""
    known = feed.of(PODS, task.uid)
    if known is None:
        return
    body = {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": known.name, "namespace": known.namespace},
        "deleteOptions": {"preconditions": {"uid": task.uid}},
    }  # fmt: skip
    path = f"/api/v1/namespaces/{known.namespace}/pods/{known.name}/eviction"
    writes.submit(Write("POST", path, msgspec.json.encode(body)))
