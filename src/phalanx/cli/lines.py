"""Lines of a report, each with the word in it that a terminal may colour."""

import sys
from collections.abc import Sequence

#: The line, and the word; empty: none.
Line = tuple[str, str]

STYLES = {
    "bind": "green",
    "nominate": "cyan",
    "evict": "magenta",
    "wait": "yellow",
    "waiting": "yellow",
    "refused": "red",
    "cycle": "bold",
    "release": "cyan",
    "over": "dim",
    "would": "bold",
}


def print_lines(report: Sequence[Line]) -> None:
    """Print lines; on a terminal, with their words in colour."""
    if not sys.stdout.isatty():
        print("\n".join(line for line, _ in report))
        return
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line, word in report:
        text = Text(line)
        if word:
            text.stylize(STYLES[word], line.index(word), line.index(word) + len(word))
        console.print(text)
