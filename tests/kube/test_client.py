"""The door to the API server: what is sent, what is read, and the difference between "no" and no answer."""

import asyncio
import base64
import gzip
import itertools
import socket
import ssl
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest
import uvloop

from phalanx.kube.client import Client, Reply, StreamRefused, Unanswered
from phalanx.kube.credentials import Access
from phalanx.kube.local.certificates import Authority
from phalanx.kube.wire import pool as pools

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CREATED = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"
CLOSING = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
AUTHORITY = Authority()


@dataclass(slots=True)
class Way:
    """As much of an identity as a client asks for."""

    server: str
    proxy: str | None = None
    tls_server_name: str | None = None
    token: str | None = None
    renewed: int = 0
    context: ssl.SSLContext = field(default_factory=lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    def ssl(self) -> ssl.SSLContext:
        return self.context

    async def authorization(self) -> str | None:
        return self.token

    async def refresh(self) -> None:
        self.renewed += 1
        self.token = f"Bearer {self.renewed}"


@dataclass(slots=True, eq=False)
class Caller:
    """One connection as the server sees it."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    server: "Server"

    async def question(self) -> bytes:
        """Read one request, write it down, and return it."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next((line[15:] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), b"0")
        whole = head + await self.reader.readexactly(int(length))
        self.server.asked.append((self.number, whole))
        return whole

    async def say(self, text: bytes) -> None:
        self.writer.write(text)
        await self.writer.drain()

    def reset(self) -> None:
        """Leave without a word and without reading on."""
        line: socket.socket = self.writer.get_extra_info("socket")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Play = Callable[[Caller], Awaitable[None]]


@dataclass(slots=True)
class Server:
    """Plays a part to each caller: whatever a server could do, byte by byte."""

    play: Play
    port: int = 0
    asked: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])

    @property
    def lines(self) -> list[tuple[int, str]]:
        """Return which connection asked what."""
        return [(number, text.partition(b" HTTP/1.1")[0].decode()) for number, text in self.asked]


