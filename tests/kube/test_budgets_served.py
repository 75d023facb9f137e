"""Disruption budgets of a real cluster: what the disruption controller counted is what the world goes by."""

import asyncio
import json
from typing import Any

from phalanx.kube.client import Client
from phalanx.kube.credentials import load_access
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import BUDGETS, NAMESPACES, NODES, PODS
from phalanx.kube.log import Log
from phalanx.kube.reflector import Reflector
from phalanx.model.budget import Budget
from phalanx.testing.control_plane import ControlPlane, node_manifest
from phalanx.testing.running import eventually
from phalanx.world.world import World

NAMESPACE = "budgets-served"


def pod(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": "web"}},
        "spec": {
            "schedulerName": "phalanx",
            "nodeName": "budgets-1",
            "containers": [{"name": "main", "image": "x"}],
        },
    }


def listed(feed: Feed, plane: ControlPlane) -> World:
    """List once more, as a scheduler does that has lost its watch."""

    async def fetch() -> None:
        async with Client(load_access(str(plane.kubeconfig), None)) as client:
            for kind in feed.kinds:
                await Reflector(client, kind, feed, Log("text"), lambda: None).fetch()

    asyncio.run(fetch())
    return feed.world


def seen(world: World) -> Budget | None:
    return world.budgets.seen.get(f"{NAMESPACE}/web")


def test_a_budget_counts_as_the_cluster_counted_it_and_is_gone_when_it_is_deleted(control_plane: ControlPlane) -> None:
    plane = control_plane
    plane.kubectl("create", "namespace", NAMESPACE)
    # A controller may have made it already.
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": NAMESPACE}}
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(account))
    plane.kubectl("create", "-f", "-", stdin=json.dumps(node_manifest("budgets-1")))
    for name in ("a", "b", "c"):
        plane.kubectl("create", "-f", "-", stdin=json.dumps(pod(name)))
        ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
        patch = ["--subresource=status", "--type=merge", "-p", json.dumps(ready)]
        plane.kubectl("patch", "pod", name, "-n", NAMESPACE, *patch)
    feed = Feed(World(), ["phalanx"], (NODES, NAMESPACES, PODS, BUDGETS))
    assert seen(listed(feed, plane)) is None

    made = ["create", "pdb", "web", "-n", NAMESPACE, "--selector=app=web", "--min-available=2"]
    plane.kubectl(*made)
    budget = eventually("counted", lambda: (one := seen(listed(feed, plane))) and one.allowed and one)
    assert (budget.allowed, budget.healthy) == (1, 2)
    feed.world.look_for_victims(wanted=True)
    running = feed.world.compile(0.0).running
    assert (running.budget.tolist(), running.budgets.tolist()) == ([0, 0, 0], [1])

    plane.kubectl("delete", "pdb", "web", "-n", NAMESPACE)
    plane.kubectl(*made)
    assert seen(listed(feed, plane)) is not None, "the one that was made since stays"
    plane.kubectl("delete", "pdb", "web", "-n", NAMESPACE)
    assert seen(listed(feed, plane)) is None
    plane.kubectl("delete", "pod", "a", "b", "c", "-n", NAMESPACE, "--force", "--grace-period=0")
    plane.kubectl("delete", "node", "budgets-1")
