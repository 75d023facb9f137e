"""Spreads: every way to spread equal copies over nodes."""

from collections.abc import Iterator


def spreads(room: list[int], count: int) -> Iterator[list[int]]:
    """Yield how many copies each node has, the first nodes with as many as they take first."""
    after = [0]
    for one in reversed(room):
        after.append(after[-1] + one)
    after.reverse()
    if after[0] < count:
        return
    chosen: list[int] = []
    rest, deeper = count, True
    # Without recursion: there may be more nodes than it allows.
    while True:
        at = len(chosen)
        if deeper and rest > after[at]:
            deeper = False
        elif deeper and at == len(room):
            yield list(chosen)
            deeper = False
        elif deeper:
            chosen.append(min(room[at], rest))
            rest -= chosen[-1]
        else:
            while chosen and not chosen[-1]:
                chosen.pop()
            if not chosen:
                return
            chosen[-1] -= 1
            rest, deeper = rest + 1, True
