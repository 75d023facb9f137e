"""A watch: heard piece by piece, held back when nobody listens, and never taken for whole when it broke."""

import asyncio
from collections.abc import AsyncGenerator
from typing import cast

import pytest

from phalanx.kube.client import Client, StreamRefused, Unanswered
from tests.faults.acted_server import OK, Caller, Server, Way, always, told

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def heard(client: Client, stall: float = 10.0) -> bytes:
    return b"".join([chunk async for chunk in client.stream("/watch", {"watch": "1"}, stall)])


def test_a_stream_is_heard_piece_by_piece_and_its_end_is_an_end() -> None:
    pieces: list[bytes] = []

    async def play(caller: Caller) -> None:
        while True:
            watch = b"watch" in await caller.question()
            await caller.say(CHUNKED + b"4\r\none\n\r\n")
            while watch and pieces != [b"one\n"]:  # noqa: ASYNC110 (two event loops, one after the other)
                await asyncio.sleep(0.01)
            await caller.say(b"4\r\ntwo\n\r\n0\r\n\r\n")

    async def story(_: Server, __: Way, client: Client) -> None:
        pieces.clear()
        async for piece in client.stream("/watch", {"watch": "1"}, 10):
            pieces.append(piece)
        assert pieces == [b"one\n", b"two\n"]
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
