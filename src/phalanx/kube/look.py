"""A look at a cluster: everything that a decision rests on is listed once, and nothing is watched or written."""

import asyncio
import math
from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from phalanx.dialects import table
from phalanx.kube.client import Client, Reply, StreamRefused, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.credentials import load_access
from phalanx.kube.fault import silent
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
    #: The kinds that the cluster has and this user may not list.
    hidden: tuple[Kind, ...] = ()

    @property
    def lines(self) -> list[str]:
        """Say what is hidden, for a person."""
        return [f"left out, because you may not list them: {', '.join(kind.title for kind in self.hidden)}"][
            : len(self.hidden)
        ]


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


def look(
    kubeconfig: str | None, context: str | None, world: World, schedulers: Collection[str], asks: Container[str] = ()
) -> Sight:  # fmt: skip
    """Apply everything that the cluster has to a world, but budgets: who only looks evicts nobody.

    `asks`: what is read only because the policy wants it.
    """
    feed = Feed(world, schedulers, tuple(kind for kind in watched(asks) if kind != BUDGETS))
    return asyncio.run(_look(kubeconfig, context, feed))


def gather(
    kubeconfig: str | None, context: str | None, also: Sequence[Kind] = (), asks: Container[str] = ()
) -> tuple[list[dict[str, Any]], Sight]:
    """Return every object on which a decision rests, as the server has it, and those of other kinds."""
    feed = _Documents(World(), (), (*watched(asks), *also))
    sight = asyncio.run(_look(kubeconfig, context, feed))
    return feed.documents, sight


async def _look(kubeconfig: str | None, context: str | None, feed: Feed) -> Sight:
    async with ReadingClient(load_access(kubeconfig, context)) as client:
        reflectors = [Reflector(client, kind, feed, Log("text"), lambda: None) for kind in feed.kinds]
        return await list_all(client, feed, reflectors, dispensable)


async def list_all(
    client: ReadingClient, feed: Feed, reflectors: Sequence[Reflector], spared: Callable[[Kind], bool]
) -> Sight:
    """List each kind once; `spared` ones may be hidden from us, any other that is raises `LookError`."""
    tries = (_list(client, feed, reflector, spared) for reflector in reflectors)
    seen = await asyncio.gather(*tries, return_exceptions=True)
    # Of several mistakes the first one is told, in the order of the kinds.
    for one in seen:
        if isinstance(one, BaseException):
            raise one
    hidden = (reflector.kind for reflector, visible in zip(reflectors, seen, strict=True) if not visible)
    # In whole seconds, as the times of its objects are.
    return Sight(float(math.floor(client.answered_at or Clock().now())), tuple(hidden))


async def _list(client: Client, feed: Feed, reflector: Reflector, spared: Callable[[Kind], bool]) -> bool:
    """List one kind; return False if it is hidden."""
    kind = reflector.kind
    try:
        await reflector.fetch()
    except StreamRefused as refusal:
        why = f"{kind.title}: cannot be listed at {kind.path}: {_line(refusal)}"
        if refusal.reply.status != 403 or not (spared(kind) or kind.optional):
            raise LookError(why) from None
        # Whether a kind is there at all is not said to who may not list it; discovery tells everybody.
        served = await _serves(client, kind)
        if served and not spared(kind):
            raise LookError(why) from None
        feed.replaced(kind, set())
        return not served
    except Unanswered as silence:
        fault = silent(silence)
        told = [f"{kind.title}: no answer from the API server: {fault.why}"]
        raise LookError("\n".join([*told, *([f"to mend it: {fault.remedy}"] if fault.remedy else [])])) from None
    return True


async def _serves(client: Client, kind: Kind) -> bool:
    """Tell whether the cluster has a kind in any version that is read."""
    plural = kind.path.rpartition("/")[2]
    reply = await client.request("GET", f"/{'apis' if '/' in kind.api_version else 'api'}/{kind.api_version}")
    if reply.status == 404:
        return kind.older is not None and await _serves(client, kind.older)
    return not reply.ok or plural in _plurals(reply)


def _plurals(reply: Reply) -> set[str]:
    return {str(one.get("name")) for one in reply.json().get("resources") or ()}


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
