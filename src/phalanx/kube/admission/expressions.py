"""Small pieces of the API server's expression language (CEL)."""

import json
from collections.abc import Iterable, Mapping, Sequence

#: What Python's ascii() leaves as it is: no quote, no backslash, nothing beyond ASCII.
_PLAIN = r'''r"^[ -&(-\[\]-~]*$"'''
_SHORTENED = """"'" + x.substring(0, 47) + '… (' + string(x.size()) + ' characters)'"""


def text(value: str) -> str:
    """Return a text literal."""
    return json.dumps(value, ensure_ascii=False)


def pattern(value: str) -> str:
    """Return a regular expression that must match the whole text."""
    assert '"' not in value
    return f'r"^(?:{value})$"'


def listed(values: Iterable[str]) -> str:
    """Return a list of text literals."""
    return f"[{', '.join(map(text, values))}]"


def mapped(entries: Mapping[str, str]) -> str:
    """Return a map from text to expressions."""
    return "{" + ", ".join(f"{text(key)}: {value}" for key, value in entries.items()) + "}"


def choice(cases: Sequence[tuple[str, str]], otherwise: str) -> str:
    """Return the value of the first condition that holds; nothing behind it is evaluated."""
    return "(" + " : ".join([*(f"{condition} ? {value}" for condition, value in cases), otherwise]) + ")"


def shown(value: str) -> str:
    """Return a text as `model.quantity.shown` would write it; one with other than plain characters is only counted."""
    size = "string(x.size())"
    cases = [
        (f"!x.matches({_PLAIN})", f"'a text of ' + {size} + ' characters, not all of them plain'"),
        ("x.size() <= 60", """"'" + x + "'\""""),
    ]
    return f"[{value}].map(x, {choice(cases, _SHORTENED)})[0]"
