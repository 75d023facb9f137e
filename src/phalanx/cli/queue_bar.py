"""One queue as a bar: used within its quota, borrowed, asked for; marks for its share and its limit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from phalanx.cli.queue_accounts import Account
from phalanx.model.axis import unit
from phalanx.model.quantity import is_binary
from phalanx.model.queue import UNLIMITED

#: A line in pieces, each with its style; the text alone says everything.
Line = list[tuple[str, str]]

STYLES = {"within": "green", "borrowed": "yellow", "pending": "dim", "share": "bold cyan", "limit": "bold red"}


@dataclass(frozen=True, slots=True)
class Signs:
    """The characters of the picture."""

    within: str = "█"
    borrowed: str = "▒"
    pending: str = "·"
    share: str = "│"
    limit: str = "]"
    child: str = "├ "
    last: str = "└ "
    through: str = "│ "
    unlimited: str = "∞"
    cut: str = "…"

    def of(self, part: str) -> tuple[str, str]:
        """Return one cell of a part, with its style."""
        return {"within": self.within, "borrowed": self.borrowed, "pending": self.pending, "share": self.share}.get(
            part, self.limit
        ), STYLES[part]


ASCII = Signs("#", "+", ".", "|", "]", "|-", "`-", "| ", "inf", "~")


def signs_for(encoding: str | None) -> Signs:
    """Return what an output can show."""
    fine = Signs()
    try:
        "".join(getattr(fine, one.name) for one in fields(fine)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return fine


@dataclass(frozen=True, slots=True)
class Bar:
    """Draws one resource of any queue on a common scale."""

    resource: str
    width: int
    #: The amount of a full bar.
    scale: int
    signs: Signs

    def draw(self, account: Account) -> Line:
        """Return the bar of one queue."""
        cells = [(" ", "")] * self.width
        used, quota = of(account.allocated, self.resource), account.quota.get(self.resource, UNLIMITED)
        parts = (
            ("within", min(used, quota)),
            ("borrowed", max(used - quota, 0)),
            ("pending", pending(account, self.resource)),
        )
        first, total = 0, 0
        for part, amount in parts:
            total += amount
            # What is there is seen, however little it is.
            last = min(max(self._cell(total), first + (amount > 0)), self.width)
            cells[first:last] = [self.signs.of(part)] * (last - first)
            first = last
        share, limit = of(account.share, self.resource), account.limit.get(self.resource, UNLIMITED)
        if share:
            cells[min(self._cell(share), self.width - 1)] = self.signs.of("share")
        if limit <= self.scale:
            # Where both marks meet, the limit is the one that nothing can move.
            cells[min(self._cell(limit), self.width - 1)] = self.signs.of("limit")
        return _joined(cells)

    def _cell(self, amount: int) -> int:
        return (2 * amount * self.width + self.scale) // (2 * self.scale) if self.scale else 0


def of(amounts: Mapping[str, int], resource: str) -> int:
    """Return one amount; absent means zero."""
    return amounts.get(resource, 0)


def pending(account: Account, resource: str) -> int:
    """Return what is asked for and not there yet."""
    return max(of(account.requested, resource) - of(account.allocated, resource), 0)


def borrowed(account: Account, resource: str) -> int | None:
    """Return what is used beyond the quota; None where the resource is not governed."""
    quota = account.quota.get(resource)
    return None if quota is None else max(of(account.allocated, resource) - quota, 0)


def short(amount: int | None, resource: str, signs: Signs) -> str:
    """Return an amount in few characters: `1.5`, `12,000`, `1.5Ti`."""
    if amount is None:
        return "-"
    if amount >= UNLIMITED:
        return signs.unlimited
    whole, suffix = amount / unit(resource), ""
    if is_binary(resource):
        for suffix in ("", "Ki", "Mi", "Gi", "Ti", "Pi"):  # noqa: B007 (the last one tried is the one that fits)
            if whole < 1000:
                break
            whole /= 1024
    text = f"{whole:,.{0 if whole >= 100 else 1 if whole >= 10 else 2}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + suffix


def _joined(cells: Sequence[tuple[str, str]]) -> Line:
    """Return cells of one style that follow each other as one piece; what is blank at the end is left out."""
    pieces: Line = []
    for text, style in cells:
        if pieces and pieces[-1][1] == style:
            pieces[-1] = (pieces[-1][0] + text, style)
        else:
            pieces.append((text, style))
    return pieces[:-1] if pieces and not pieces[-1][0].strip() else pieces
