"""Of several replicas one writes: the lease, the fence before every write, and handing over."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.kube.client import Client, Reply, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.credentials import load_access
from phalanx.kube.leader import Leader
from phalanx.kube.log import Log
from phalanx.kube.standing import Standing
from phalanx.testing.control_plane import ControlPlane

Start = Callable[..., ControlPlane]
LEASE = "/apis/coordination.k8s.io/v1/namespaces/phalanx-system/leases"


class Hands(Clock):
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return 1_800_000_000.0 + self.seconds

    def monotonic(self) -> float:
        return self.seconds


@dataclass
class Server:
    """One Lease under optimistic concurrency, on a network that is slow and loses answers when told to."""

    clock: Hands
    lease: dict[str, Any] | None = None
    #: Seconds to the server, seconds back, and whether the answer arrives, for the coming requests.
    weather: list[tuple[float, float, bool]] = field(default_factory=list)
    watch: Callable[[], None] = lambda: None
    asked: list[str] = field(default_factory=list)
    refusing: Reply | None = None
    #: Answers who makes the namespace; None: it is there.
    namespace: Reply | None = None

    async def request(self, method: str, path: str, *, body: bytes | None = None, **_: Any) -> Reply:
        there, back, heard = self.weather.pop(0) if self.weather else (0.0, 0.0, True)
        self.asked.append(method)
        self.clock.seconds += there
        self.watch()
        reply = self.refusing or self._answer(method, path, json.loads(body) if body else {})
        self.clock.seconds += back
        self.watch()
        if not heard:
            raise Unanswered(f"{method}: timed out")
        return reply

    def _answer(self, method: str, path: str, body: dict[str, Any]) -> Reply:
        if method == "POST" and path == "/api/v1/namespaces":
            assert self.namespace is not None
            answer, self.namespace = self.namespace, self.namespace if self.namespace.status == 403 else None
            return answer
        if method == "POST":
            assert path == LEASE
            if self.namespace is not None:
                return _reply(404, {"message": "namespaces not found"})
            if self.lease is not None:
                return _reply(409, {"message": "already exists"})
            self.lease = body
        else:
            assert path == f"{LEASE}/phalanx"
            if self.lease is None:
                return _reply(404, {"message": "not found"})
            if method == "PUT":
                if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
                    return _reply(409, {"message": "the object has been modified"})
                self.lease = body
        if method != "GET":
            version = int(self.lease["metadata"].get("resourceVersion", "0")) + 1
            self.lease = self.lease | {"metadata": self.lease["metadata"] | {"resourceVersion": str(version)}}
        return _reply(200, self.lease)

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease
        return cast("dict[str, Any]", self.lease["spec"])


def _reply(status: int, body: Mapping[str, Any]) -> Reply:
    return Reply(status, json.dumps(body).encode(), {})


def candidate(server: Server, identity: str, said: StringIO | None = None) -> Leader:
    log = Log(stream=said if said is not None else StringIO(), clock=server.clock)
    client = cast("Client", server)
    return Leader(client, "phalanx-system", "phalanx", identity, clock=server.clock, log=log)


def attempt(leader: Leader) -> bool:
    leading = asyncio.run(leader.attempt())
    assert (leader.won.is_set(), leader.lost.is_set()) == (leading, not leading)
    return leading


def test_the_first_makes_the_lease_and_the_second_follows() -> None:
    server = Server(Hands())
    said = StringIO()
    one, two = candidate(server, "one"), candidate(server, "two", said)
    assert (one.holds(), attempt(one), attempt(two)) == (False, True, False)
    assert (one.holds(), two.holds()) == (True, False)
    assert server.spec == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2027-01-15T08:00:00.000000Z",
        "renewTime": "2027-01-15T08:00:00.000000Z",
        "leaseTransitions": 0,
    }
    attempt(two)
    assert said.getvalue() == "2027-01-15T08:00:00.000Z following lease=phalanx-system/phalanx leader=one\n"


def test_renewing_is_one_write_that_keeps_the_time_of_winning() -> None:
    server = Server(Hands())
    one = candidate(server, "one")
    attempt(one)
    server.clock.seconds = 2.5
    server.asked.clear()
    assert attempt(one)
    assert server.asked == ["PUT"]
    assert server.spec["acquireTime"] == "2027-01-15T08:00:00.000000Z"
    assert server.spec["renewTime"] == "2027-01-15T08:00:02.500000Z"


def test_a_lease_that_nobody_renews_is_taken_after_its_time_by_our_own_clock() -> None:
    server = Server(Hands())
    one, two = candidate(server, "one"), candidate(server, "two")
    attempt(one)
    server.spec["renewTime"] = "1970-01-01T00:00:00.000000Z"  # what it claims does not matter
    server.clock.seconds = 100.0
    assert not attempt(two)
    server.clock.seconds = 110.0
    server.refusing = Reply(500, b"", {})
    assert not attempt(two)
    server.refusing = None
    server.clock.seconds = 114.9
    assert not attempt(two)
    server.clock.seconds = 115.0
    assert attempt(two)
    assert (server.spec["holderIdentity"], server.spec["leaseTransitions"]) == ("two", 1)


def test_the_fence_closes_when_renewals_fail_and_counts_from_the_sending() -> None:
    server = Server(Hands())
    one = candidate(server, "one")
    attempt(one)
    server.clock.seconds = 2.0
    server.weather = [(1.0, 3.0, True)]
    assert attempt(one)
    server.refusing = Reply(500, b"etcd is gone", {})
    server.clock.seconds = 11.9
    assert attempt(one)
    server.clock.seconds = 12.0
    assert not one.holds()
    assert not attempt(one)


def test_whoever_was_paused_has_lost_even_when_nobody_took_the_lease() -> None:
    server = Server(Hands())
    one = candidate(server, "one")
    turns: list[str] = []

    async def story() -> None:
        async def listen() -> None:
            while True:
                await one.won.wait()
                turns.append("won")
                await one.lost.wait()
                turns.append("lost")

        listener = asyncio.create_task(listen())
        await one.attempt()
        await asyncio.sleep(0)
        server.clock.seconds = 60.0
        assert not one.holds()
        await one.attempt()
        for _ in range(3):
            await asyncio.sleep(0)
        listener.cancel()

    asyncio.run(story())
    assert turns == ["won", "lost", "won"]
    assert server.spec["leaseTransitions"] == 0


def test_a_lease_that_somebody_else_wrote_is_lost_at_once() -> None:
    server = Server(Hands())
    one, two = candidate(server, "one"), candidate(server, "two")
    attempt(one)
    assert server.lease
    server.lease = {"metadata": {"resourceVersion": "9"}, "spec": {"holderIdentity": "two", "leaseDurationSeconds": 15}}
    assert one.holds()
    assert not attempt(one)
    assert attempt(two)


def test_a_renewal_whose_answer_was_lost_is_no_renewal_and_does_no_harm() -> None:
    server = Server(Hands())
    one = candidate(server, "one")
    attempt(one)
    server.clock.seconds = 4.0
    server.weather = [(0.0, 0.0, False)]
    assert attempt(one)
    server.clock.seconds = 8.0
    assert attempt(one)
    server.clock.seconds = 17.9
    assert one.holds()


def test_a_released_lease_is_taken_at_once_and_its_old_holder_stays_away() -> None:
    server = Server(Hands())
    one, two = candidate(server, "one"), candidate(server, "two")
    attempt(one)
    assert not attempt(two)
    asyncio.run(one.release())
    assert not one.holds()
    assert (server.spec["holderIdentity"], server.spec["leaseDurationSeconds"]) == ("", 1)
    assert attempt(two)
    assert server.spec["leaseTransitions"] == 1
    asyncio.run(one.run())
    server.clock.seconds = 100.0
    assert not attempt(one)
    assert server.spec["holderIdentity"] == "two"


def test_releasing_what_is_not_ours_changes_nothing() -> None:
    server = Server(Hands())
    one, two = candidate(server, "one"), candidate(server, "two")
    attempt(one)
    attempt(two)
    asyncio.run(two.release())
    assert server.spec["holderIdentity"] == "one"


def test_the_namespace_of_the_lease_is_made_or_the_line_that_makes_it_is_told() -> None:
    for answer, leads in ((_reply(201, {}), True), (_reply(409, {}), True), (_reply(403, {}), False)):
        server = Server(Hands(), namespace=answer)
        said = StringIO()
        log = Log(stream=said, clock=server.clock)
        standing = Standing(log, server.clock)
        client = cast("Client", server)
        one = Leader(client, "phalanx-system", "phalanx", "one", clock=server.clock, log=log, standing=standing)
        assert [attempt(one), attempt(one)] == [leads, leads]
        server.clock.seconds += 2.0
        standing.tell()
        lines = [line.split(" ", 1)[1] for line in said.getvalue().splitlines()]
        made = 'namespace-made namespace=phalanx-system why="the lease lives in it"'
        missing = (
            'namespace-missing why="the namespace phalanx-system of the lease does not exist, and we may not make it" '
            'waiting="the lease phalanx-system/phalanx" remedy="kubectl create namespace phalanx-system"'
        )
        assert lines == {201: [made], 409: [], 403: [missing]}[answer.status]


def test_times_that_cannot_work_are_refused() -> None:
    server = cast("Client", Server(Hands()))
    with pytest.raises(ValueError, match="lease 10 s, renew 10 s, retry 2 s: each must be shorter than the last"):
        Leader(server, "phalanx-system", "phalanx", "one", lease=10.0)


SECONDS = st.sampled_from([0.0, 0.5, 2.0, 6.0, 9.0, 16.0])
WEATHER = st.tuples(SECONDS, SECONDS, st.booleans())
STEP = st.tuples(
    st.integers(0, 2), SECONDS, st.lists(WEATHER, max_size=4), st.sampled_from(["attempt"] * 9 + ["release"])
)


@given(st.lists(STEP, max_size=40))
def test_never_do_two_hold_whatever_the_network_does(
    steps: list[tuple[int, float, list[tuple[float, float, bool]], str]],
) -> None:
    server = Server(Hands())
    leaders = [candidate(server, name) for name in ("one", "two", "three")]

    def one_at_most() -> None:
        assert sum(leader.holds() for leader in leaders) <= 1

    server.watch = one_at_most

    async def story() -> None:
        for who, pause, weather, what in steps:
            server.clock.seconds += pause
            one_at_most()
            server.weather = list(weather)
            await (leaders[who].attempt() if what == "attempt" else leaders[who].release())
            one_at_most()

    asyncio.run(story())


def test_on_a_real_server_the_lease_changes_hands(control_plane: ControlPlane) -> None:
    control_plane.kubectl("create", "namespace", "phalanx-leader-test")
    access = load_access(str(control_plane.kubeconfig), None)

    async def story() -> None:
        async with Client(access) as client:
            one, two = (
                Leader(client, "phalanx-leader-test", "phalanx", name, 3.0, 2.0, 0.1, log=Log(stream=StringIO()))
                for name in ("one", "two")
            )
            first = asyncio.create_task(one.run())
            await one.won.wait()
            second = asyncio.create_task(two.run())
            await asyncio.sleep(0.5)
            assert (one.holds(), two.holds()) == (True, False)
            first.cancel()
            await one.release()
            await two.won.wait()
            assert (one.holds(), two.holds()) == (False, True)
            second.cancel()
            # Left without a word, as by a crash: it runs out.
            three = Leader(client, "phalanx-leader-test", "phalanx", "three", 3.0, 2.0, 0.1, log=Log(stream=StringIO()))
            third = asyncio.create_task(three.run())
            await three.won.wait()
            assert not two.holds()
            third.cancel()

    asyncio.run(story())
    lease = json.loads(control_plane.kubectl("get", "lease", "phalanx", "-n", "phalanx-leader-test", "-o", "json"))
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("three", 2)


@pytest.mark.slow
def test_kube_scheduler_and_phalanx_understand_each_others_lease(fresh_control_plane: Start) -> None:
    times = {"lease-duration": "3s", "renew-deadline": "2s", "retry-period": "300ms"}
    flags = ["--leader-elect=true", "--leader-elect-resource-name=shared"]
    flags += [f"--leader-elect-{name}={value}" for name, value in times.items()]
    cluster = fresh_control_plane(controller_manager=False, scheduler=True, flags={"kube-scheduler": flags})
    access = load_access(str(cluster.kubeconfig), None)

    def lease() -> dict[str, Any]:
        wanted = ("lease", "shared", "-n", "kube-system", "-o", "json", "--ignore-not-found")
        found = json.loads(cluster.kubectl("get", *wanted) or "{}")
        return cast("dict[str, Any]", found.get("spec", {}))

    async def held_by_others() -> None:
        while lease().get("holderIdentity", "") in {"", "ours"}:  # noqa: ASYNC110 (it happens on the server)
            await asyncio.sleep(0.1)

    async def story() -> None:
        async with Client(access) as client:
            ours = Leader(client, "kube-system", "shared", "ours", 3.0, 2.0, 0.3, log=Log(stream=StringIO()))
            await held_by_others()
            competing = asyncio.create_task(ours.run())
            await asyncio.sleep(4.0)
            assert not ours.holds()
            cluster.kill("kube-scheduler")
            await ours.won.wait()
            cluster.restart("kube-scheduler")
            await asyncio.sleep(4.0)
            assert (ours.holds(), lease()["holderIdentity"]) == (True, "ours")
            competing.cancel()
            await ours.release()
            await held_by_others()

    asyncio.run(story())
    assert lease()["leaseTransitions"] == 2
