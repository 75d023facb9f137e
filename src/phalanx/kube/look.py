"""A look at a cluster: everything that a decision rests on is listed once, and nothing is watched or written."""

import asyncio
from collections.abc import Collection

from phalanx.kube.client import Client, StreamRefused, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.credentials import load_access
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import BUDGETS, watched
from phalanx.kube.log import Log
from phalanx.kube.reflector import Reflector
from phalanx.world.world import World


class LookError(Exception):
    """The cluster could not be read: one line."""


def look(kubeconfig: str | None, context: str | None, world: World, schedulers: Collection[str]) -> float:
    """Apply everything that the cluster has to a world; return the time of the look."""
    return asyncio.run(_look(kubeconfig, context, world, schedulers))


async def _look(kubeconfig: str | None, context: str | None, world: World, schedulers: Collection[str]) -> float:
    # Who only looks evicts nobody, and need not have the right to list budgets.
    feed = Feed(world, schedulers, tuple(kind for kind in watched() if kind != BUDGETS))
    async with Client(load_access(kubeconfig, context)) as client:
        for kind in feed.kinds:
            try:
                await Reflector(client, kind, feed, Log("text"), lambda: None).fetch()
            except StreamRefused as refusal:
                raise LookError(f"{kind.kind}: cannot be listed at {kind.path}: {_line(refusal)}") from None
            except Unanswered as silence:
                raise LookError(f"{kind.kind}: no answer from the API server: {_line(silence)}") from None
    return Clock().now()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
