"""Queues are opened and closed by Commands, as by Volcano's own controller (`vcctl queue operate`). The leader acts."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from phalanx.controllers.volcano.hands import CONTENT
from phalanx.controllers.volcano.queue_states import CLOSE_QUEUE, OPEN, OPEN_QUEUE, ROOT, Seen, Step, asked, following
from phalanx.controllers.volcano.rival import Rival
from phalanx.controllers.volcano.store import COMMANDS
from phalanx.dialects.volcano.pods import GROUP
from phalanx.kube.client import Unanswered
from phalanx.kube.kinds import Kind
from phalanx.kube.reflector import Reflector
from phalanx.kube.scheduler import Scheduler
from phalanx.world.views import groups_of

QUEUES = Kind("Queue", f"{GROUP}/v1beta1", f"/apis/{GROUP}/v1beta1/queues", optional=True)
_GROUPS = f"PodGroup.{GROUP}"
BY_PARENT = "volcano.sh/closed-by-parent"
#: How often groups are counted while nothing else happens.
_LOOK = 1.0


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    uid: str = ""
    namespace: str = ""
    annotations: dict[str, str] | None = None
    creation_timestamp: str = ""


class _Spec(msgspec.Struct):
    parent: str | None = None


class _Status(msgspec.Struct):
    state: str | None = None


class _Queue(msgspec.Struct):
    metadata: _Meta
    spec: _Spec | None = None
    status: _Status | None = None


class _Target(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class _Command(msgspec.Struct):
    metadata: _Meta
    action: str = ""
    target: _Target | None = None


_queue, _command = msgspec.json.Decoder(_Queue), msgspec.json.Decoder(_Command)


@dataclass(slots=True)
class Books:
    """The Queues and the Commands for them, by uid."""

    queues: dict[str, Seen] = field(default_factory=dict[str, Seen])
    commands: dict[str, _Command] = field(default_factory=dict[str, _Command])
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    _synced: set[Kind] = field(default_factory=set[Kind])

    @property
    def ready(self) -> bool:
        """Tell whether both kinds were listed."""
        return self._synced == {QUEUES, COMMANDS}

    def put(self, kind: Kind, raw: msgspec.Raw, *, listed: bool = False, api_version: str | None = None) -> str:
        """Take an object as it is now; return its uid."""
        del listed, api_version
        if kind is QUEUES:
            one = _queue.decode(raw)
            self.queues[one.metadata.uid] = _seen(one)
            self.changed.set()
            return one.metadata.uid
        asks = _command.decode(raw)
        if asks.target is not None and asks.target.kind == "Queue" and asks.target.api_version.startswith(GROUP):
            self.commands[asks.metadata.uid] = asks
            self.changed.set()
        return asks.metadata.uid

    def gone(self, kind: Kind, raw: msgspec.Raw) -> None:
        """Take a deletion."""
        (self.queues if kind is QUEUES else self.commands).pop(_queue.decode(raw).metadata.uid, None)
        self.changed.set()

    def replaced(self, kind: Kind, seen: set[str]) -> None:
        """A list is complete: these are all."""
        known: dict[str, Any] = self.queues if kind is QUEUES else self.commands
        for uid in known.keys() - seen:
            del known[uid]
        self._synced.add(kind)
        self.changed.set()

    def unsync(self, kind: Kind) -> None:
        """Do nothing until this kind was listed again."""
        self._synced.discard(kind)

    def forget_versions(self, *kinds: Kind) -> None:
        """Every object that comes is read."""

    def heard(self, kind: Kind) -> None:
        """Nobody asks when."""


class Queues:
    """One controller of Queues, in the process of a scheduler: with its lease, its events and its fence."""

    def __init__(self, host: Scheduler, rival: Rival) -> None:
        """`rival`: whether Volcano's own controller is there; somebody else looks."""
        self._host, self._rival = host, rival
        self.books = Books()
        self._said: dict[str, str] = {}
        self._reflectors = [
            Reflector(host.client, kind, self.books, host.log, lambda: None, host.standing)
            for kind in (QUEUES, COMMANDS)
        ]

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for one in self._reflectors:
                group.create_task(one.run())
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK):
                        await self.books.changed.wait()
                self.books.changed.clear()
                if self.books.ready and self._may_act():
                    with contextlib.suppress(Unanswered):
                        await self._look()

    def _may_act(self) -> bool:
        return self._rival.gone and self._host.may_write()

    async def _look(self) -> None:
        waiting = self.books.commands.items()
        for uid, command in sorted(waiting, key=lambda one: (one[1].metadata.creation_timestamp, one[0])):
            # In the order in which they were given: a later one must not be undone by an earlier one.
            if not await self._obey(uid, command):
                return
        while steps := list(following(self._by_name(), self._groups())):
            if not all([await self._carry_out(step) for step in steps]):
                return

    async def _obey(self, uid: str, command: _Command) -> bool:
        """Do what is asked, and then delete the Command: done twice it is the same, and it is never lost."""
        target = command.target
        queue = self._by_name().get(target.name) if target is not None else None
        if queue is not None and target is not None and target.uid in {"", queue.uid}:
            step = asked(queue, self._by_name(), self._groups(), command.action)
            if not await self._carry_out(step) and not step.refusal:
                return False
        path = f"/apis/{COMMANDS.api_version}/namespaces/{command.metadata.namespace}/commands/{command.metadata.name}"
        if not self._may_act():
            return False
        body = msgspec.json.encode({"preconditions": {"uid": uid}})
        reply = await self._host.client.request("DELETE", path, body=body)
        if not reply.ok and reply.status not in {404, 409}:
            self._say(command.metadata.name, "command-not-deleted", reply.message)
            return False
        self.books.commands.pop(uid, None)
        return True

    async def _carry_out(self, step: Step) -> bool:
        """Write one step; the mark first, so that a crash between the two leaves no queue closed for ever."""
        if step.refusal:
            self._tell(step, "Warning", step.refusal)
            return False
        done = True
        if step.by_parent is not None:
            mark = {"metadata": {"uid": step.queue.uid, "annotations": {BY_PARENT: str(step.by_parent).lower()}}}
            done = await self._patch(step, "", mark)
        if done and step.state is not None:
            done = await self._patch(
                step, "/status", {"metadata": {"uid": step.queue.uid}, "status": {"state": step.state}}
            )
            if done:
                self._tell(step, "Normal", f"{step.queue.state or 'new'} -> {step.state}")
        return done

    async def _patch(self, step: Step, part: str, body: Mapping[str, Any]) -> bool:
        if not self._may_act():
            return False
        path = f"{QUEUES.path}/{step.queue.name}{part}"
        reply = await self._host.client.request("PATCH", path, body=msgspec.json.encode(body), content_type=CONTENT)
        if reply.ok:
            self.books.put(QUEUES, msgspec.Raw(reply.body))
        elif reply.status not in {404, 409}:
            self._say(step.queue.name, "queue-not-written", reply.message)
        return reply.ok

    def _say(self, name: str, what: str, why: str) -> None:
        """Say what went wrong with an object once."""
        if self._said.get(name) != why:
            self._said[name] = why
            self._host.log.say(what, object=name, why=why)

    def _by_name(self) -> dict[str, Seen]:
        return {one.name: one for one in sorted(self.books.queues.values(), key=lambda one: one.name)}

    def _groups(self) -> Counter[str]:
        """Return how many groups are in each queue, finished ones too."""
        groups = groups_of(self._host.world)
        return Counter(seen.groups[0].queue or "" for owner, seen in groups.items() if owner.kind == _GROUPS)

    def _tell(self, step: Step, kind: str, text: str) -> None:
        one = step.queue
        regarding = {"kind": "Queue", "apiVersion": QUEUES.api_version, "name": one.name, "uid": one.uid}
        reason = step.action or (OPEN_QUEUE if step.state == OPEN else CLOSE_QUEUE)
        self._host.telling.events.about(regarding, kind, reason, "Controlling", text)


def _seen(one: _Queue) -> Seen:
    meta = one.metadata
    marked = (meta.annotations or {}).get(BY_PARENT) == "true"
    parent = (one.spec.parent if one.spec else None) or ("" if meta.name == ROOT else ROOT)
    return Seen(meta.name, meta.uid, parent, (one.status.state if one.status else None) or "", marked)
