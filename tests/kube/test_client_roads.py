"""The road to the API server: certificates that change, and proxies that lay tunnels or refuse to."""

import asyncio
import base64
import socket
import ssl
from pathlib import Path
from typing import cast

import pytest
import uvloop

from phalanx.kube.client import Client, Unanswered
from phalanx.kube.credentials import Access
from phalanx.kube.local.certificates import Authority
from phalanx.kube.wire.answer import WireError
from phalanx.kube.wire.connection import Connection
from phalanx.kube.wire.pool import Pool
from phalanx.kube.wire.road import Road
from tests.faults.acted_server import OK, Caller, Way, always, serving

AUTHORITY = Authority()


@pytest.fixture
def certified(tmp_path: Path) -> ssl.SSLContext:
    """A context for servers on this host."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.server().write(tmp_path, "server")
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    return context


def client_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=AUTHORITY.pair.certificate.decode())
    return context


def test_a_renewed_certificate_opens_new_connections(certified: ssl.SSLContext) -> None:
    async def whole() -> list[tuple[int, str]]:
        async with serving(always(OK), certified) as server:
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


@pytest.mark.timeout(20)
def test_a_client_closed_in_the_moment_that_a_connection_opens_leaves_no_socket_behind(
    certified: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[socket.socket] = []
    closing: list[asyncio.Task[None]] = []
    pool: Pool
    really = Connection.connection_made

    def connection_made(self: Connection, transport: asyncio.BaseTransport) -> None:
        really(self, transport)
        lines.append(transport.get_extra_info("socket"))
        # It runs before whoever opens the connection hears that it is open.
        closing.append(asyncio.ensure_future(pool.close()))

    async def whole() -> None:
        nonlocal pool
        async with serving(always(OK), certified) as server:
            pool = Pool(Road(f"https://127.0.0.1:{server.port}", None, None), 1)
            with pytest.raises(WireError, match="closed"):
                await pool.take(client_context())
            await closing[-1]
            assert lines[-1].fileno() == -1

    monkeypatch.setattr(Connection, "connection_made", connection_made)
    asyncio.run(whole())
    uvloop.run(whole())
    assert len(lines) == 2


@pytest.mark.parametrize("secure_proxy", [False, True])
def test_a_proxy_lays_a_tunnel_to_the_server(certified: ssl.SSLContext, secure_proxy: bool) -> None:
    async def whole() -> list[tuple[int, str]]:
        outer = certified if secure_proxy else None
        async with serving(always(OK), certified) as server, serving(proxied, outer) as proxy:
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
