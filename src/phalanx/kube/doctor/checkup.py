"""The doctor inside `phalanx run`: says only what is wrong, and every missing right at once instead of one by one."""

import asyncio
import contextlib

from phalanx.kube.client import Client, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.credentials import Access
from phalanx.kube.doctor import rights
from phalanx.kube.doctor.examine import Examination, Wish
from phalanx.kube.doctor.finding import Mark
from phalanx.kube.doctor.grant import grant_command
from phalanx.kube.doctor.server import User, look_at_identity, look_at_server, refused_credentials
from phalanx.kube.fault import Fault, Trouble
from phalanx.kube.log import Log
from phalanx.kube.standing import Standing

#: The first seconds belong to the lists and the first binds.
START = 3.0
#: Rights that were missing are looked for again so often.
AGAIN = 5.0
#: Whoever is forbidden something asks for a look; not more often than this.
_PAUSE = 2.0
WHO = "rights"


class Checkup:
    """Looks once after the start, and at the rights again whenever something is forbidden."""

    def __init__(self, client: Client, access: Access, wish: Wish, log: Log, clock: Clock | None = None) -> None:
        self._client = client
        self._access = access
        self._clock = clock or Clock()
        self._wish = wish
        self._examination = Examination(client, access, wish, self._clock)
        self._log = log
        self._needed = rights.needed(wish.lease, wish.policy_config_map)
        self._user: User | None = None
        self._fault: Fault | None = None
        self._asked = asyncio.Event()
        #: It hears of us and we of it, so one is given to the other.
        self.standing: Standing | None = None

    def watch(self, standing: Standing) -> None:
        """Tell this standing; look again when it hears that something is forbidden."""
        self.standing = standing
        standing.on_forbidden = self._asked.set

    def explain(self, fault: Fault) -> Fault:
        """Say of one trouble what we know besides: the whole list of rights, the date on a certificate."""
        if fault.trouble is Trouble.RIGHTS and self._fault is not None:
            return self._fault
        return refused_credentials(fault, self._access, self._clock.now())

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
            if self._user is None:
                self._user = (await look_at_identity(self._client, self._access, self._clock.now()))[1]
            lacked = await rights.missing(self._client, self._needed)
        except (Unanswered, rights.RightsUnknown):
            # Whoever watches says so. What was known stays.
            return
        assert self.standing is not None
        if lacked:
            name = self._user.name if self._user is not None else "this user"
            remedy = grant_command(name, self._wish.lease, self._wish.policy_config_map)
            blocking = any(right.blocking for right in lacked)
            why = rights.lacking(name, lacked, self._needed)
            self._fault = Fault(Trouble.RIGHTS, why, remedy, blocking=blocking)
            self.standing.bad(WHO, self._fault)
        elif self._fault is not None:
            self._fault = None
            self.standing.good(WHO)
            self.standing.hurry()
        # After the lines above, which are themselves news of something forbidden.
        self._asked.clear()

    async def _tell(self) -> bool:
        """Say what else is wrong; return whether everything could be looked at."""
        server = await look_at_server(self._client, self._access, self._clock)
        if server[-1].mark is Mark.FAILED:
            # Whoever watches says so.
            return False
        for finding in [*server, *await self._examination.surroundings()]:
            if finding.wrong:
                self._log.say("check", about=finding.about, why=finding.says, remedy=finding.remedy)
        return True
