"""An answer is the same however the network cuts it, and what is no answer is said to be none."""

import gzip
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phalanx.kube.wire.answer import HEAD_MAX, LINE_MAX, Answer, Broken

Told = tuple[int, dict[str, str], bytes, bool]


def read(pieces: Iterable[bytes], limit: int = 1000) -> Told | str:
    """Return status, fields, body and whether the connection stays; or why there is none."""
    answer = Answer(limit=limit)
    body = b""
    try:
        for piece in pieces:
            answer.feed(piece)
            body += answer.take()
        answer.end()
    except Broken as why:
        return str(why)
    return answer.status, answer.headers, body, answer.keep and not answer.surplus


def cut(text: bytes, places: Iterable[int]) -> list[bytes]:
    ends = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", (200, {"Content-Length": "2"}, b"{}", True)),
        (b"HTTP/1.1 429\r\nretry-after:\t7 \r\nContent-Length: 0\r\n\r\n",
         (429, {"Retry-After": "7", "Content-Length": "0"}, b"", True)),
        (b"HTTP/1.1 200 \r\nTransfer-Encoding: Chunked\r\n\r\n2;a=b\r\n{}\r\n0A \r\n1234567890\r\n0\r\n\r\n",
         (200, {"Transfer-Encoding": "Chunked"}, b"{}1234567890", True)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nDigest: x\r\nMore: y\r\n\r\n",
         (200, {"Transfer-Encoding": "chunked"}, b"", True)),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
         (204, {}, b"", True)),
        (b"HTTP/1.1 200 OK\r\nA: 1\r\na: 2\r\n\r\nuntil the end", (200, {"A": "1, 2"}, b"until the end", False)),
        (b"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\n.",
         (200, {"Connection": "x, Close", "Content-Length": "1"}, b".", False)),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n.", (200, {"Content-Length": "1"}, b".", False)),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n.",
         (200, {"Connection": "keep-alive", "Content-Length": "1"}, b".", True)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n.HTTP/1.1 500", (200, {"Content-Length": "1"}, b".", False)),
    ],
)  # fmt: skip
@given(places=st.lists(st.integers(0, 300)))
def test_an_answer_is_the_same_however_it_is_cut(text: bytes, told: Told, places: list[int]) -> None:
    assert read(cut(text, places)) == read([text]) == told
    assert read([text[at : at + 1] for at in range(len(text))]) == told


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "the connection ended in the middle of an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{", "the connection ended in the middle of an answer"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", "the connection ended in the middle"),
        (b"\x15\x03\x01\x00\x02\x02\x16\r\n\r\n", "what came is no HTTP answer"),
        (b"HTTP/2 200\r\n\r\n", "what came is no HTTP answer"),
        (b"HTTP/1.7 200 OK\r\n\r\n", "what came is no HTTP answer: Invalid HTTP version"),
        (b"HTTP/2.0 200 OK\r\n\r\n", "what came is no HTTP answer"),
        (b"RTSP/1.0 200 OK\r\n\r\n", "what came is no HTTP answer"),
        (b"HTTP/1.1 099 OK\r\n\r\n", "what came is no HTTP answer"),
        (b"\r\nHTTP/1.1 200 OK\r\n\r\n", "what came is no HTTP answer"),
        (b"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", "what came is no HTTP answer: Missing expected LF"),
        (b"HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", "what came is no HTTP answer: Invalid header value char"),
        (b"HTTP/1.1 200 OK\nA: b\r\n\r\n", "what came is no HTTP answer"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "changes to a protocol that nobody asked for"),
        (b"HTTP/1.1 200 OK\r\nA b\r\n\r\n", "found 'A b' among the fields"),
        (b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "found 'A : b' among the fields"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "found ' c' among the fields"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Invalid character in Content-Length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "Duplicate Content-Length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", "the reply is too large: 1001 bytes"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001, "the reply is too large: more than 1000 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "can't be present with"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "length is not clear"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", "found an answer in 'gzip'"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n", "the length of a chunk cannot be read"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n", "a chunk is longer than it says"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * LINE_MAX, "length of a chunk cannot"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * HEAD_MAX, "the head of the answer is longer than 65536 bytes"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"x" * (HEAD_MAX + 4), "trailers"),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_said_to_be_none(text: bytes, why: str) -> None:
    said = read([text])
    assert isinstance(said, str)
    assert why in said
    assert read(cut(text, [5, 20, 60, 300, HEAD_MAX])) == said


#: Bits of real answers, so that chance finds the corners between them.
_BITS = st.sampled_from([
    b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 404 \r\n", b"HTTP/1.1 100 C\r\n\r\n", b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"\r\n", b"\r", b"\n",
    b"3\r\nabc\r\n", b"0\r\n", b"0", b"abc", b":", b"f" * 16, b";",
])  # fmt: skip
_TEXT = st.lists(st.one_of(_BITS, st.binary(max_size=8)), max_size=12).map(b"".join)


@given(text=_TEXT, places=st.lists(st.integers(0, 300)))
@example(text=b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", places=[1])
def test_whatever_comes_is_an_answer_or_broken_however_it_is_cut(text: bytes, places: list[int]) -> None:
    assert read(cut(text, places), limit=16) == read([text], limit=16)


def test_a_small_answer_that_unpacks_to_a_large_one_is_too_large() -> None:
    body = gzip.compress(b"x" * 10_000)
    answer = Answer(packed=True, limit=1000)
    answer.feed(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    with pytest.raises(Broken, match="too large"):
        answer.whole()


def test_a_stream_that_goes_well_has_no_limit_and_an_error_has_one() -> None:
    stream = Answer(streamed=True, limit=10)
    stream.feed(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100)
    assert (len(stream.take()), stream.held) == (100, 0)
    refusal = Answer(streamed=True, limit=10)
    with pytest.raises(Broken):
        refusal.feed(b"HTTP/1.1 500 No\r\n\r\n" + b"x" * 100)
