"""How we stand with the API server: troubles are told when they begin, change and end, once for all who meet them.

Eleven reflectors and a lease that retry for an hour are one line, a reminder every few minutes, and one line more.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from phalanx.kube.clock import Clock
from phalanx.kube.fault import Fault, Trouble
from phalanx.kube.log import Log

#: Troubles that begin together are told together. What is over sooner is not told at all.
GATHER = 1.0
#: Another reason for a trouble that was told is told after so long.
CHANGE = 30.0
REMIND = 300.0
#: A trouble that lasts so long makes us not ready. A restart of the API server takes less.
TOLERANCE = 30.0
#: How long a start waits before it gives up over what waiting does not mend.
START = 3.0
#: Whoever backs off is called when the server is back, but not more often than this.
_CALLS = 5.0


class Hopeless(Exception):  # noqa: N818 (what was found, not a fault of ours)
    """We cannot start, and waiting does not help. The text is a line on what is wrong, and one on the remedy."""


@dataclass(slots=True)
class _State:
    since: float
    #: Who met it, and what it looked like there.
    who: dict[str, Fault] = field(default_factory=dict[str, Fault])
    #: What was last said, and when.
    told: str | None = None
    told_at: float = 0.0
    #: Since when nobody meets it.
    calm_since: float = 0.0

    @property
    def fault(self) -> Fault:
        """Return what most of them met; a fault with a remedy goes first."""
        counts = Counter(self.who.values())
        return max(counts, key=lambda fault: (fault.remedy is not None, counts[fault], fault.why))


class Standing:
    """Hears of every trouble and of its end, from whoever talks to the API server."""

    def __init__(
        self, log: Log, clock: Clock | None = None, explain: Callable[[Fault], Fault] = lambda fault: fault
    ) -> None:
        self._log = log
        self._clock = clock or Clock()
        #: Adds what else is known of a fault before it is told.
        self._explain = explain
        self._states: dict[Trouble, _State] = {}
        self._stirred = asyncio.Event()
        #: A request was answered.
        self._worked = False
        self._called_at = float("-inf")
        #: Called when the server is back, so that nobody sleeps on.
        self.on_back: list[Callable[[], None]] = []
        #: Called when a right seems to be missing.
        self.on_forbidden: Callable[[], None] = lambda: None

    def bad(self, who: str, fault: Fault) -> None:
        """Somebody met a trouble."""
        self._leave(who, but=fault.trouble)
        state = self._states.setdefault(fault.trouble, _State(self._clock.monotonic()))
        state.who[who] = fault
        self._stirred.set()
        if fault.trouble is Trouble.RIGHTS:
            self.on_forbidden()

    def good(self, who: str) -> None:
        """A request was answered."""
        self._worked = True
        now = self._clock.monotonic()
        if self._leave(who) and now - self._called_at >= _CALLS:
            self._called_at = now
            self.hurry()

    def hurry(self) -> None:
        """Call everybody who backs off: what kept them is over."""
        for call in self.on_back:
            call()

    def forbidden(self) -> bool:
        """A write was forbidden: return whether it is known that rights are missing, so that it need not be said."""
        self.on_forbidden()
        return Trouble.RIGHTS in self._states

    def _leave(self, who: str, but: Trouble | None = None) -> bool:
        """Forget the trouble of one who asked; return whether the server was away."""
        was_away = False
        for trouble, state in self._states.items():
            if trouble is not but and state.who.pop(who, None) is not None:
                was_away = was_away or trouble is Trouble.AWAY
                if not state.who:
                    state.calm_since = self._clock.monotonic()
        return was_away

    @property
    def blocks(self) -> list[str]:
        """Return what keeps us from working, a line for each trouble that has lasted for some time."""
        now = self._clock.monotonic()
        return [
            f"{trouble.value[0]} for {_span(now - state.since)}: {self._explain(state.fault).why}"
            for trouble, state in self._states.items()
            if state.who and state.fault.blocking and now - state.since >= TOLERANCE
        ]

    async def run(self) -> None:
        """Tell until cancelled; raise `Hopeless` where a start can come to nothing."""
        while True:
            await self._stirred.wait()
            while self._states:
                self.tell()
                await asyncio.sleep(GATHER / 4)
            self._stirred.clear()

    def tell(self) -> None:
        """Say what is due now."""
        now = self._clock.monotonic()
        for trouble, state in list(self._states.items()):
            if not state.who:
                # Not at once: a server that takes every watch and ends it again is not well.
                if now - state.calm_since >= GATHER:
                    del self._states[trouble]
                    if state.told is not None:
                        self._log.say(trouble.value[1], after=_span(state.calm_since - state.since))
                continue
            fault = self._explain(state.fault)
            if fault.hopeless and not self._worked and now - state.since >= START:
                remedy = f"\nto mend it: {fault.remedy}" if fault.remedy else ""
                raise Hopeless(f"{trouble.value[0].replace('-', ' ')}: {fault.why}{remedy}")
            if self._is_due(state, fault, now):
                self._say(trouble, state, fault, now)

    def _is_due(self, state: _State, fault: Fault, now: float) -> bool:
        if state.told is None:
            return now - state.since >= GATHER
        return now - state.told_at >= (REMIND if fault.why == state.told else CHANGE)

    def _say(self, trouble: Trouble, state: _State, fault: Fault, now: float) -> None:
        since = _span(now - state.since) if state.told is not None else None
        state.told, state.told_at = fault.why, now
        self._log.say(trouble.value[0], why=fault.why, waiting=_names(state.who), since=since, remedy=fault.remedy)


def _names(who: dict[str, Fault]) -> str | None:
    """Name those who wait; kinds come as `Pod (v1)`, and are counted when there are many."""
    kinds = [name for name in who if name.endswith(")")]
    others = [name for name in who if name not in kinds and name != "rights"]
    shown = [f"{len(kinds)} kinds"] if len(kinds) > 2 else kinds
    return " and ".join([*shown, *others]) or None


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
