"""Mistakes in objects: which field, what was found there, and what is allowed.

A pending pod of ours with a mistake is refused. A pod that is on a node already takes its room whatever its
object says, so there the first mistake is only remembered, and reading goes on.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import msgspec
import msgspec.structs

from phalanx.model.quantity import shown
from phalanx.model.task import Hold

#: A DNS-1123 subdomain: how Kubernetes lets objects be named.
NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*", re.ASCII)
NAME_MAX = 253
NAME_ALLOWED = f"at most {NAME_MAX} lower-case letters, digits, '-' and '.', with a letter or digit at both ends"

#: The key of a label.
LABEL_KEY = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?", re.ASCII)

_RESOURCE = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_./]{0,316}", re.ASCII)
RESOURCE_ALLOWED = "the name of a resource such as cpu or nvidia.com/gpu"

#: What decoding raises: its own errors, strings that are no Unicode, nesting without end.
UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError)

_TOKEN = re.compile(r"\.(?P<name>\w+)|\[(?P<index>[0-9]+)\]|\[\.\.\.\]")
_ERROR = re.compile(r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
_EXPECTED = re.compile(r"Expected `(?P<types>[^`]*)`(?P<bound> [<>]=? -?[0-9]+)?.*", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`")
_WORDS = {
    "str": "a string", "int": "a whole number", "float": "a number", "bool": "true or false",
    "object": "a map", "array": "a list",
}  # fmt: skip


class FieldError(ValueError):
    """One bad field of an object."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


@dataclass(slots=True)
class Mistakes:
    """What a mistake leads to: strict, it ends the reading; else the first one is kept."""

    strict: bool
    first: Hold | None = None

    def note(self, field: str, message: str) -> None:
        """Tell of a mistake."""
        if self.strict:
            raise FieldError(field, message)
        self.first = self.first or Hold(field, message)


def one_of(found: object, allowed: tuple[str, ...]) -> str:
    """Return the sentence for a value outside a known set."""
    return f"found {shown(found)}, allowed is {', '.join(allowed)}"


def is_name(text: str) -> bool:
    """Tell whether Kubernetes would take this as the name of an object."""
    return len(text) <= NAME_MAX and NAME.fullmatch(text) is not None


def check_name(text: str, field: str) -> None:
    """Raise if Kubernetes would not take this as the name of an object."""
    if not is_name(text):
        raise FieldError(field, f"found {shown(text)}, allowed is {NAME_ALLOWED}")


def is_resource(text: str) -> bool:
    """Tell whether this can be the name of a resource."""
    return _RESOURCE.fullmatch(text) is not None


def under(path: str, key: str) -> str:
    """Return the path of a key in a map: `requests.cpu`, `annotations[phalanx.dev/gang]`."""
    if key.replace("-", "").isalnum() and key.isascii() and len(key) < 64:
        return f"{path}.{key}"
    return f"{path}[{key if re.fullmatch(r'[!-Z^-~]{1,316}', key) else shown(key)}]"


def of_wrong_type(error: str, document: Any, type_: Any = None) -> tuple[str, str]:
    """Turn the decoder's error into the field and the sentence, with what really stands there.

    `type_`: what the document was decoded to.
    """
    parts = _ERROR.fullmatch(error)
    assert parts is not None
    field, found = _follow(document, parts["path"] or "")
    if parts["key"]:
        odd = next((key for key in found if not isinstance(key, str)), None)
        return field, f"found the key {shown(odd)}, allowed is a string (in quotes)"
    if missing := _MISSING.fullmatch(parts["what"]):
        return f"{field}.{missing['name']}".lstrip("."), "missing"
    if unknown := _UNKNOWN.fullmatch(parts["what"]):
        return under(field, unknown["name"]), f"unknown field, allowed is {', '.join(_fields(type_, field))}"
    expected = _EXPECTED.fullmatch(parts["what"])
    if expected is None:
        return field, parts["what"]
    words = [_WORDS.get(word, word) for word in expected["types"].split(" | ") if word != "null"]
    allowed = " or ".join(words) + (expected["bound"] or "")
    unquoted = words == ["a string"] and isinstance(found, int | float)
    return field, f"found {shown(found)}, allowed is {allowed}{' (put it in quotes)' if unquoted else ''}"


def _follow(document: Any, path: str) -> tuple[str, Any]:
    """Return the field at the decoder's path, and its value."""
    field, value = "", document
    for token in _TOKEN.finditer(path):
        if token["name"]:
            value = value.get(token["name"]) if isinstance(value, Mapping) else None
            field = f"{field}.{token['name']}".lstrip(".")
        elif token["index"]:
            value = value[int(token["index"])]
            field = f"{field}[{token['index']}]"
        else:
            # The decoder does not say which key of a map of strings it is.
            key = next(key for key, one in value.items() if not isinstance(one, str))
            field, value = under(field, key), value[key]
    return field, value


def _fields(type_: Any, path: str) -> list[str]:
    """Return the fields that an object has at a path such as `spec`."""
    for step in path.split("."):
        inner = next(one.type for one in msgspec.structs.fields(type_) if one.encode_name == step)
        type_ = next(
            one for one in (inner, *get_args(inner)) if isinstance(one, type) and issubclass(one, msgspec.Struct)
        )
    return [one.encode_name for one in msgspec.structs.fields(type_)]
