"""Files of values, the later over the earlier, and what is wrong with them in a line for people."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from phalanx.kube.installation.values import Manifest, Values
from phalanx.policy.spelling import nearest
from phalanx.yaml_text import Malformed, read_one

_PATH = re.compile(r"^(?P<text>.*?) - at `\$\.?(?P<path>.*)`$", re.DOTALL)
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<key>.*)`$", re.DOTALL)
#: What a pattern means, for people.
_WORDS = {
    "image.repository": "an image without its tag, such as HOST/phalanx",
    "image.tag": "a tag such as 0.1.0",
    "image.digest": "sha256: and 64 hexadecimal digits",
    "schedulerNames": "a name such as phalanx",
    "extraArgs": "an option of phalanx run such as --eviction-rate=100",
    "priorityClassName": "the name of a priority class",
    "serviceMonitor.interval": "a time such as 30s",
}


class ValuesError(Exception):
    """Values that cannot be installed; the text is one line that names the key and what was found."""


def read_values(texts: Sequence[tuple[str, str]]) -> Values:
    """Return the values of files, (name, text), the later over the earlier, all over the defaults, as helm does."""
    merged: Manifest = msgspec.to_builtins(Values())
    for name, text in texts:
        found = read_one(text.encode())
        if isinstance(found, Malformed):
            raise ValuesError(f"{name}:{found.line}: not YAML: {found.message}")
        found = {} if found is None else found
        if not isinstance(found, dict):
            raise ValuesError(f"{name}: found {type(found).__name__}, allowed is a mapping of values")
        merged = _over(merged, found)
        # File by file, so that the mistake is told of the file that has it.
        values = _checked(name, merged)
    return values if texts else Values()


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> Manifest:
    both = dict(below)
    for key, value in above.items():
        under = both.get(key)
        both[key] = _over(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return both


def _checked(name: str, merged: Manifest) -> Values:
    try:
        values = msgspec.convert(merged, Values)
    except msgspec.ValidationError as error:
        raise ValuesError(f"{name}: {_mistake(str(error), merged)}") from None
    for wrong, line in (
        (not values.lease.retry_period < values.lease.renew_deadline < values.lease.duration, LEASE_RISES),
        (names_schedulers(values.policy), NAMES_APART),
    ):
        if wrong:
            raise ValuesError(f"{name}: {line}")
    return values


LEASE_RISES = "lease: allowed are rising numbers, retryPeriod below renewDeadline below duration"
NAMES_APART = "policy: found schedulerNames, which is a value of its own beside policy"


def names_schedulers(policy: str | Manifest | None) -> bool:
    """Tell whether a policy has the key that the chart writes before it."""
    if isinstance(policy, dict):
        return "schedulerNames" in policy
    return bool(re.search(r"(?m)^schedulerNames:", policy or ""))


def _mistake(text: str, merged: Manifest) -> str:
    at = _PATH.match(text)
    said, path = (at["text"], at["path"]) if at else (text, "")
    unknown = _UNKNOWN.match(said)
    if unknown:
        key = f"{path}.{unknown['key']}".lstrip(".")
        meant = nearest(unknown["key"], _keys(path))
        return f"{key}: no such value" + (f", did you mean {meant}?" if meant else "")
    plain = f"{said[:1].lower()}{said[1:]}"
    # Which key of a mapping it was is not told.
    if "..." in path:
        return f"{path}: {plain}"
    found: Any = merged
    for key, position in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        found = found[int(position)] if position else found.get(key) if isinstance(found, dict) else None
    # The pattern itself says little to people.
    words = _WORDS.get(path.partition("[")[0]) if " matching regex " in said else None
    return f"{path}: found {found!r}{f', allowed is {words}' if words else f': {plain}'}"


def _keys(path: str) -> list[str]:
    part: Any = Values
    for key in path.split("."):
        part = next((one.type for one in _fields(part) if one.encode_name == key), part)
    return [one.encode_name for one in _fields(part)]


def _fields(part: Any) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(part) if isinstance(part, type) and issubclass(part, Struct) else ()
