"""One answer, read from bytes as they come. No I/O: whatever way the bytes are cut, the answer is the same.

It is strict. Whatever could be read in two ways is no answer, because the next answer on the same connection would
then be taken for somebody else's. Heads are read by httptools; bodies here, because a parser that reads on by itself
does not say where an answer ended, nor bound the line before a chunk and the trailers behind the last one.
"""

import re
import zlib
from functools import lru_cache

from httptools import HttpParserError, HttpResponseParser

#: The largest reply that is read. A server, or somebody between, must not be able to fill our memory.
REPLY_MAX = 512 * 2**20
#: Status line and fields together, and trailers.
HEAD_MAX = 64 * 2**10
#: The line before a chunk.
LINE_MAX = 1024

_WAIT = -1
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")


class WireError(Exception):
    """No answer, or none that can be trusted."""


class Broken(WireError):  # noqa: N818 (what the answer is)
    """What came is no HTTP, ends in the middle, or is too much."""


class Answer:
    """Status and fields once `headed`, body pieces until `done`. After an error it must not be fed again."""

    def __init__(
        self, *, streamed: bool = False, tunnel: bool = False, packed: bool = False, limit: int = REPLY_MAX
    ) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        #: Whether the server keeps the connection open afterwards.
        self.keep = False
        self.headed = False
        self.done = False
        #: Bytes of body that nobody took yet.
        self.held = 0
        self._parts: list[bytes] = []
        self._streamed = streamed
        self._tunnel = tunnel
        self._packed = packed
        self._limit = limit
        self._size = 0
        self._left = 0
        self._rest = b""
        self._read = self._head

    @property
    def silent(self) -> bool:
        """Tell whether not one byte of it came."""
        return not self.headed and not self._rest

    @property
    def surplus(self) -> bool:
        """Tell whether more came than the answer: what follows on this connection belongs to nobody."""
        return self.done and bool(self._rest)

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        if self._rest:
            data = self._rest + data
        at = 0
        while at < len(data) and not self.done:
            following = self._read(data, at)
            if following == _WAIT:
                break
            at = following
        self._rest = data[at:]

    def end(self) -> None:
        """The connection ended; for an answer without a length this is its regular end."""
        if self._read == self._until_end:
            self.done = True
        elif not self.done:
            raise Broken("the connection ended in the middle of an answer")

    def take(self) -> bytes:
        """Return the body that came since the last call."""
        parts, self._parts, self.held = self._parts, [], 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def whole(self) -> bytes:
        """Return the body of an answer that is done, unpacked."""
        body = self.take()
        if not self._packed:
            return body
        unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            plain = unpacking.decompress(body, self._limit + 1)
        except zlib.error:
            raise Broken("what came is no gzip") from None
        if len(plain) > self._limit:
            raise Broken(f"the reply is too large: more than {self._limit} bytes")
        if not unpacking.eof:
            raise Broken("what came is half a gzip")
        return plain

    def _head(self, data: bytes, at: int) -> int:
        end = data.find(b"\r\n\r\n", at)
        if (end - at if end >= 0 else len(data) - at - 3) > HEAD_MAX:
            raise Broken(f"the head of the answer is longer than {HEAD_MAX} bytes")
        if end < 0:
            return _WAIT
        head = data[at : end + 4]
        # The parser would also pass over empty lines, and take what servers of other protocols say.
        if not head.startswith(b"HTTP/1."):
            raise Broken("what came is no HTTP answer")
        self.headers = {}
        parser = HttpResponseParser(self)
        try:
            parser.feed_data(head)
        except HttpParserError as error:
            if parser.get_status_code() != 101:
                raise Broken(_wrong(head, str(error))) from None
        self.status = parser.get_status_code()
        if self.status < 100:
            raise Broken("what came is no HTTP answer")
        if self.status == 101:
            raise Broken("the server changes to a protocol that nobody asked for")
        if self.status >= 200:
            self._frame(old=head.startswith(b"HTTP/1.0"))
        return end + 4

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a field that the parser read, as the standards write names: `Retry-After`, whatever the server wrote."""
        key, text = _spelled(name), value.decode("latin-1").rstrip(" \t")
        self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def _frame(self, *, old: bool) -> None:
        """Find out how long the body is. Two lengths that might differ are none."""
        self.headed = True
        fields = self.headers
        self.keep = not old
        if "Connection" in fields:
            wishes = {word.strip() for word in fields["Connection"].lower().split(",")}
            self.keep = "keep-alive" in wishes if old else "close" not in wishes
        length, coding = fields.get("Content-Length"), fields.get("Transfer-Encoding")
        coded = fields.get("Content-Encoding", "identity").lower()
        if coded not in {"identity", "gzip" if self._packed else "identity"}:
            raise Broken(f"found an answer in {coded[:40]!r}, allowed is what was asked for")
        self._packed = coded == "gzip"
        if self.status in {204, 304} or (self._tunnel and self.status < 300):
            self.done = True
        elif coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise Broken(f"the answer's length is not clear: found {coding!r} and length {length!r}")
            self._read = self._chunk
        elif length is not None:
            self._left = int(length)
            if self._left > self._most:
                raise Broken(f"the reply is too large: {self._left} bytes")
            self._read = self._fixed
            self.done = not self._left
        else:
            self.keep = False
            self._read = self._until_end

    @property
    def _most(self) -> int:
        # A stream that goes well has no end; whoever reads it bounds what is held.
        return 2**62 if self._streamed and self.status == 200 else self._limit

    def _fixed(self, data: bytes, at: int) -> int:
        at = self._piece(data, at)
        self.done = not self._left
        return at

    def _until_end(self, data: bytes, at: int) -> int:
        self._left = len(data) - at
        return self._piece(data, at)

    def _chunk(self, data: bytes, at: int) -> int:
        line = _CHUNK.match(data, at)
        if line is None or line.end() - at - 2 > LINE_MAX:
            if data.find(b"\r\n", at) < 0 and len(data) - at - 1 <= LINE_MAX:
                return _WAIT
            raise Broken("the length of a chunk cannot be read")
        self._left = int(line[1], 16)
        self._read = self._within if self._left else self._trailers
        return line.end()

    def _within(self, data: bytes, at: int) -> int:
        """Read a chunk, and once it is whole the line end behind it."""
        if self._left:
            return self._piece(data, at)
        if len(data) - at < 2:
            return _WAIT
        if data[at : at + 2] != b"\r\n":
            raise Broken("a chunk is longer than it says")
        self._read = self._chunk
        return at + 2

    def _trailers(self, data: bytes, at: int) -> int:
        """Pass over the fields behind the last chunk: none of them means anything here."""
        if data.startswith(b"\r\n", at):
            self.done = True
            return at + 2
        end = data.find(b"\r\n\r\n", at)
        if (end - at if end >= 0 else len(data) - at - 3) > HEAD_MAX:
            raise Broken(f"the trailers of the answer are longer than {HEAD_MAX} bytes")
        self.done = end >= 0
        return end + 4 if self.done else _WAIT

    def _piece(self, data: bytes, at: int) -> int:
        """Take up to `left` bytes of body."""
        end = min(at + self._left, len(data))
        self._size += end - at
        if self._size > self._most:
            raise Broken(f"the reply is too large: more than {self._most} bytes")
        self._left -= end - at
        self.held += end - at
        self._parts.append(data[at:end])
        return end


@lru_cache(256)
def _spelled(name: bytes) -> str:
    """Return a field's name. Servers say the same few with every answer."""
    return name.decode("latin-1").title()


def _wrong(head: bytes, reason: str) -> str:
    """Say what is wrong with a head: the line that is no field, or else what the parser says."""
    for line in head.decode("latin-1").split("\r\n")[1:-2]:
        name, colon, _ = line.partition(":")
        if not colon or not _NAME.fullmatch(name):
            return f"found {line[:40]!r} among the fields of an answer"
    return f"what came is no HTTP answer: {reason}"
