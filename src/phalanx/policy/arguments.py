"""Arguments: what a policy file says of a plugin or an action, as the fields of its dataclass."""

import math
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, Literal, TypeVar

import msgspec

from phalanx.model.duration import DurationError, Seconds, seconds
from phalanx.model.quantity import shown
from phalanx.policy.document import Document
from phalanx.policy.spelling import nearest, unknown
from phalanx.yaml_text import Path

Made = TypeVar("Made")

_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def make(document: Document, path: Path, cls: type[Made], given: Any) -> Made | None:
    """Return `cls` with its fields from a mapping, or None after noting every mistake in it."""
    if not isinstance(given, Mapping):
        document.mistake(path, f"found {shown(given)}, allowed is a map")
        return None
    before = len(document.mistakes)
    known = [one for one in fields(cls) if one.init]  # type: ignore[arg-type]
    hints = typing.get_type_hints(cls)
    names = [written(one.name) for one in known]
    for name in given:
        if name not in names:
            document.mistake((*path, name), unknown("argument", name, names))
    for one in known:
        if written(one.name) not in given and _required(one):
            document.mistake((*path, written(one.name)), "missing, it has no default")
    values = {
        one.name: _Converter(document, (*path, name)).convert(given[name], hints[one.name])
        for one, name in zip(known, names, strict=True)
        if name in given
    }
    if len(document.mistakes) > before:
        return None
    try:
        return cls(**values)
    except ValueError as error:
        _semantic(document, path, str(error), names)
    except Exception as error:  # noqa: BLE001 (other people's checks may raise anything)
        document.mistake(path, f"{cls.__name__} cannot be made of these: {type(error).__name__}: {error}")
    return None


def written(field: str) -> str:
    """Return a field's name as a policy file has it: `half_life` is `halfLife` there."""
    first, *others = field.split("_")
    return first + "".join(map(str.capitalize, others))


def _semantic(document: Document, path: Path, complaint: str, names: Sequence[str]) -> None:
    """Note what a plugin's own check says, `field: message` or `field.key: message`, at that field's line."""
    dotted, _, message = complaint.partition(": ")
    given = (at for at in document.lines if at[: len(path)] == path and ".".join(map(str, at[len(path) :])) == dotted)
    if dotted in names or (dotted and message and dotted.split(".")[0] in names):
        document.mistake(next(given, (*path, dotted)), message)
    else:
        document.mistake(path, complaint)


def _required(one: "Field[Any]") -> bool:
    return one.default is MISSING and one.default_factory is MISSING


@dataclass(frozen=True, slots=True)
class _Converter:
    """Turns one value into what a type hint asks for. Containers are walked, so that each mistake has its line."""

    document: Document
    path: Path

    def convert(self, given: Any, hint: Any) -> Any:
        inner = typing.get_args(hint)
        kind = typing.get_origin(hint) or hint
        made: Any
        if kind in {typing.Union, types.UnionType} and type(None) in inner and len(inner) == 2:
            made = None if given is None else self.convert(given, next(one for one in inner if one is not type(None)))
        elif hint is Seconds:
            made = self._seconds(given)
        elif kind is Literal:
            made = self._one_of(given, inner)
        elif not isinstance(kind, type):
            made = self._plain(given, hint)
        elif is_dataclass(kind):
            made = make(self.document, self.path, kind, given)
        elif issubclass(kind, Mapping) and inner:
            made = self._mapping(given, inner[1])
        elif issubclass(kind, Sequence) and inner:
            made = self._sequence(given, kind, inner)
        else:
            made = self._plain(given, hint)
        return made

    def _mapping(self, given: Any, hint: Any) -> Any:
        if not isinstance(given, Mapping):
            return self._refuse(given, "a map")
        return {key: self._at(key).convert(value, hint) for key, value in given.items()}

    def _sequence(self, given: Any, kind: type, inner: tuple[Any, ...]) -> Any:
        if not isinstance(given, list):
            return self._refuse(given, "a list")
        hints = inner[:1] * len(given) if inner[-1] is Ellipsis or kind is not tuple else inner
        if len(hints) != len(given):
            return self._refuse(given, f"a list of {len(hints)}")
        made = [self._at(position).convert(value, hints[position]) for position, value in enumerate(given)]
        return tuple(made) if kind is tuple else made

    def _seconds(self, given: Any) -> Any:
        try:
            return seconds(given)
        except DurationError as error:
            self.document.mistake(self.path, str(error))

    def _one_of(self, given: Any, allowed: Sequence[Any]) -> Any:
        if any(given == value and type(given) is type(value) for value in allowed):
            return given
        meant = nearest(str(given), map(str, allowed))
        guess = f", did you mean {meant}?" if meant else ""
        self.document.mistake(self.path, f"found {shown(given)}{guess} (allowed: {', '.join(map(str, allowed))})")
        return None

    def _plain(self, given: Any, hint: Any) -> Any:
        try:
            made = msgspec.convert(given, hint, strict=True)
        except msgspec.ValidationError as error:
            if hint in _WORDS:
                return self._refuse(given, _WORDS[hint])
            if typing.get_origin(hint) in {typing.Union, types.UnionType}:
                return self._refuse(given, " or ".join(map(_described, typing.get_args(hint))))
            self.document.mistake(self.path, f"found {shown(given)}: {error}")
            return None
        if isinstance(made, float) and not math.isfinite(made):
            return self._refuse(given, "a finite number")
        return made

    def _at(self, part: str | int) -> "_Converter":
        return _Converter(self.document, (*self.path, part))

    def _refuse(self, given: Any, allowed: str) -> None:
        self.document.mistake(self.path, f"found {shown(given)}, allowed is {allowed}")


def _described(hint: Any) -> str:
    """Return what a type hint allows, in words."""
    return (
        ", ".join(map(str, typing.get_args(hint)))
        if typing.get_origin(hint) is Literal
        else _WORDS.get(hint, str(hint))
    )