@asynccontextmanager
async def serving(play: Play, secure: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server(play)
    numbers = itertools.count(1)
    callers: set[asyncio.Task[None]] = set()
    closing = False

    async def called(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        callers.add(task)
        try:
            await play(Caller(next(numbers), reader, writer, server))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            callers.discard(task)
            writer.close()
            if closing:
                writer.transport.abort()

    listening = await asyncio.start_server(called, "127.0.0.1", 0, ssl=secure)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        closing = True
        listening.close()
        for task in list(callers):
            task.cancel()
        if callers:
            await asyncio.wait(callers)


def always(answer: bytes) -> Play:
    async def play(caller: Caller) -> None:
        while True:
            await caller.question()
            await caller.say(answer)

    return play


def first_then(first: Play, then: Play) -> Play:
    """One part for the first caller, another for all others."""
    return lambda caller: first(caller) if caller.number == 1 else then(caller)


Story = Callable[[Server, Way, Client], Awaitable[None]]


def told(play: Play, story: Story, connections: int = 64, path: str = "") -> Server:
    """Let a client go through a story with a server, on either event loop."""

    async def whole() -> Server:
        async with serving(play) as server:
            way = Way(f"http://127.0.0.1:{server.port}{path}")
            async with Client(cast("Access", way), connections) as client:
                await asyncio.wait_for(story(server, way, client), 30)
            return server

    asyncio.run(whole())
    return uvloop.run(whole())


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
            "User-Agent: phalanx/0.1.0\r\nAccept: application/json\r\n"
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
            await asyncio.sleep(0.2 if caller.number == 1 else 0)
            await caller.say(OK if caller.number == 1 else CREATED)

    async def story(_: Server, __: Way, client: Client) -> None:
        first = asyncio.create_task(client.request("POST", "/1", body=b""))
        await asyncio.sleep(0.05)
        first.cancel()
        replies = await asyncio.gather(*(client.request("POST", "/2", body=b"") for _ in range(3)))
        assert [reply.status for reply in replies] == [201] * 3

    told(play, story, connections=1)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def heard(client: Client, stall: float = 10.0) -> bytes:
    return b"".join([chunk async for chunk in client.stream("/watch", {"watch": "1"}, stall)])


def test_a_stream_is_heard_piece_by_piece_and_its_end_is_an_end() -> None:
    async def play(caller: Caller) -> None:
        while True:
            await caller.question()
            await caller.say(CHUNKED)
            for text in (b"one\n", b"two\n"):
                await asyncio.sleep(0.02)
                await caller.say(b"%x\r\n%b\r\n" % (len(text), text))
            await caller.say(b"0\r\n\r\n")

    async def story(_: Server, __: Way, client: Client) -> None:
        assert [chunk async for chunk in client.stream("/watch", {"watch": "1"}, 10)] == [b"one\n", b"two\n"]
        assert (await client.request("GET", "/x")).body == b"one\ntwo\n"

    assert told(play, story).lines == [(1, "GET /watch?watch=1"), (1, "GET /x")]


def test_a_stream_that_falls_silent_breaks_or_is_refused() -> None:
    async def silent(caller: Caller) -> None:
        await caller.question()
        await caller.say(CHUNKED + b"4\r\none\n\r\n")
        await asyncio.sleep(30)

    async def breaks(caller: Caller) -> None:
        await caller.question()
        await caller.say(CHUNKED + b"4\r\none\n\r\n5\r\n")

    async def silent_story(_: Server, __: Way, client: Client) -> None:
        with pytest.raises(Unanswered, match=r"^GET /watch: TimeoutError$"):
            await heard(client, 0.1)

    async def broken_story(_: Server, __: Way, client: Client) -> None:
        got: list[bytes] = []
        with pytest.raises(Unanswered, match="the connection ended in the middle of an answer"):  # noqa: PT012
            async for chunk in client.stream("/watch", {}, 10):
                got.append(chunk)
        assert got == [b"one\n"]

    async def refused_story(_: Server, __: Way, client: Client) -> None:
        with pytest.raises(StreamRefused, match=r"^410 gone$"):
            await heard(client)

    told(silent, silent_story)
    told(breaks, broken_story)
    told(always(b"HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone"), refused_story)


def test_a_stream_whose_listener_is_slow_is_held_back_and_loses_nothing() -> None:
    piece, count = b"x" * 65536, 400
    sent: list[int] = []

    async def play(caller: Caller) -> None:
        await caller.question()
        await caller.say(CHUNKED)
        sent.clear()
        for _ in range(count):
            await caller.say(b"%x\r\n%b\r\n" % (len(piece), piece))
            sent.append(len(piece))
        await caller.say(b"0\r\n\r\n")

    async def story(_: Server, __: Way, client: Client) -> None:
        size = 0
        async for chunk in client.stream("/watch", {}, 10):
            if not size:
                await asyncio.sleep(0.5)
                # What the client holds and what two sockets hold; not all of it.
                assert sum(sent) < count * len(piece)
            size += len(chunk)
        assert size == count * len(piece)

    told(play, story)


def test_a_stream_that_is_left_closes_its_connection() -> None:
    async def play(caller: Caller) -> None:
        await caller.question()
        await caller.say(CHUNKED + b"4\r\none\n\r\n" if caller.number == 1 else OK)
        await caller.reader.read()

    async def story(_: Server, __: Way, client: Client) -> None:
        stream = client.stream("/watch", {}, 10)
        assert await anext(aiter(stream)) == b"one\n"
        await cast("AsyncGenerator[bytes]", stream).aclose()
        assert (await client.request("GET", "/x")).ok

    assert told(play, story, connections=1).lines == [(1, "GET /watch"), (2, "GET /x")]


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = AUTHORITY.server()
    from phalanx.kube.tls import _as_file  # noqa: PLC0415

    with _as_file(pair.certificate) as certificate, _as_file(pair.key) as key:
        context.load_cert_chain(certificate, key)
    return context


def client_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=AUTHORITY.pair.certificate.decode())
    return context


def test_a_renewed_certificate_opens_new_connections() -> None:
    async def whole() -> list[tuple[int, str]]:
        async with serving(always(OK), server_context()) as server:
            way = Way(f"https://127.0.0.1:{server.port}", context=client_context())
            async with Client(cast("Access", way)) as client:
                for path in ("/1", "/2", "/3"):
                    if path == "/3":
                        way.context = client_context()
                    assert (await client.request("GET", path)).ok
            return server.lines

    assert uvloop.run(whole()) == asyncio.run(whole()) == [(1, "GET /1"), (1, "GET /2"), (2, "GET /3")]


async def proxied(caller: Caller) -> None:
    """A proxy that lays tunnels."""
    line = (await caller.question()).split(b" ")
    assert line[0] == b"CONNECT"
    host, _, port = line[1].decode().rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    await caller.say(b"HTTP/1.1 200 Connection established\r\n\r\n")

    async def pump(source: asyncio.StreamReader, goal: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            goal.write(data)
        goal.close()

    try:
        await asyncio.gather(pump(caller.reader, writer), pump(reader, caller.writer))
    finally:
        writer.transport.abort()


@pytest.mark.parametrize("secure_proxy", [False, True])
def test_a_proxy_lays_a_tunnel_to_the_server(secure_proxy: bool) -> None:
    async def whole() -> list[tuple[int, str]]:
        outer = server_context() if secure_proxy else None
        async with serving(always(OK), server_context()) as server, serving(proxied, outer) as proxy:
            scheme = "https" if secure_proxy else "http"
            way = Way(
                f"https://127.0.0.1:{server.port}",
                proxy=f"{scheme}://me:p%40ss@127.0.0.1:{proxy.port}",
                context=client_context(),
            )
            async with Client(cast("Access", way)) as client:
                assert (await client.request("GET", "/1")).ok
                assert (await client.request("POST", "/2", body=b"{}")).ok
            asked = proxy.asked[0][1].decode()
            secret = base64.b64encode(b"me:p@ss").decode()
            assert asked.replace(str(server.port), "PORT") == (
                "CONNECT 127.0.0.1:PORT HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"
                f"Proxy-Authorization: Basic {secret}\r\n\r\n"
            )
            return server.lines

    assert uvloop.run(whole()) == asyncio.run(whole()) == [(1, "GET /1"), (1, "POST /2")]


def test_a_proxy_that_refuses_is_named_and_its_password_is_not() -> None:
    async def whole() -> None:
        async with serving(always(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")) as proxy:
            way = Way("https://10.1.2.3", proxy=f"http://me:secret@127.0.0.1:{proxy.port}", context=client_context())
            async with Client(cast("Access", way)) as client:
                with pytest.raises(Unanswered) as why:
                    await client.request("GET", "/x")
        assert str(why.value) == "GET /x: WireError the proxy answered 407"

    asyncio.run(whole())
    uvloop.run(whole())


def test_plain_http_through_a_proxy_names_the_whole_address() -> None:
    async def whole() -> list[tuple[int, str]]:
        async with serving(always(OK)) as proxy:
            way = Way("http://api.example.com:8080/k", proxy=f"http://127.0.0.1:{proxy.port}")
            async with Client(cast("Access", way)) as client:
                assert (await client.request("GET", "/x")).ok
            return proxy.lines

    assert asyncio.run(whole()) == [(1, "GET http://api.example.com:8080/k/x")]
