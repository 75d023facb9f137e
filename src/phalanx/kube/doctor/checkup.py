"""The doctor inside `phalanx run`: says only what is wrong, and every missing right at once instead of one by one."""

import asyncio
import contextlib
import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from phalanx.kube.client import Client, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.credentials import Access
from phalanx.kube.doctor.wish import Wish
from phalanx.kube.fault import Fault, Trouble
from phalanx.kube.log import Log
from phalanx.kube.standing import Standing

if TYPE_CHECKING:
    from phalanx.kube.doctor.examine import Examination

_USER = re.compile(r'\bUser "([^"]+)" cannot ')
#: The first seconds belong to the lists and the first binds. Whatever is forbidden is looked at sooner.
START = 10.0
#: Rights that were missing are looked for again so often.
AGAIN = 5.0
#: Whoever is forbidden something asks for a look; not more often than this.
_PAUSE = 2.0
WHO = "rights"


def with_grant(fault: Fault, wish: Wish) -> Fault:
    """Return missing rights with the line that gives them all: they cannot always be listed."""
    user = _USER.search(fault.why) if fault.trouble is Trouble.RIGHTS else None
    if user is None:
        return fault
    # Here and not above: as below.
    from phalanx.kube.doctor.grant import grant_command  # noqa: PLC0415

    return replace(fault, remedy=grant_command(user[1], wish))


class Checkup:
    """Looks once after the start, and at the rights again whenever something is forbidden."""

    def __init__(self, client: Client, access: Access, wish: Wish, log: Log) -> None:
        self._client = client
        self._access = access
        self._wish = wish
        self._log = log
        self._fault: Fault | None = None
        self._asked = asyncio.Event()
        self.standing = Standing(log, explain=self.explain)
        self.standing.on_forbidden = self._asked.set

    @cached_property
    def _doctor(self) -> "Examination":
        # Here and not above: a process that starts has more urgent things to load.
        from phalanx.kube.doctor.examine import Examination  # noqa: PLC0415

        return Examination(self._client, self._access, self._wish, Clock())

    def explain(self, fault: Fault) -> Fault:
        """Say of one trouble what we know besides: the whole list of rights, the date on a certificate."""
        if fault.trouble is Trouble.RIGHTS:
            return self._fault or with_grant(fault, self._wish)
        return self._doctor.explain(fault) if fault.trouble is Trouble.CREDENTIALS else fault

    async def run(self) -> None:
        """Look until cancelled."""
        await self._stirred(START)
        await self._look_at_rights()
        told = False
        while True:
            if not told and self._fault is None:
                told = await self._tell()
            if self._fault is not None:
                await asyncio.sleep(AGAIN)
            else:
                await self._stirred(None if told else AGAIN)
                await asyncio.sleep(_PAUSE)
            await self._look_at_rights()

    async def _stirred(self, longest: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(longest):
                await self._asked.wait()

    async def _look_at_rights(self) -> None:
        try:
            fault = await self._doctor.lacking()
        except Unanswered:
            # Whoever watches says so. What was known stays.
            fault = self._fault
        if fault is not None:
            self.standing.bad(WHO, fault)
        elif self._fault is not None:
            self.standing.good(WHO)
            self.standing.hurry()
        self._fault = fault
        # After the lines above, which are themselves news of something forbidden.
        self._asked.clear()

    async def _tell(self) -> bool:
        """Say what else is wrong; return whether everything could be looked at."""
        findings = await self._doctor.surroundings()
        for finding in findings or ():
            if finding.wrong:
                self._log.say("check", about=finding.about, why=finding.says, remedy=finding.remedy)
        return findings is not None
