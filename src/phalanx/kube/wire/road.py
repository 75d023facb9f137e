"""The road to one server: which address, which name in its certificate, through which proxy."""

import asyncio
import base64
import socket
import ssl
from collections.abc import Callable
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from phalanx.kube.wire.answer import Answer, WireError
from phalanx.kube.wire.connection import Connection

#: Seconds that one of several addresses gets before the next is tried: half of a dual stack may be a black hole.
CONNECTS_WITHIN = 3.0
#: Seconds that the answer of a name server is good for.
NAMES = 10.0
_PORTS = {"http": 80, "https": 443}


class Road:
    """Opens connections to one server, directly or through one proxy."""

    def __init__(self, server: str, proxy: str | None, tls_name: str | None) -> None:
        self._url = urlsplit(server)
        self._proxy = urlsplit(proxy) if proxy else None
        self._tls_name = tls_name or self._url.hostname
        self._secure = self._url.scheme == "https"
        self._known: tuple[float, list[str]] | None = None
        #: What a request names before the path, and the fields that each one has.
        self.prefix = self._url.path.rstrip("/")
        self.fields = f"Host: {_authority(self._url)}\r\n"
        if self._proxy is not None and not self._secure:
            # A proxy that is asked for plain HTTP is told the whole address with each request.
            self.prefix = f"http://{_authority(self._url)}{self.prefix}"
            self.fields += _proxy_authorization(self._proxy)

    async def open(self, context: ssl.SSLContext | None, gone: Callable[[Connection], None]) -> Connection:
        """Return a connection that is ready for its first request."""
        context = context if self._secure else None
        if self._proxy is None:
            return await self._dial(self._url, lambda: Connection(context, gone), context, self._tls_name)
        outer = context if self._proxy.scheme == "https" else None
        if not self._secure:
            return await self._dial(self._proxy, lambda: Connection(None, gone), outer, self._proxy.hostname)
        way = await self._dial(self._proxy, lambda: Connection(None, _nobody), outer, self._proxy.hostname)
        return await self._through(way, context, gone)

    async def _through(
        self, way: Connection, context: ssl.SSLContext | None, gone: Callable[[Connection], None]
    ) -> Connection:
        """Have the proxy lay a tunnel, and speak TLS with the server at its other end."""
        assert self._proxy is not None
        assert context is not None
        goal = f"{_bracketed(self._url)}:{self._url.port or 443}"
        request = f"CONNECT {goal} HTTP/1.1\r\nHost: {goal}\r\n{_proxy_authorization(self._proxy)}\r\n"
        connection = Connection(context, gone)
        try:
            await way.ask(request.encode("latin-1"), Answer(tunnel=True, limit=2**16), whole=True)
            if not 200 <= way.answer.status < 300 or way.answer.surplus:
                raise WireError(f"the proxy answered {way.answer.status}")  # noqa: TRY301
            transport = await asyncio.get_running_loop().start_tls(
                way.transport, connection, context, server_hostname=self._tls_name
            )
        except BaseException:
            way.end()
            raise
        assert transport is not None
        connection.connection_made(transport)
        return connection

    async def _dial(
        self, url: SplitResult, make: Callable[[], Connection], context: ssl.SSLContext | None, name: str | None
    ) -> Connection:
        """Try one address after the other; the last one's error is the one to tell."""
        secure: dict[str, Any] = {"ssl": context, "server_hostname": name} if context is not None else {}
        port = url.port or _PORTS[url.scheme]
        *others, last = await self._addresses(url.hostname or "", port)
        for address in others:
            try:
                async with asyncio.timeout(CONNECTS_WITHIN):
                    return await _connect(make, address, port, secure)
            except ssl.SSLError:
                raise
            except OSError:
                continue
        return await _connect(make, last, port, secure)

    async def _addresses(self, host: str, port: int) -> list[str]:
        """Return a name's addresses. Many connections open at once: one answer is good for all of them."""
        loop = asyncio.get_running_loop()
        if self._known is None or loop.time() - self._known[0] > NAMES:
            try:
                found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            except UnicodeError as error:
                raise WireError(f"found {host!r}, allowed is the name of a host: {error}") from None
            self._known = (loop.time(), list(dict.fromkeys(str(entry[4][0]) for entry in found)))
        return self._known[1]


async def _connect(make: Callable[[], Connection], address: str, port: int, secure: dict[str, Any]) -> Connection:
    made = make()
    try:
        await asyncio.get_running_loop().create_connection(lambda: made, address, port, **secure)
    except BaseException:
        # Given up in the moment that it opened: the loop would say farewell to the server, and wait for its answer.
        made.end()
        raise
    return made


def _authority(url: SplitResult) -> str:
    port = url.port
    return _bracketed(url) if port is None or port == _PORTS[url.scheme] else f"{_bracketed(url)}:{port}"


def _bracketed(url: SplitResult) -> str:
    host = url.hostname or ""
    return f"[{host}]" if ":" in host else host


def _proxy_authorization(proxy: SplitResult) -> str:
    if proxy.username is None:
        return ""
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"


def _nobody(_: Connection) -> None:
    """A tunnel's first half is in no pool."""
