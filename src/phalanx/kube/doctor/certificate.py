"""When a credential runs out: the dates in a client certificate and in a token, read without any library.

Python's own ssl reads the dates of a server's certificate alone, and a whole cryptographic library for two dates of
our own would be a large dependency of every installation.
"""

import base64
import binascii
import re
from datetime import UTC, datetime

import msgspec

_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
_VERSION = 0xA0
#: The tags of the two forms of a time, and what is in them.
_TIMES = {0x17: "%y%m%d%H%M%SZ", 0x18: "%Y%m%d%H%M%SZ"}


class _Claims(msgspec.Struct):
    exp: float | None = None


def certificate_dates(pem: bytes) -> tuple[float, float] | None:
    """Return from when until when a certificate is good, in seconds since 1970; None: it cannot be read."""
    found = _PEM.search(pem)
    if found is None:
        return None
    try:
        data = base64.b64decode(found[1])
        _, inside, _ = _element(data, 0)
        _, at, _ = _element(data, inside)
        tag, _, end = _element(data, at)
        # A serial number, an algorithm and an issuer stand before the dates.
        for _ in range(4 if tag == _VERSION else 3):
            _, _, end = _element(data, at)
            at = end
        _, at, _ = _element(data, at)
        first, middle = _time(data, at)
        last, _ = _time(data, middle)
    except (IndexError, ValueError, KeyError, binascii.Error):
        return None
    return first, last


def token_end(authorization: str) -> float | None:
    """Return when a token runs out, if it is one that says so."""
    parts = authorization.removeprefix("Bearer ").split(".")
    if len(parts) != 3:
        return None
    try:
        claims = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(claims, type=_Claims).exp
    except (binascii.Error, ValueError, msgspec.DecodeError):
        return None


def _element(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the tag of an element, where its content begins and where it ends."""
    tag, length, at = data[at], data[at + 1], at + 2
    if length & 0x80:
        size = length & 0x7F
        length, at = int.from_bytes(data[at : at + size], "big"), at + size
    return tag, at, at + length


def _time(data: bytes, at: int) -> tuple[float, int]:
    tag, start, end = _element(data, at)
    text = data[start:end].decode("ascii")
    return datetime.strptime(text, _TIMES[tag]).replace(tzinfo=UTC).timestamp(), end
