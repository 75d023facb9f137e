"""The queue tree for a person: amounts, and a bar per queue that reads without colours too."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence

from phalanx.cli.output import counted, safe
from phalanx.cli.queue_accounts import Account, Accounts
from phalanx.cli.queue_bar import Bar, Line, Signs, borrowed, of, pending, short
from phalanx.model.axis import CPU, is_extended
from phalanx.model.quantity import written

WIDTH_MIN = 72
#: From here on there is room for columns that the bar shows as well.
_WIDE = 100
_NUMBER_MIN = 5
_NAMES_MAX = 3

_COLUMNS: dict[str, Callable[[Account, str], int | None]] = {
    "quota": lambda account, resource: account.quota.get(resource),
    "limit": lambda account, resource: account.limit.get(resource),
    "share": lambda account, resource: of(account.share, resource),
    "allocated": lambda account, resource: of(account.allocated, resource),
    "borrowed": borrowed,
    "pending": pending,
}
_ONLY_WIDE = {"limit", "borrowed"}
_LEGEND = {"within": "within quota", "borrowed": "borrowed", "pending": "pending", "share": "share", "limit": "limit"}


def resources_shown(found: Accounts) -> list[str]:
    """Return the resources to draw: every device that some queue lists, else cpu, else the first."""
    devices = [name for name in found.total if is_extended(name)]
    return devices or [name for name in found.total if name == CPU] or list(found.total)[:1]


def tree(found: Accounts, resources: Sequence[str], width: int, signs: Signs, most: int | None = None) -> list[Line]:
    """Return the tree once per resource, then what is wrong. `most`: so many queues are drawn, and the rest counted."""
    lines: list[Line] = []
    for resource in resources:
        lines += [*_Block(found, resource, max(width, WIDTH_MIN), signs).lines(most), []]
    if found.implicit:
        lines += [[("There is no Queue: everybody is in one queue, default, without bounds.", "")], *_plain(found), []]
    return [*lines, *problems] if (problems := list(_problems(found))) else lines[:-1]


def _plain(found: Accounts) -> Iterator[Line]:
    """Yield what is used where nothing is governed."""
    for account in found.queues:
        used = ", ".join(f"{name} {written(amount, name)}" for name, amount in sorted(account.allocated.items()))
        waits = f"{counted(account.pending, 'gang')} {'waits' if account.pending == 1 else 'wait'}"
        yield [(f"  {safe(account.name)}: allocated {safe(used) or 'nothing'}; {waits}", "")]


def _problems(found: Accounts) -> Iterator[Line]:
    for account in found.queues:
        if account.problem is not None:
            yield [("set aside", "red"), (f" {safe(account.problem)}", "")]
    for reason, names in found.outside.items():
        shown = ", ".join(names[:_NAMES_MAX]) + (f" and {len(names) - _NAMES_MAX:,} more" if names[_NAMES_MAX:] else "")
        yield [("in no queue", "yellow"), (f" {counted(len(names), 'gang')} ({safe(shown)}): {safe(reason)}", "")]


class _Block:
    """The tree of one resource."""

    def __init__(self, found: Accounts, resource: str, width: int, signs: Signs) -> None:
        self._resource = resource
        self._signs = signs
        self._total = of(found.total, resource)
        self._rows = list(_walk(found, signs))
        self._columns = {
            name: (max(len(name), _NUMBER_MIN), read)
            for name, read in _COLUMNS.items()
            if width >= _WIDE or name not in _ONLY_WIDE
        }
        rest = width - sum(size + 2 for size, _ in self._columns.values()) - 2
        longest = max([len(resource), *(len(stem) + len(one.name) for stem, one in self._rows)])
        # A long name is cut: the bars are what people look at.
        self._names = min(longest, rest // 2)
        drawn = [amount for _, one in self._rows for amount in (of(one.allocated, resource), of(one.share, resource))]
        self._bar = Bar(resource, rest - self._names, max([self._total, *drawn]), signs)

    def lines(self, most: int | None) -> Iterator[Line]:
        """Yield heading, rows and legend."""
        heads = "".join(f"  {name:>{size}}" for name, (size, _) in self._columns.items())
        scale = f"  0{self._short(self._bar.scale):>{self._bar.width - 1}}"
        yield [(self._cut(self._resource), "bold"), (heads, ""), (scale, "dim")]
        for stem, account in self._rows[:most]:
            numbers = "".join(
                f"  {self._short(read(account, self._resource)):>{size}}" for size, read in self._columns.values()
            )
            yield [(self._cut(stem + safe(account.name)), ""), (f"{numbers}  ", ""), *self._bar.draw(account)]
        if most is not None and len(self._rows) > most:
            yield [(f"and {counted(len(self._rows) - most, 'queue')} more; phalanx queues shows them all", "dim")]
        signs: Line = []
        for part, word in _LEGEND.items():
            signs += [self._signs.of(part), (f" {word}   ", "dim")]
        yield [*signs, (f"{self._short(self._total)} to divide", "dim")]

    def _cut(self, text: str) -> str:
        if len(text) > self._names:
            text = text[: self._names - len(self._signs.cut)] + self._signs.cut
        return f"{text:<{self._names}}"

    def _short(self, amount: int | None) -> str:
        return short(amount, self._resource, self._signs)


def _walk(found: Accounts, signs: Signs) -> Iterator[tuple[str, Account]]:
    """Yield the queues that are in order, each with the branch before its name, children under their parents."""
    children: dict[str | None, list[Account]] = {}
    for account in found.queues:
        if account.problem is None:
            children.setdefault(account.parent, []).append(account)
    # A stack and not recursion: a tree may be deeper than Python's.
    waiting = [("", "", account) for account in reversed(children.get(None, []))]
    while waiting:
        stem, below, account = waiting.pop()
        yield stem, account
        for position, child in enumerate(reversed(children.get(account.name, []))):
            branch, through = (signs.last, " " * len(signs.through)) if position == 0 else (signs.child, signs.through)
            waiting.append((below + branch, below + through, child))


def terminal_width() -> int:
    """Return how wide the output is; 80 where nobody says."""
    return shutil.get_terminal_size().columns


def show(lines: Sequence[Line]) -> None:
    """Print lines, with colours on a terminal."""
    if not sys.stdout.isatty():
        for line in lines:
            print("".join(text for text, _ in line).rstrip())
        return
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*line))
