"""A server that does whatever a server could do, byte by byte, and a client that lives through it."""

import asyncio
import itertools
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import uvloop

from phalanx.kube.client import Client
from phalanx.kube.credentials import Access

#: A good answer.
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


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
        """Return the context of this moment."""
        return self.context

    async def authorization(self) -> str | None:
        """Return the header's value."""
        return self.token

    async def refresh(self) -> None:
        """Hand out another token, and count it."""
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
        """Write bytes as they are."""
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
    """Play while the block lasts."""
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
    """Return the part of a server that knows one answer."""

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
    """Let a client go through a story with a server, on either event loop; return the server of the second time."""

    async def whole() -> Server:
        async with serving(play) as server:
            way = Way(f"http://127.0.0.1:{server.port}{path}")
            async with Client(cast("Access", way), connections) as client:
                await asyncio.wait_for(story(server, way, client), 30)
            return server

    asyncio.run(whole())
    return uvloop.run(whole())
