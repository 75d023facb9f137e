"""The binder reads the truth back, and never takes in more than is true."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from phalanx.kube.binder import IN_FLIGHT, Binder, Settled
from phalanx.kube.client import Reply
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import PODS
from phalanx.kube.log import Log
from phalanx.model.outcome import Result
from phalanx.model.plan import Bind, Plan
from phalanx.testing.objects import pod_manifest
from phalanx.world.world import World


class Server:
    """Answers a bind with a conflict, and a read with the pod; something may happen before that answer arrives."""

    def __init__(self, pod: dict[str, Any], meanwhile: Callable[[], None]) -> None:
        self._pod = pod
        self._meanwhile = meanwhile

    async def request(self, method: str, path: str, **_: object) -> Reply:
        del path
        if method == "POST":
            return Reply(409, b"{}", {})
        self._meanwhile()
        return Reply(200, msgspec.json.encode(self._pod), {})


def settled(node: str | None, *, deleted: bool) -> tuple[Result, World]:
    """Bind a pod that turns out to be on `node`, perhaps deleted while that is read."""
    pod = pod_manifest("a", node=None)
    pod["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    world = World()
    feed = Feed(world, ("phalanx",))
    feed.put(PODS, msgspec.Raw(msgspec.json.encode(pod)))
    later = {**pod, "metadata": {**pod["metadata"], "resourceVersion": "2"}, "spec": {**pod["spec"], "nodeName": node}}
    gone = msgspec.Raw(msgspec.json.encode(later))
    found: list[Settled] = []

    async def bind() -> None:
        server = Server(later, lambda: feed.gone(PODS, gone) if deleted else None)
        binder = Binder(server, feed, world, ("phalanx",), lambda: True, found.append, Log())  # type: ignore[arg-type]
        work = asyncio.create_task(binder.run())
        binder.submit([Bind("default/a", "u", "n1", "default/a", "Pod/u")])
        await binder.settle()
        work.cancel()

    asyncio.run(bind())
    return found[0].result, world


def test_a_conflict_because_it_landed_already_is_a_success() -> None:
    result, world = settled("n1", deleted=False)
    assert (result, world.tasks["u"].node) == (Result.OK, "n1")


def test_a_pod_that_somebody_else_bound_is_theirs() -> None:
    result, world = settled("n2", deleted=False)
    assert (result, world.tasks["u"].node) == (Result.REFUSED, "n2")


def test_a_pod_deleted_while_it_was_read_does_not_come_back_as_a_ghost() -> None:
    result, world = settled("n2", deleted=True)
    assert result is Result.REFUSED
    assert world.tasks == {}


def test_a_bind_of_which_we_know_nothing_since_we_lost_the_lease_is_sent_again_when_we_lead() -> None:
    pod = pod_manifest("a", node=None)
    pod["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    world = World()
    feed = Feed(world, ("phalanx",))
    feed.put(PODS, msgspec.Raw(msgspec.json.encode(pod)))
    landed = {**pod, "metadata": {**pod["metadata"], "resourceVersion": "2"}, "spec": {**pod["spec"], "nodeName": "n1"}}
    bind = Bind("default/a", "u", "n1", "default/a", "Pod/u")
    world.assume(Plan(0.0, (bind,)))
    found: list[Settled] = []
    leads = False

    async def story() -> None:
        nonlocal leads
        server = Server(landed, lambda: None)
        binder = Binder(server, feed, world, ("phalanx",), lambda: leads, found.append, Log())  # type: ignore[arg-type]
        work = asyncio.create_task(binder.run())
        binder.submit([bind])
        await binder.settle()
        leads = True
        binder.ask_again()
        await binder.settle()
        binder.ask_again()
        await binder.settle()
        work.cancel()

    asyncio.run(story())
    assert [one.result for one in found] == [Result.UNKNOWN, Result.OK]


def test_decisions_may_wait_while_binds_wait_for_their_turn() -> None:
    """Until the last one was sent, whatever is decided meanwhile would be sent after them."""
    world = World()
    feed = Feed(world, ("phalanx",))
    binds = [Bind(f"default/a-{number}", f"u{number}", "n1", "a", "gang/a") for number in range(IN_FLIGHT + 2)]
    for bind in binds:
        pod = pod_manifest(bind.task.rpartition("/")[2])
        pod["metadata"] |= {"uid": bind.uid, "resourceVersion": "1"}
        feed.put(PODS, msgspec.Raw(msgspec.json.encode(pod)))
    answers: list[asyncio.Future[Reply]] = []

    class Slow:
        async def request(self, *_: object, **__: object) -> Reply:
            answers.append(asyncio.get_running_loop().create_future())
            return await answers[-1]

    async def story() -> list[bool]:
        binder = Binder(Slow(), feed, world, ("phalanx",), lambda: True, lambda _: None, Log())  # type: ignore[arg-type]
        told = [binder.all_sent.is_set()]
        work = asyncio.create_task(binder.run())
        binder.submit(binds)
        for _ in range(3):
            await asyncio.sleep(0.01)
            told.append(binder.all_sent.is_set())
            answers.pop(0).set_result(Reply(201, b"{}", {}))
        work.cancel()
        return told

    assert asyncio.run(story()) == [True, False, False, True]
