"""Gangs on a cluster as its objects tell of them: listed once, or watched. Nothing is decided or written."""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from phalanx.kube.clock import Clock
from phalanx.kube.credentials import Access
from phalanx.kube.feed import Feed, Known
from phalanx.kube.kinds import BUDGETS, NODES, PODS, STORAGE, Kind, watched, within
from phalanx.kube.log import Log
from phalanx.kube.look import Sight, list_all
from phalanx.kube.reading import ReadingClient
from phalanx.kube.reflector import Reflector
from phalanx.kube.standing import Standing
from phalanx.world.world import World

#: What changes together is shown together.
GATHER = 0.3


class _Work(Protocol):
    async def run(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Scope:
    """Which pods are looked at: those of these schedulers, in one namespace or (None) in all."""

    schedulers: Collection[str]
    namespace: str | None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Return what has a word in gangs. Where there is room is no question here."""
        kinds = [kind for kind in watched() if kind not in {NODES, BUDGETS, *STORAGE}]
        return tuple(kinds if self.namespace is None else (within(kind, self.namespace) for kind in kinds))


class GangWatch:
    """The objects of a scope in a world, and of each pod whether it runs and what it was told."""

    def __init__(self, access: Access, scope: Scope, world: World) -> None:
        self.world = world
        self.clock = Clock()
        self._access = access
        self._feed = Feed(world, scope.schedulers, scope.kinds)

    def known(self, uid: str) -> Known | None:
        """Return what is known of a pod besides the model."""
        return self._feed.of(PODS, uid)

    def once(self) -> Sight:
        """List everything; raise `LookError` if the pods cannot be listed."""

        async def listed() -> Sight:
            async with ReadingClient(self._access) as client:
                return await list_all(client, self._feed, self._reflectors(client, Log("text")), _but_pods)

        return asyncio.run(listed())

    def follow(self, show: Callable[[Sight, Sequence[str]], None], log: Log, pause: float) -> None:
        """Show what there is, and again after each change and each pause, with what keeps us from seeing changes."""

        async def followed() -> None:
            async with ReadingClient(self._access) as client:
                changed, standing = asyncio.Event(), Standing(log)
                reflectors = self._reflectors(client, log, changed.set, standing)
                sight = await list_all(client, self._feed, reflectors, _but_pods)
                seen = [one for one in reflectors if one.kind not in sight.hidden]
                work: list[_Work] = [*seen, standing]

                async def shown() -> None:
                    while True:
                        show(Sight(self.clock.now(), sight.hidden), standing.blocks)
                        with contextlib.suppress(TimeoutError):
                            async with asyncio.timeout(pause):
                                await changed.wait()
                            await asyncio.sleep(GATHER)
                        changed.clear()

                tasks = [asyncio.create_task(task) for task in (shown(), *(one.run() for one in work))]
                try:
                    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        task.result()
                finally:
                    for task in tasks:
                        task.cancel()

        asyncio.run(followed())

    def _reflectors(
        self, client: ReadingClient, log: Log, wake: Callable[[], None] = lambda: None, standing: Standing | None = None
    ) -> list[Reflector]:
        return [Reflector(client, kind, self._feed, log, wake, standing) for kind in self._feed.kinds]


def _but_pods(kind: Kind) -> bool:
    return kind != PODS
