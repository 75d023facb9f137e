"""What can stand next on a command line: asked by the shells' completion and by kubectl's, at each press of Tab.

Nothing is loaded that the page of a command does not need. Where there are no candidates the shell offers files.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from phalanx.cli.commands import COMMANDS

if TYPE_CHECKING:
    from cyclopts import App, Argument

#: To kubectl: nothing but these; what the shell would do without us, which is files.
_ONLY_THESE, _AS_USUAL = ":4", ":0"


def candidates(words: Sequence[str]) -> list[str]:
    """Return what the last of the words after the program's name can become; behind a tab, each explained."""
    # bash divides words at =, which is a word of its own then.
    *before, last = [*(word for word in words if word != "="), *([""] if words[-1] == "=" else [])]
    if not before:
        every = {**COMMANDS, "--help": "Print this page.", "--version": "Print the version."}
        return [f"{name}\t{text}" for name, text in every.items() if name.startswith(last)]
    if before[0] not in COMMANDS:
        return []
    from phalanx.cli.main import app  # noqa: PLC0415 (the names of the commands need none of it)

    node, rest = app(before[0])[before[0]], before[1:]
    while rest and not rest[0].startswith("-") and rest[0] in list(node):
        node, rest = node[rest[0]], rest[1:]
    return [one for one in _of_command(node, rest, last) if one.startswith(last)]


def _of_command(node: "App", rest: Sequence[str], last: str) -> list[str]:
    options = list(node.assemble_argument_collection()) if node.default_command is not None else []
    name, equals, _ = last.partition("=")
    asked = _named(options, name if equals else rest[-1] if rest else "")
    if asked is not None and asked.token_count()[0]:
        values = asked.get_choices() or ()
        return [f"{name}={value}" if equals else value for value in values]
    if last.startswith("-"):
        shown = [name for one in options if one.show for name in (*one.names, *one.negatives) if name.startswith("-")]
        return [*dict.fromkeys(shown), "--help"]
    if rest:
        return []
    words = [value for one in options if not one.names[0].startswith("-") for value in one.get_choices() or ()]
    return [*(name for name in node if not name.startswith("-")), *words]


def _named(options: Sequence["Argument"], name: str) -> "Argument | None":
    return next((one for one in options if name in one.names), None) if name.startswith("-") else None


def complete(words: Sequence[str]) -> int:
    """Print the candidates, a line each."""
    for one in candidates(words or [""]):
        print(one)
    return 0


def kubectl() -> int:
    """Answer kubectl, which runs `kubectl_complete-phalanx` with what follows `kubectl phalanx`."""
    found = candidates(sys.argv[1:] or [""])
    print("\n".join([*found, _ONLY_THESE if found else _AS_USUAL]))
    return 0
