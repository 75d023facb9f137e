"""The road to the API server: certificates that change, and proxies that lay tunnels or refuse to."""

import asyncio
import base64
import ssl
from pathlib import Path
from typing import cast

import pytest
import uvloop

from phalanx.kube.client import Client, Unanswered
from phalanx.kube.credentials import Access
from phalanx.kube.local.certificates import Authority
from phalanx.testing.acted_server import OK, Caller, Way, always, serving

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
