"""The history of use from Prometheus, for whoever keeps it there already: read once a minute, in place of our own.

Our own metrics are asked for: what each queue had and what there was to divide. If Prometheus does not answer, or its
newest word is old, the last history stays in force and goes on from what the scheduler itself sees.
"""

import asyncio
import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import unquote, urlsplit

import msgspec

from phalanx.kube.client import Client, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.credentials import Access, Fixed
from phalanx.kube.exec_plugin import Credential
from phalanx.kube.log import Log
from phalanx.kube.tls import Tls
from phalanx.model.axis import unit
from phalanx.model.usage import Memory
from phalanx.world.usage_text import SLOTS

PERIOD = 60.0
#: News older than this, or than two parts of the window, are old.
STALE = 300.0
#: Samples per part of the window: a week is looked at every 20 minutes.
_FINE = 16
#: The largest reply that is read.
_REPLY_MAX = 64 * 2**20

_USED = "max by (queue, resource) (phalanx_queue_allocated)"
_TOTAL = "max by (resource) (phalanx_capacity)"

#: (queue or "", resource) -> the integral of each part of the window, the newest last.
Integrals = dict[tuple[str, str], list[float]]


class HistoryError(Exception):
    """No usable answer; the text is one line."""


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Data(msgspec.Struct):
    result_type: Annotated[str, msgspec.Meta(pattern="^matrix$")] = msgspec.field(name="resultType")
    result: list[_Series]


class _Answer(msgspec.Struct):
    data: _Data | None = None
    error: str = ""


_answer = msgspec.json.Decoder(_Answer)


def checked_url(text: str) -> str:
    """Return the address of a Prometheus, or raise what is wrong with it."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"http", "https"} and parts.hostname and not (parts.query or parts.fragment)
        good = good and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise HistoryError(f"--usage-prometheus: found {text!r}, allowed is an address such as http://prometheus:9090")
    return text.rstrip("/")


@dataclass(slots=True)
class UsageSource:
    """Asks now and then; hands over what it learns."""

    url: str
    #: What the policy in force wants remembered; None: nothing.
    memory: Callable[[], Memory | None]
    #: uid by name of the queues that there are.
    queues: Callable[[], Mapping[str, str]]
    #: Takes a history; returns a sentence if it cannot be used.
    take: Callable[[dict[str, object]], str | None]
    clock: Clock
    log: Log
    _read_at: float = field(init=False)
    _trouble: bool = False

    def __post_init__(self) -> None:
        self._read_at = self.clock.monotonic()

    @property
    def age(self) -> float:
        """Return the seconds since the history was last read, or since the start."""
        return self.clock.monotonic() - self._read_at

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(PERIOD)

    async def look(self) -> None:
        """Ask once; trouble is said once, and so is its end."""
        memory = self.memory()
        if memory is None:
            self._read_at = self.clock.monotonic()
            return
        try:
            why = self.take(await self._history(memory))
        except HistoryError as error:
            why = str(error)
        if why is None:
            self._read_at = self.clock.monotonic()
            if self._trouble:
                self.log.say("history-read-again")
        elif not self._trouble:
            # Not the whole address: it may hold a password.
            self.log.say(
                "history-unread", source=urlsplit(self.url).hostname, why=why, then="the last one stays in force"
            )
        self._trouble = why is not None

    async def _history(self, memory: Memory) -> dict[str, object]:
        now, uids = self.clock.now(), self.queues()
        async with Client(_access(self.url, self.clock), 1, _REPLY_MAX) as client:
            total = await self._ask(client, _TOTAL, memory, now)
            used = await self._ask(client, _USED, memory, now)
        width = memory.window / SLOTS
        ages = [parts_ago for parts in total.values() for parts_ago, value in enumerate(reversed(parts)) if value]
        if not ages:
            raise HistoryError("it knows no phalanx_capacity: does it scrape this scheduler?")
        if min(ages) * width > max(STALE, 2 * width):
            raise HistoryError(f"its newest figures are {min(ages) * width:.0f} s old")
        queues: dict[str, dict[str, object]] = {}
        for name, uid in uids.items():
            own = {resource: parts for (queue, resource), parts in used.items() if queue == name}
            if own:
                queues[name] = {"uid": uid, "used": own}
        return {
            "at": now, "window": memory.window, "halfLife": memory.half_life,
            "total": {resource: parts for (_, resource), parts in total.items()}, "queues": queues,
        }  # fmt: skip

    async def _ask(self, client: Client, what: str, memory: Memory, now: float) -> Integrals:
        """Return the integrals of a metric over the parts of the window that ends now."""
        width = memory.window / SLOTS
        fine = max(round(width * 1000 / _FINE), 1000)
        query = {
            "query": f"sum_over_time(({what})[{round(width * 1000)}ms:{fine}ms])",
            "start": f"{now - (SLOTS - 1) * width:.3f}", "end": f"{now:.3f}", "step": f"{width:.3f}",
        }  # fmt: skip
        try:
            reply = await client.request("GET", "/api/v1/query_range", query=query)
            answer = _answer.decode(reply.body)
        except Unanswered as error:
            raise HistoryError(str(error)) from None
        except msgspec.MsgspecError as error:
            raise HistoryError(f"{reply.status}, which is no answer of Prometheus': {error}") from None
        if reply.status != 200 or answer.data is None:
            raise HistoryError(f"{reply.status} {answer.error}".strip())
        integrals: Integrals = {}
        for series in answer.data.result:
            key = series.metric.get("queue", ""), series.metric.get("resource", "")
            integrals[key] = _parts(series, fine / 1000 * unit(key[1]), memory, now)
        return integrals


def _access(url: str, clock: Clock) -> Access:
    """Return the way to an address, as whoever is named in it, and to a server that the system trusts."""
    parts = urlsplit(url)
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    basic = f"Basic {base64.b64encode(pair.encode()).decode()}" if parts.username else None
    tls = Tls(None, verify=True, name="--usage-prometheus", clock=clock)
    return Access(url, tls, Fixed(Credential(basic)), None, None)


def _parts(series: _Series, scale: float, memory: Memory, now: float) -> list[float]:
    """Return one number per part of the window, the newest last, each faded to the end of its part.

    The parts end now, one before now, and so on; the world's end at whole multiples of their width. It will fade each
    but the newest by the time since such an end, which is shorter by `behind` than the time since ours.
    """
    width = memory.window / SLOTS
    behind = width - now % width
    parts = [0.0] * SLOTS
    for at, text in series.values:
        before = round((now - at) / width)
        value = _number(text) * scale
        if 0 <= before < SLOTS:
            fade = 1.0 if memory.half_life is None else 0.5 ** ((width / 2 + behind * (before > 0)) / memory.half_life)
            parts[SLOTS - 1 - before] = value * fade
    return parts


def _number(text: str) -> float:
    """Return a sample as Prometheus writes it; what is no amount counts as nothing."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) and value > 0 else 0.0
