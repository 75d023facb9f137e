"""What must be written before a bind, such as volumes or what reserves a shared device; members of a gang together.

Each kind of it is a `Preparation`: writes that may be repeated at any time, and their undoing. A wave is bound when all
its members are prepared; when one cannot be, nobody of it is bound, and what was prepared is undone.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from phalanx.model.plan import Bind


@dataclass(frozen=True, slots=True)
class Prepared:
    """What became of a preparation."""

    #: Why the task cannot be bound there; None: it can.
    refused: str | None = None
    #: What the Binding carries, so that one write says both.
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class _Refused:
    """Whose preparation failed first, and why."""

    bind: Bind
    why: str


class Preparation(Protocol):
    """One kind of what is written before a bind."""

    def wanted(self, bind: Bind) -> bool:
        """Tell whether there is anything to prepare for this task."""
        ...

    async def prepare(self, bind: Bind) -> Prepared:
        """Write it and wait until it is so. It may be there already, from before a crash; it may be cancelled."""
        ...

    def spoiled(self, bind: Bind) -> str | None:
        """Return why what was prepared does not serve any more, now that all others are prepared too; None: it does."""
        ...

    async def undo(self, bind: Bind) -> None:
        """Take back what was written for a task that is not bound there after all, or was never written."""
        ...


class Preparing:
    """Takes binds; hands on those that are prepared, wave by wave."""

    def __init__(
        self, preparations: Sequence[Preparation], ready: Callable[[Collection[Bind]], None],
        refused: Callable[[Bind, str], None],
    ) -> None:  # fmt: skip
        self._preparations = preparations
        self._ready = ready
        self._refused = refused
        self._waves: asyncio.Queue[list[Bind]] = asyncio.Queue()
        self._under_way: dict[asyncio.Task[None], list[Bind]] = {}
        self._undoing: asyncio.Queue[Bind] = asyncio.Queue()
        #: By uid of who is prepared and not bound yet.
        self._annotations: dict[str, Mapping[str, str]] = {}

    def take(self, binds: Collection[Bind]) -> list[Bind]:
        """Take those that need preparation, with the others of their gangs; return the rest."""
        gangs = {bind.gang_key for bind in binds if any(one.wanted(bind) for one in self._preparations)}
        if not gangs:
            return list(binds)
        waves: dict[str, list[Bind]] = {}
        for bind in binds:
            if bind.gang_key in gangs:
                waves.setdefault(bind.gang_key, []).append(bind)
        for wave in waves.values():
            self._waves.put_nowait(wave)
        return [bind for bind in binds if bind.gang_key not in gangs]

    def annotations(self, bind: Bind) -> Mapping[str, str]:
        """Return what the Binding of a task carries."""
        return self._annotations.get(bind.uid, {})

    def settled(self, bind: Bind, *, refused: bool) -> None:
        """Take note of what became of a bind: what was prepared for one that was refused is undone."""
        if self._annotations.pop(bind.uid, None) is not None and refused:
            self._undoing.put_nowait(bind)

    def drop(self) -> list[Bind]:
        """Give back what is not prepared yet. What was written stays: whoever leads now uses it or takes it away."""
        dropped: list[Bind] = []
        while not self._waves.empty():
            dropped += self._waves.get_nowait()
        for task, wave in self._under_way.items():
            task.cancel()
            dropped += wave
        return dropped

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._undo_all())
            while True:
                wave = await self._waves.get()
                task = group.create_task(self._prepare(wave))
                self._under_way[task] = wave

    async def _prepare(self, wave: list[Bind]) -> None:
        try:
            found = await self._together(wave)
        finally:
            task = asyncio.current_task()
            assert task is not None
            del self._under_way[task]
        if not isinstance(found, _Refused):
            self._annotations |= {bind.uid: one.annotations for bind, one in zip(wave, found, strict=True)}
            self._ready(wave)
            return
        for bind in wave:
            self._undoing.put_nowait(bind)
            alone = bind is found.bind or len(wave) == 1
            self._refused(bind, found.why if alone else f"{found.bind.task}: {found.why}")

    async def _together(self, wave: list[Bind]) -> "list[Prepared] | _Refused":
        """Prepare every member; after the first refusal nobody waits for the others."""
        refused: asyncio.Future[_Refused] = asyncio.get_running_loop().create_future()

        async def one(bind: Bind) -> Prepared:
            found = await self._prepared(bind)
            if found.refused is not None and not refused.done():
                refused.set_result(_Refused(bind, found.refused))
            return found

        every = asyncio.gather(*(one(bind) for bind in wave))
        both: set[asyncio.Future[Any]] = {every, refused}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not every.done():
                every.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await every
        return refused.result() if refused.done() else self._spoiled(wave) or every.result()

    def _spoiled(self, wave: list[Bind]) -> _Refused | None:
        """Return who cannot be bound after all: who was prepared early may have lost it before the last one was."""
        for bind in wave:
            for one in self._preparations:
                why = one.spoiled(bind) if one.wanted(bind) else None
                if why is not None:
                    return _Refused(bind, why)
        return None

    async def _prepared(self, bind: Bind) -> Prepared:
        annotations: dict[str, str] = {}
        for one in self._preparations:
            if one.wanted(bind):
                found = await one.prepare(bind)
                if found.refused is not None:
                    return found
                annotations |= found.annotations
        return Prepared(annotations=annotations)

    async def _undo_all(self) -> None:
        while True:
            bind = await self._undoing.get()
            for one in reversed(self._preparations):
                if one.wanted(bind):
                    await one.undo(bind)
