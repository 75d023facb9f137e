"""A look at a cluster: everything that a decision rests on is listed once, and nothing is watched or written."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import msgspec

from phalanx.dialects import table
from phalanx.kube.client import Client, Reply, StreamRefused, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.credentials import load_access
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import BUDGETS, Kind, watched
from phalanx.kube.log import Log
from phalanx.kube.reading import ReadingClient
from phalanx.kube.reflector import Reflector
from phalanx.world.world import World


class LookError(Exception):
    """The cluster could not be read: one line."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What was found besides the objects."""

    #: The cluster's time, by its own clock.
    now: float
    #: A line for each kind that the cluster has and this user may not list.
    hidden: tuple[str, ...] = ()


@dataclass(slots=True)
class _Documents(Feed):
    """Keeps objects as they are instead of reading them."""

    documents: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def put(self, kind: Kind, raw: msgspec.Raw, *, listed: bool = False, api_version: str | None = None) -> str:
        del listed
        # The items of a list do not say what they are.
        head = {"apiVersion": api_version or kind.api_version, "kind": kind.kind}
        self.documents.append(head | msgspec.json.decode(raw))
        return ""


def dispensable(kind: Kind) -> bool:
    """Tell a kind without which a decision is still honest: pods that refer to what is not seen wait, and say so."""
    known = table.TABLE.kind(kind.kind, kind.api_version)
    return kind.optional and not (known and known.queue)


def look(kubeconfig: str | None, context: str | None, world: World, schedulers: Collection[str]) -> Sight:
    """Apply everything that the cluster has to a world, but budgets: who only looks evicts nobody."""
    feed = Feed(world, schedulers, tuple(kind for kind in watched() if kind != BUDGETS))
    return asyncio.run(_look(kubeconfig, context, feed))


def gather(kubeconfig: str | None, context: str | None) -> tuple[list[dict[str, Any]], Sight]:
    """Return every object on which a decision rests, as the server has it."""
    feed = _Documents(World(), ())
    sight = asyncio.run(_look(kubeconfig, context, feed))
    return feed.documents, sight


async def _look(kubeconfig: str | None, context: str | None, feed: Feed) -> Sight:
    async with ReadingClient(load_access(kubeconfig, context)) as client:
        hidden = await list_all(client, feed, dispensable)
        return Sight(client.answered_at or Clock().now(), tuple(hidden))


async def list_all(client: Client, feed: Feed, spared: Callable[[Kind], bool]) -> list[str]:
    """List each kind of a feed once; return a line for each of those that may be spared and may not be listed."""
    found = await asyncio.gather(*(_list(client, feed, kind, spared) for kind in feed.kinds), return_exceptions=True)
    # Of several mistakes the first one is told, in the order of the kinds.
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return [line for line in found if isinstance(line, str)]


async def _list(client: Client, feed: Feed, kind: Kind, spared: Callable[[Kind], bool]) -> str | None:
    try:
        await Reflector(client, kind, feed, Log("text"), lambda: None).fetch()
    except StreamRefused as refusal:
        why = f"{kind.title}: cannot be listed at {kind.path}: {_line(refusal)}"
        if refusal.reply.status != 403 or not (spared(kind) or kind.optional):
            raise LookError(why) from None
        # Whether a kind is there at all is not said to who may not list it; discovery tells everybody.
        served = await _serves(client, kind)
        if served and not spared(kind):
            raise LookError(why) from None
        feed.replaced(kind, set())
        return why if served else None
    except Unanswered as silence:
        raise LookError(f"{kind.title}: no answer from the API server: {_line(silence)}") from None
    return None


async def _serves(client: Client, kind: Kind) -> bool:
    """Tell whether the cluster has a kind in any version that is read."""
    group_version, _, plural = kind.path.rpartition("/")
    reply = await client.request("GET", group_version)
    if reply.status == 404:
        return kind.older is not None and await _serves(client, kind.older)
    return not reply.ok or plural in _plurals(reply)


def _plurals(reply: Reply) -> set[str]:
    return {str(one.get("name")) for one in reply.json().get("resources") or ()}


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
