"""What a scalar without quotes means to kubectl: YAML 1.1 as its parser has it, and then JSON."""

import re
from math import isinf

_INTEGER = re.compile(
    r"(?P<sign>[-+]?)"
    r"(?:0[xX](?P<hex>[0-9a-fA-F]{1,16})|0[bB](?P<binary>[01]{1,64})|0[oO]?(?P<octal>[0-7]{1,22})"
    r"|(?P<plain>0|[1-9][0-9]{0,19}))"
)
_BASES = {"hex": 16, "binary": 2, "octal": 8, "plain": 10}
#: What numbers without a fraction may be; others are rounded as floats are.
_LEAST, _MOST = -(2**63), 2**64 - 1
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
#: Floats up to here are written without an exponent, and read again as whole numbers.
_WHOLE = 1e21
_NUMERIC = frozenset("0123456789+-.")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"), False),
}


def plain(text: str) -> object:
    """Return the value of a scalar without quotes.

    JSON has no number for .inf and .nan. kubectl gives up on the whole file; here they are text, so that whoever looks
    for a number there can name the field.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC:
        return text
    digits = text.replace("_", "") if text[0] != "." else text
    whole = _INTEGER.fullmatch(digits)
    if whole is not None:
        base = whole.lastgroup or "plain"
        value = int(whole["sign"] + whole[base], _BASES[base])
        if _LEAST <= value <= _MOST:
            return value
    if not _NUMBER.fullmatch(digits) or isinf(number := float(digits)):
        return text
    return int(number) if number.is_integer() and abs(number) < _WHOLE else number


def key_of(text: str) -> str | None:
    """Return the key that a scalar without quotes is: JSON has text alone. None: what is nothing is no key."""
    if text not in _WORDS and text[0] not in _NUMERIC:
        return text
    value = plain(text)
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)
