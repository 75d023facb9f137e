"""What must be written before a bind is written for the whole wave, or nobody of it is bound."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from phalanx.kube.binder import Binder, Settled
from phalanx.kube.client import Reply
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import PODS
from phalanx.kube.log import Log
from phalanx.kube.prepare import Prepared
from phalanx.model.outcome import Result
from phalanx.model.plan import Bind
from phalanx.testing.objects import pod_manifest
from phalanx.world.world import World

NAMES = ("a", "b", "c")


def bind_of(name: str, gang: str) -> Bind:
    return Bind(f"default/{name}", name, "n1", f"default/{gang}", gang)


A, B, C = bind_of("a", "pair"), bind_of("b", "pair"), bind_of("c", "single")


class Server:
    """Keeps what it is sent, and refuses the binds of these pods."""

    def __init__(self, *refused: str) -> None:
        self.bodies: dict[str, dict[str, Any]] = {}
        self._refused = refused

    async def request(self, method: str, path: str, body: bytes = b"", **_: object) -> Reply:
        assert method == "POST", path
        said = msgspec.json.decode(body)
        name = said["metadata"]["name"]
        self.bodies[name] = said
        return Reply(403 if name in self._refused else 201, b"{}", {})


class Shelf:
    """A preparation of some pods, which is done when the test says so."""

    def __init__(self, wants: str, fails: str = "") -> None:
        self._wants, self._fails = wants, fails
        self.done = asyncio.Event()
        self.prepared: list[str] = []
        self.undone: list[str] = []
        #: Whose shelf has fallen down since it was put up.
        self.fallen = ""

    def wanted(self, bind: Bind) -> bool:
        return bind.uid in self._wants

    async def prepare(self, bind: Bind) -> Prepared:
        self.prepared.append(bind.uid)
        if bind.uid in self._fails:
            return Prepared(refused="no shelf")
        await self.done.wait()
        return Prepared(annotations={"shelf": bind.uid})

    def spoiled(self, bind: Bind) -> str | None:
        return "the shelf fell down" if bind.uid in self.fallen else None

    async def undo(self, bind: Bind) -> None:
        self.undone.append(bind.uid)


def play(
    server: Server,
    shelf: Callable[[], Shelf],
    story: Callable[[Binder, Shelf, list[Settled]], Coroutine[Any, Any, None]],
) -> list[tuple[str, Result, str]]:
    world = World()
    feed = Feed(world, ("phalanx",))
    for name in NAMES:
        pod = pod_manifest(name)
        pod["metadata"] |= {"uid": name, "resourceVersion": "1"}
        feed.put(PODS, msgspec.Raw(msgspec.json.encode(pod)))
    found: list[Settled] = []

    async def work() -> None:
        one = shelf()
        args: Any = (server, feed, world, ("phalanx",), lambda: True, found.append, Log(), [one])
        binder = Binder(*args)
        running = asyncio.create_task(binder.run())
        await story(binder, one, found)
        running.cancel()

    asyncio.run(work())
    return sorted((one.bind.uid, one.result, one.why) for one in found)


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 (a test of an event loop)
        await asyncio.sleep(0)


def test_a_wave_waits_for_the_slowest_and_nobody_else_waits_for_it() -> None:
    server = Server()

    async def story(binder: Binder, shelf: Shelf, found: list[Settled]) -> None:
        binder.submit([A, B, C])
        await until(lambda: bool(found))
        assert [one.bind for one in found] == [C]
        shelf.done.set()
        await until(lambda: len(found) == 3)

    # `b` needs nothing, and is bound together with `a`, which does.
    assert play(server, lambda: Shelf("a"), story) == [(name, Result.OK, "") for name in NAMES]
    assert server.bodies["a"]["metadata"]["annotations"] == {"shelf": "a"}
    assert "annotations" not in server.bodies["b"]["metadata"]


def test_nobody_of_a_wave_is_bound_when_one_of_it_cannot_be_prepared() -> None:
    server = Server()

    async def story(binder: Binder, shelf: Shelf, found: list[Settled]) -> None:
        shelf.done.set()
        binder.submit([A, B])
        await until(lambda: len(found) == 2 and len(shelf.undone) == 2)

    assert play(server, lambda: Shelf("ab", fails="b"), story) == [
        ("a", Result.REFUSED, "default/b: no shelf"),
        ("b", Result.REFUSED, "no shelf"),
    ]
    assert server.bodies == {}


def test_nobody_of_a_wave_is_bound_when_what_was_prepared_is_spoiled_while_others_are_prepared() -> None:
    server = Server()

    async def story(binder: Binder, shelf: Shelf, found: list[Settled]) -> None:
        binder.submit([A, B])
        await until(lambda: shelf.prepared == ["a", "b"])
        shelf.fallen = "a"
        shelf.done.set()
        await until(lambda: len(found) == 2 and len(shelf.undone) == 2)

    assert play(server, lambda: Shelf("ab"), story) == [
        ("a", Result.REFUSED, "the shelf fell down"),
        ("b", Result.REFUSED, "default/a: the shelf fell down"),
    ]
    assert server.bodies == {}


def test_what_was_prepared_for_a_bind_that_is_refused_is_undone() -> None:
    async def story(binder: Binder, shelf: Shelf, found: list[Settled]) -> None:
        shelf.done.set()
        binder.submit([A, B])
        await until(lambda: len(found) == 2 and bool(shelf.undone))
        assert shelf.undone == ["b"]

    results = play(Server("b"), lambda: Shelf("ab"), story)
    assert [result for _, result, _ in results] == [Result.OK, Result.REFUSED]


def test_who_no_longer_leads_gives_back_what_is_not_prepared() -> None:
    server = Server()

    async def story(binder: Binder, shelf: Shelf, found: list[Settled]) -> None:
        binder.submit([A, B, C])
        await until(lambda: bool(found) and bool(shelf.prepared))
        assert sorted(bind.uid for bind in binder.drop()) == ["a", "b"]
        shelf.done.set()
        for _ in range(10):
            await asyncio.sleep(0)
        assert binder.drop() == []

    assert play(server, lambda: Shelf("a"), story) == [("c", Result.OK, "")]
    assert list(server.bodies) == ["c"]
