"""Logs that a person can read and a program can split: one line per thing that happened, `when what key=value…`.

Names and messages come from strangers' manifests, so whatever could end a line, move a cursor or turn the text
around is escaped, and no value is longer than a screen.
"""

import json
import re
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal, TextIO

from phalanx.kube.clock import Clock

VALUE_MAX = 1024

Form = Literal["text", "json"]
Value = str | int | float | bool | None

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,()\[\]-]+", re.ASCII)


class Log:
    """Says what happened, on standard error unless told otherwise."""

    def __init__(self, form: Form = "text", stream: TextIO | None = None, clock: Clock | None = None) -> None:
        self._line = _json if form == "json" else _text
        self._stream = stream
        self._clock = clock or Clock()

    def say(self, what: str, /, **fields: Value) -> None:
        """Write one line. Fields without a value are left out."""
        line = self._line(_stamp(self._clock.now()), what, {key: _short(value) for key, value in fields.items()})
        # Looked up each time: whoever redirects standard error means this log too. A reader that went away must not
        # stop the scheduler.
        with suppress(OSError, ValueError):
            stream = self._stream or sys.stderr
            stream.write(line + "\n")
            stream.flush()


def _text(when: str, what: str, fields: dict[str, Value]) -> str:
    return " ".join(
        [when, _shown(what), *(f"{key}={_shown(value)}" for key, value in fields.items() if value is not None)]
    )


def _json(when: str, what: str, fields: dict[str, Value]) -> str:
    known = {key: value for key, value in fields.items() if value is not None}
    return json.dumps({"time": when, "what": what} | known)


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if _PLAIN.fullmatch(text) else f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else char.encode("unicode_escape").decode()


def _short(value: Value) -> Value:
    if isinstance(value, str) and len(value) > VALUE_MAX:
        return f"{value[:VALUE_MAX]}… ({len(value)} characters)"
    return value


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
