"""What becomes of the state of each Queue: by Commands, by the queue above it, and by the groups that are in it. Pure.

Closing lasts until no group is left. Who closes a queue closes those below it, which are marked, so that opening it
opens these again and no others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

ROOT = "root"
OPEN, CLOSED, CLOSING = "Open", "Closed", "Closing"
OPEN_QUEUE, CLOSE_QUEUE = "OpenQueue", "CloseQueue"
_SHUT = frozenset({CLOSED, CLOSING})


@dataclass(frozen=True, slots=True)
class Seen:
    """A Queue as the server has it."""

    name: str
    uid: str
    parent: str = ROOT
    #: Empty: nobody has opened it yet.
    state: str = ""
    #: It was closed because the queue above was.
    by_parent: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A write to one Queue; None: this stays."""

    queue: Seen
    state: str | None = None
    by_parent: bool | None = None
    #: What somebody asked for, and why it is not done.
    action: str = ""
    refusal: str = ""


def asked(queue: Seen, queues: Mapping[str, Seen], groups: Mapping[str, int], action: str) -> Step:
    """Return what a Command does to a queue."""
    if action == CLOSE_QUEUE:
        if queue.name == ROOT:
            return Step(queue, action=action, refusal="the queue root cannot be closed")
        return Step(queue, None if queue.state in _SHUT else _closed(queue, groups))
    if action != OPEN_QUEUE:
        return Step(
            queue, action=action, refusal=f"action {action} is not for queues, allowed is {OPEN_QUEUE}, {CLOSE_QUEUE}"
        )
    above = queues.get(queue.parent)
    if above is not None and above is not queue and above.state in _SHUT:
        return Step(queue, action=action, refusal=f"the queue {above.name} above it is {above.state}: open that first")
    return Step(queue, None if queue.state == OPEN else OPEN, False if queue.by_parent else None)


def following(queues: Mapping[str, Seen], groups: Mapping[str, int]) -> Iterator[Step]:
    """Yield what follows from the queues above, and from groups that are gone."""
    for queue in queues.values():
        above = queues.get(queue.parent)
        shut = queue.state in _SHUT
        if above is not None and above is not queue and above.state in _SHUT and not shut:
            yield Step(queue, _closed(queue, groups), True)
        elif above is not None and above.state == OPEN and shut and queue.by_parent:
            yield Step(queue, OPEN, False)
        elif queue.state == CLOSING and not groups.get(queue.name):
            yield Step(queue, CLOSED)


def _closed(queue: Seen, groups: Mapping[str, int]) -> str:
    return CLOSING if groups.get(queue.name) else CLOSED
