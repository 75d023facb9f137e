"""The door to the API server: what is sent, what is read, and the difference between "no" and no answer."""

import asyncio
import gzip
import socket
from typing import cast

import pytest
import uvloop

from phalanx import __version__
from phalanx.kube.client import Client, Reply, Unanswered
from phalanx.kube.credentials import Access
from phalanx.kube.wire import pool as pools
from tests.faults.acted_server import OK, Caller, Play, Server, Way, always, first_then, told

CREATED = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"
CLOSING = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"


def no_answer(play: Play, method: str = "POST", seconds: float = 30.0) -> str:
    """Return why a request was not answered."""
    said = []

    async def story(_: Server, __: Way, client: Client) -> None:
        with pytest.raises(Unanswered) as why:
            await client.request(method, "/x", body=None if method == "GET" else b"{}", timeout=seconds)
        said.append(str(why.value))

    told(play, story)
    assert said[0] == said[1]
    return said[0]


def test_requests_are_written_whole_and_one_connection_carries_them_all() -> None:
    async def story(server: Server, way: Way, client: Client) -> None:
        way.token = "Bearer t"  # noqa: S105
        answers = [
            await client.request("GET", "/api/v1/pods", query={"limit": "1", "continue": "a b&c"}),
            await client.request("POST", "/api/v1/a b/ü", body=b'{"a": 1}', content_type="application/x"),
            await client.request("DELETE", "/api/v1/x"),
        ]
        assert answers == [Reply(200, b"{}", {"Content-Length": "2"})] * 3
        assert server.asked[0][1].decode() == (
            f"GET /k8s/c-1/api/v1/pods?limit=1&continue=a+b%26c HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"User-Agent: phalanx/{__version__}\r\nAccept: application/json\r\n"
            "Authorization: Bearer t\r\nAccept-Encoding: gzip\r\n\r\n"
        )
        assert server.asked[1][1].endswith(b'Content-Type: application/x\r\nContent-Length: 8\r\n\r\n{"a": 1}')
        assert server.asked[2][1].endswith(b"Content-Length: 0\r\n\r\n")

    server = told(always(OK), story, path="/k8s/c-1/")
    assert server.lines == [
        (1, "GET /k8s/c-1/api/v1/pods?limit=1&continue=a+b%26c"),
        (1, "POST /k8s/c-1/api/v1/a%20b/%C3%BC"),
        (1, "DELETE /k8s/c-1/api/v1/x"),
    ]


def test_many_at_once_share_few_connections_and_each_gets_its_own_answer() -> None:
    async def play(caller: Caller) -> None:
        while True:
            body = (await caller.question()).split(b" ")[1]
            await asyncio.sleep(0)
            await caller.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    async def story(server: Server, _: Way, client: Client) -> None:
        paths = [f"/{number}" for number in range(200)]
        replies = await asyncio.gather(*(client.request("GET", path) for path in paths))
        assert [reply.body.decode() for reply in replies] == paths
        assert {number for number, _ in server.asked} <= set(range(1, 6))

    told(play, story, connections=5)


def test_after_a_401_credentials_are_renewed_once() -> None:
    refused = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"

    async def story(server: Server, way: Way, client: Client) -> None:
        assert (await client.request("GET", "/x")).status == 401
        assert (way.renewed, len(server.asked)) == (1, 2)
        assert b"Authorization: Bearer 1\r\n" in server.asked[1][1]
        way.token = "Bearer a\r\nX-Remote-User: admin"  # noqa: S105
        with pytest.raises(Unanswered, match="a character that cannot be sent"):
            await client.request("GET", "/x")

    told(always(refused), story)


