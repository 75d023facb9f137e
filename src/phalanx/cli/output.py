"""What every command prints to people: mistakes on standard error, one line each, safe on any terminal."""

import sys


class Mistake(Exception):  # noqa: N818 (it is the user's, and no error of ours)
    """The user's mistake: its text is one clear line, or several, each about one thing."""


def complain(text: str) -> None:
    """Print each line of a text on standard error."""
    for line in text.splitlines():
        print(f"phalanx: {safe(line)}", file=sys.stderr)


def safe(line: str) -> str:
    """Return a line without anything that moves the cursor, changes colours or turns the text around.

    Names and messages come from strangers' manifests.
    """
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)


def counted(number: int, noun: str) -> str:
    """Return `1 pod`, `2 pods`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
