"""Evictions go through the Eviction API, for this very pod and no other of its name, and never faster than a pace."""

import asyncio
import math
from collections.abc import Callable
from enum import Enum

import msgspec

from phalanx.kube.client import Reply
from phalanx.kube.feed import Known


class Answer(Enum):
    """What an answer to an eviction means."""

    LEAVING = "leaving"
    #: It is gone, or one of its name that is not the one we meant is there.
    GONE = "gone"
    #: A budget, a right or a webhook forbids it.
    REFUSED = "refused"
    #: The server had no time, or something went wrong there.
    AGAIN = "again"
    #: The precondition did not hold: read the pod.
    UNCLEAR = "unclear"


_PLAIN = {404: Answer.GONE, 409: Answer.UNCLEAR}


def answer_of(reply: Reply) -> Answer:
    """Tell what became of an eviction. 429 means a budget, or an overloaded server: the body tells which."""
    if reply.ok:
        return Answer.LEAVING
    if reply.status in _PLAIN:
        return _PLAIN[reply.status]
    if reply.status == 429:
        return Answer.REFUSED if "disruption budget" in reply.message else Answer.AGAIN
    # A pod under several budgets is a 500 for ever.
    several = "more than one PodDisruptionBudget" in reply.message
    return Answer.AGAIN if reply.status >= 500 and not several else Answer.REFUSED


def request_of(known: Known) -> tuple[str, bytes]:
    """Return where and what to post. The pod's own grace period holds."""
    body = {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": known.name, "namespace": known.namespace},
        "deleteOptions": {"preconditions": {"uid": known.uid}},
    }  # fmt: skip
    return f"/api/v1/namespaces/{known.namespace}/pods/{known.name}/eviction", msgspec.json.encode(body)


class Pace:
    """At most so many a second, after as many at once as a second has."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self._gap = 1.0 / rate
        self._clock = clock
        #: When the one that comes next would be due if all had kept their distance.
        self._due = -math.inf

    async def turn(self) -> None:
        """Wait until it is one's turn."""
        now = self._clock()
        self._due = max(self._due, now - 1.0) + self._gap
        if self._due > now:
            await asyncio.sleep(self._due - now)
