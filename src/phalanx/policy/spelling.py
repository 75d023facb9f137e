"""The nearest right spelling, for messages about a name that nobody knows."""

from collections.abc import Iterable


def unknown(what: str, name: str, allowed: Iterable[str]) -> str:
    """Say that a name is unknown, which one was probably meant, and which ones there are."""
    names = list(allowed)
    if not names:
        return f"unknown {what} (none is allowed here)"
    meant = nearest(name, names)
    guess = f", did you mean {meant}?" if meant else ""
    return f"unknown {what}{guess} (allowed: {', '.join(names)})"


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """Return the allowed name that a slip of the hand, of case or of dash and underscore would turn into this one."""
    from difflib import get_close_matches  # noqa: PLC0415 (only a typing error needs it)

    plain = {_plain(candidate): candidate for candidate in allowed}
    # 64: longer names are no slip, and comparing a megabyte with them takes seconds.
    close = get_close_matches(_plain(name[:64]), plain, n=1, cutoff=0.6)
    return plain[close[0]] if close else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