def test_a_redirect_is_an_answer_and_a_bind_that_meets_one_did_not_succeed() -> None:
    async def story(server: Server, _: Way, client: Client) -> None:
        reply = await client.request("POST", "/binding", body=b"{}")
        assert (reply.status, reply.ok, reply.headers["Location"], len(server.asked)) == (302, False, "/login", 1)

    told(always(b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n"), story)


def test_a_large_list_comes_packed_and_what_cannot_be_unpacked_is_no_answer() -> None:
    packed = gzip.compress(b'{"items": []}')

    def coded(body: bytes) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    async def story(_: Server, __: Way, client: Client) -> None:
        assert (await client.request("GET", "/pods")).body == b'{"items": []}'

    told(always(coded(packed)), story)
    assert no_answer(always(coded(packed[:-1])), "GET") == "GET /x: Broken what came is half a gzip"
    assert no_answer(always(coded(b"{}")), "GET") == "GET /x: Broken what came is no gzip"
    assert (
        no_answer(always(coded(packed))) == "POST /x: Broken found an answer in 'gzip', allowed is what was asked for"
    )


@pytest.mark.parametrize("ending", ["closes", "resets"])
def test_a_read_on_a_connection_that_the_server_just_dropped_is_asked_again(ending: str) -> None:
    async def drops(caller: Caller) -> None:
        await caller.question()
        await caller.say(OK)
        await caller.question()
        if ending == "resets":
            caller.reset()

    async def story(_: Server, __: Way, client: Client) -> None:
        assert (await client.request("GET", "/1")).ok
        assert (await client.request("GET", "/2")).ok

    assert told(first_then(drops, always(OK)), story).lines == [(1, "GET /1"), (1, "GET /2"), (2, "GET /2")]


def test_a_write_on_a_connection_that_the_server_just_dropped_is_not_sent_again() -> None:
    async def drops(caller: Caller) -> None:
        await caller.question()
        await caller.say(OK)
        await caller.question()

    async def story(_: Server, __: Way, client: Client) -> None:
        assert (await client.request("GET", "/1")).ok
        with pytest.raises(Unanswered, match=r"^POST /2: Lost the server closed the connection$"):
            await client.request("POST", "/2", body=b"{}")
        assert (await client.request("POST", "/3", body=b"{}")).status == 201

    server = told(first_then(drops, always(CREATED)), story)
    assert server.lines == [(1, "GET /1"), (1, "POST /2"), (2, "POST /3")]


def test_a_connection_that_was_closed_before_is_not_used_for_a_write() -> None:
    async def once(caller: Caller) -> None:
        await caller.question()
        await caller.say(OK)

    async def story(_: Server, __: Way, client: Client) -> None:
        for path in ("/1", "/2", "/3"):
            assert (await client.request("POST", path, body=b"{}")).ok
            await asyncio.sleep(0.05)

    assert told(once, story).lines == [(1, "POST /1"), (2, "POST /2"), (3, "POST /3")]


def test_connection_close_is_obeyed_and_words_that_nobody_asked_for_are_nobodys_answer() -> None:
    async def play(caller: Caller) -> None:
        await caller.question()
        await caller.say(CLOSING if caller.number == 1 else OK + b"HTTP/1.1 201 Forged\r\nContent-Length: 0\r\n\r\n")
        await asyncio.sleep(30)

    async def story(_: Server, __: Way, client: Client) -> None:
        assert [(await client.request("POST", f"/{number}", body=b"")).status for number in (1, 2, 3)] == [200] * 3

    assert told(play, story).lines == [(1, "POST /1"), (2, "POST /2"), (3, "POST /3")]


def test_an_old_connection_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "IDLE_MAX", -1.0)

    async def story(_: Server, __: Way, client: Client) -> None:
        assert (await client.request("POST", "/1", body=b"")).ok
        assert (await client.request("POST", "/2", body=b"")).ok

    assert told(always(OK), story).lines == [(1, "POST /1"), (2, "POST /2")]


def test_no_answer_says_why() -> None:
    async def nothing(caller: Caller) -> None:
        await caller.question()

    async def half(caller: Caller) -> None:
        await caller.question()
        await caller.say(OK[:-1])

    async def garbage(caller: Caller) -> None:
        await caller.question()
        await caller.say(b"\x15\x03\x01\x00\x02\x02\x16\r\n\r\n")
        await asyncio.sleep(30)

    async def silence(caller: Caller) -> None:
        await caller.question()
        await asyncio.sleep(30)

    async def reset(caller: Caller) -> None:
        await caller.question()
        caller.reset()

    assert no_answer(nothing, "GET") == "GET /x: Lost the server closed the connection"
    assert no_answer(half, "GET") == "GET /x: Broken the connection ended in the middle of an answer"
    assert no_answer(garbage) == "POST /x: Broken what came is no HTTP answer"
    assert no_answer(silence, seconds=0.1) == "POST /x: TimeoutError"
    assert no_answer(reset) == "POST /x: Lost ConnectionResetError [Errno 104] Connection reset by peer"


def test_a_server_that_is_not_there_is_no_answer() -> None:
    async def story(server: Server, _: Way, client: Client) -> None:
        with pytest.raises(Unanswered, match=r"^GET /x: ConnectionRefusedError \[Errno 111\]"):
            await client.request("GET", "/x")
        assert server.asked == []

    async def whole() -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            way = Way(f"http://127.0.0.1:{free.getsockname()[1]}")
            async with Client(cast("Access", way)) as client:
                await story(Server(always(OK)), way, client)

    asyncio.run(whole())
    uvloop.run(whole())


def test_whoever_gives_up_waiting_leaves_no_answer_behind_for_the_next() -> None:
    async def play(caller: Caller) -> None:
        while True:
            await caller.question()
            if caller.number > 1:
                await caller.say(CREATED)

    async def story(_: Server, __: Way, client: Client) -> None:
        first = asyncio.create_task(client.request("POST", "/1", body=b""))
        await asyncio.sleep(0.05)
        first.cancel()
        replies = await asyncio.gather(*(client.request("POST", "/2", body=b"") for _ in range(3)))
        assert [reply.status for reply in replies] == [201] * 3

    told(play, story, connections=1)


@pytest.mark.parametrize(
    ("said", "given_at"),
    [
        ("Thu, 19 Nov 2026 04:30:00 GMT", 1_795_062_600.5),
        ("Thu, 19 Nov 2026 04:30:00 -0000", 1_795_062_600.5),
        ("yesterday", None),
        (None, None),
    ],
)
def test_an_answer_says_when_it_was_given_by_the_servers_own_clock(said: str | None, given_at: float | None) -> None:
    assert Reply(200, b"{}", {} if said is None else {"Date": said}).given_at == given_at
