"""Indexes and counts from which what is empty is removed, so that churn leaves nothing behind."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def take_out(index: dict[K, dict[str, None]], name: K, uid: str) -> bool:
    """Remove a uid from an index, and what is then empty; tell whether it was there."""
    inside = index.get(name, {})
    if uid not in inside:
        return False
    del inside[uid]
    if not inside:
        del index[name]
    return True


def subtract(counter: Counter[str], names: Iterable[str]) -> None:
    """Count names down by one."""
    for name in names:
        counter[name] -= 1
        if not counter[name]:
            del counter[name]
