"""YAML as kubectl reads it: one dialect for manifests, policies and kubeconfigs, fast, and safe against strangers.

Values are built straight from libyaml's events. Scalars mean what they mean to kubectl: `no` is false, 010 is eight,
1_000 a thousand; 1:30 and dates are text. What kubectl passes over in silence is refused: a key that stands twice, and
tags of one's own. A file is cut at its `---` lines first: a document that is broken costs no other.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from yaml._yaml import CParser
from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)
from yaml.reader import ReaderError

from phalanx.yaml_scalar import key_of, plain

#: Deeper than any Kubernetes object (the schema of a CRD that embeds a pod is at about 60).
DEPTH_MAX = 200
#: How many values a document may gain by aliases. A real object has thousands; a bomb has billions.
ALIASED_MAX = 1_000_000
#: Where a value stands: keys and list positions from the top.
Path = tuple[str | int, ...]

# A line that starts with three dashes starts a document, even inside a block of text: so says YAML.
_START = re.compile(rb"^---(?=\s|$)", re.MULTILINE)
_DIRECTIVES = re.compile(rb"(?:\s*(?:[%#][^\n]*)?\n)*", re.ASCII)
_TAG = "tag:yaml.org,2002:"
_TYPES: dict[str, type | tuple[type, ...]] = {
    "int": int, "float": (int, float), "bool": bool, "null": type(None),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Malformed:
    """A document that is not YAML: the line where that shows, and one sentence."""

    line: int
    message: str


@dataclass(slots=True)
class Notes:
    """What a reader wants to know of a document besides its value."""

    #: The line of each value.
    lines: dict[Path, int] = field(default_factory=dict[Path, int])
    #: Keys that stand in a mapping already, with the line of the second. The first counts.
    twice: list[tuple[Path, int]] = field(default_factory=list[tuple[Path, int]])


def split(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Cut a file into its documents: (number of its first line, bytes)."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode()
    data = data.removeprefix(b"\xef\xbb\xbf")
    begin, line = 0, 1
    for start in [*(match.start() for match in _START.finditer(data)), len(data)]:
        part = data[begin:start]
        # Directives belong to the document that follows them.
        if start < len(data) and b"%" in part and _DIRECTIVES.fullmatch(part):
            continue
        yield line, part
        line += part.count(b"\n")
        begin = start


def parse(part: bytes, line: int = 1) -> Iterator[object]:
    """Read what `split` cut: values, or one `Malformed`. Documents without content are left out."""
    try:
        for value in _Builder(part).documents():
            if value is not None:
                yield value
    except _BROKEN as error:
        yield _malformed(error, part, line)


def read_one(data: bytes, notes: Notes | None = None, depth: int = DEPTH_MAX) -> object | Malformed:
    """Read a file that holds one document: its value, None if it is empty."""
    builder = _Builder(data, notes, depth)
    found: list[object] = []
    try:
        for value in builder.documents():
            if found:
                return Malformed(builder.began, "found another document, allowed is one")
            found.append(value)
    except _BROKEN as error:
        return _malformed(error, data, 1)
    return found[0] if found else None


def _malformed(error: Exception, part: bytes, line: int) -> Malformed:
    if isinstance(error, _Refusal):
        return Malformed(line + error.line, error.message)
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        words = [str(error.problem or "malformed"), *([f"({error.context})"] if error.context else [])]
        # What is left open is missed only after the last line.
        last = part.rstrip().count(b"\n")
        return Malformed(line + min(mark.line if mark else 0, last), " ".join(words))
    if isinstance(error, ReaderError):
        return Malformed(line + part[: error.position].count(b"\n"), f"not text: {error.reason}")
    return Malformed(line, " ".join(str(error).split()))


class _Refusal(Exception):  # noqa: N818 (it never leaves this module)
    """Well-formed YAML that is refused."""

    def __init__(self, event: Any, message: str) -> None:
        super().__init__(message)
        self.line: int = event.start_mark.line
        self.message = message


_BROKEN = (_Refusal, YAMLError)


@dataclass(slots=True)
class _Builder:
    """Builds the values of one part from its events."""

    part: bytes
    notes: Notes | None = None
    deepest: int = DEPTH_MAX
    #: The line on which the document begins that was read last.
    began: int = 0
    _path: list[str | int] = field(default_factory=list[str | int])
    _next: Any = None
    #: Values built so far, aliases counted at full size: the difference of two counts is a size.
    _count: int = 0
    _aliased: int = 0
    _anchors: dict[str, tuple[object, int]] = field(default_factory=dict[str, tuple[object, int]])

    def documents(self) -> Iterator[object]:
        """Yield the value of every document."""
        self._next = CParser(self.part).get_event
        while type(event := self._next()) is not StreamEndEvent:
            if type(event) is DocumentStartEvent:
                self.began = _line(event)
                self._anchors.clear()
                self._aliased = 0
                yield self._value(self._next(), 0)

    def _value(self, event: Any, depth: int) -> object:
        """Build one value from its first event on."""
        before = self._count
        self._count += 1
        if self.notes is not None:
            self.notes.lines.setdefault(tuple(self._path), event.start_mark.line + 1)
        kind = type(event)
        if kind is ScalarEvent:
            value = _scalar(event)
        elif kind is AliasEvent:
            return self._alias(event)
        elif depth >= self.deepest:
            raise _Refusal(event, f"nested more than {self.deepest} levels deep")
        elif kind is MappingStartEvent:
            value = self._mapping(event, depth)
        else:
            value = self._sequence(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._count - before)
        return value

    def _alias(self, event: Any) -> object:
        """Return the value an alias stands for, and count what it adds."""
        if event.anchor not in self._anchors:
            raise _Refusal(event, f"alias *{event.anchor} has no anchor before it")
        value, size = self._anchors[event.anchor]
        self._count += size
        self._aliased += size
        if self._aliased > ALIASED_MAX:
            raise _Refusal(event, f"aliases add more than {ALIASED_MAX:,} values")
        return value

    def _sequence(self, event: Any, depth: int) -> list[object]:
        _refuse_tag(event, "seq")
        values: list[object] = []
        while type(item := self._next()) is not SequenceEndEvent:
            self._path.append(len(values))
            values.append(self._value(item, depth + 1))
            self._path.pop()
        return values

    def _mapping(self, event: Any, depth: int) -> dict[str, object]:
        _refuse_tag(event, "map")
        values: dict[str, object] = {}
        merged: dict[str, object] = {}
        while type(key := self._next()) is not MappingEndEvent:
            if type(key) is AliasEvent:
                name = self._alias(key)
            elif type(key) is ScalarEvent:
                name = key_of(key.value) if key.implicit[0] and key.tag is None else key.value
                if key.anchor is not None:
                    self._anchors[key.anchor] = (name, 1)
            else:
                name = None
            if not isinstance(name, str):
                raise _Refusal(key, "a key must be text")
            twice = name in values
            if twice and self.notes is None:
                raise _Refusal(key, f"key {name[:60]!r} stands twice in one mapping")
            value = self._at(name, key, depth, noted=not twice)
            if name == "<<" and type(key) is ScalarEvent and key.implicit[0]:
                merged = _merged(key, value) | merged
            elif not twice:
                values[name] = value
        return merged | values if merged else values

    def _at(self, name: str, key: Any, depth: int, *, noted: bool) -> object:
        """Build the value of a key. Where lines are wanted it is found on the line of its key."""
        if self.notes is None:
            return self._value(self._next(), depth + 1)
        self._path.append(name)
        if noted:
            self.notes.lines[tuple(self._path)] = key.start_mark.line + 1
        else:
            self.notes.twice.append((tuple(self._path), key.start_mark.line + 1))
        value = self._value(self._next(), depth + 1)
        self._path.pop()
        return value


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _merged(key: Any, value: object) -> dict[str, object]:
    """Return what `<<: *base` or `<<: [*one, *two]` brings in; the earlier one wins."""
    bases = value if isinstance(value, list) else [value]
    if not all(isinstance(base, dict) for base in bases):
        raise _Refusal(key, "<< takes a mapping or a list of mappings")
    merged: dict[str, object] = {}
    for base in reversed(bases):
        merged |= base
    return merged


def _refuse_tag(event: Any, allowed: str) -> None:
    """Refuse tags that would make a collection something else."""
    if event.tag not in {None, "!", _TAG + allowed}:
        raise _Refusal(event, f"tag {str(event.tag)[:60]} is not allowed")


def _scalar(event: Any) -> object:
    """Return a scalar's value: by its look when it is plain, by its tag when it has one, else its text."""
    if event.tag is None or event.tag == "!":
        return plain(event.value) if event.implicit[0] and event.tag is None else event.value
    name = event.tag.removeprefix(_TAG)
    if name == "str":
        return event.value
    if name not in _TYPES:
        raise _Refusal(event, f"tag {event.tag[:60]} is not allowed")
    value = plain(event.value)
    # A bool is an int to Python, and to nobody else.
    if not isinstance(value, _TYPES[name]) or (isinstance(value, bool) and name != "bool"):
        raise _Refusal(event, f"found {event.value[:60]!r}, allowed is {name}")
    return value
