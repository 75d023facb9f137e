"""A proxy before the API server that breaks what passes through it, for tests of what a network can do.

It ends TLS with the control plane's own certificate and goes on as the user of a kubeconfig. A test gives it rules
(`proxy.on(binds, answer_lost)`) and lets the scheduler talk to the server through `proxy.kubeconfig` only.
"""

import asyncio
import itertools
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
import yaml
from aiohttp import web

from phalanx.kube.credentials import load_access
from phalanx.kube.local import ControlPlane
from phalanx.kube.local.certificates import write_private
from tests.faults.background import beside

_OF_THIS_HOP = {"host", "connection", "transfer-encoding", "content-length", "accept-encoding", "keep-alive"}
_NUMBERS = itertools.count(1)


@dataclass(slots=True, eq=False)
class Passage:
    """One request on its way: what a fault may do with it."""

    request: web.BaseRequest
    body: bytes
    session: aiohttp.ClientSession
    server: str

    @property
    def watch(self) -> bool:
        """Tell whether the answer is a stream of events."""
        return self.request.query.get("watch") in {"1", "true"}

    def ask(self) -> "aiohttp.client._RequestContextManager":
        """Put the request to the server."""
        headers = {key: value for key, value in self.request.headers.items() if key.lower() not in _OF_THIS_HOP}
        # Lines of a watch are looked at: nothing may be compressed on the way.
        headers["Accept-Encoding"] = "identity"
        url = self.server + self.request.raw_path
        return self.session.request(self.request.method, url, data=self.body or None, headers=headers)

    async def through(self, change: "Change | None" = None) -> web.StreamResponse:
        """Ask the server and hand on its answer; of a watch, what `change` makes of its lines."""
        async with self.ask() as answer:
            headers = {key: value for key, value in answer.headers.items() if key.lower() not in _OF_THIS_HOP}
            if not self.watch or answer.status != 200:
                return web.Response(status=answer.status, headers=headers, body=await answer.read())
            response = web.StreamResponse(status=answer.status, headers=headers)
            response.enable_chunked_encoding()
            await response.prepare(self.request)
            async for line in change(_lines(answer)) if change else answer.content.iter_any():
                await response.write(line)
            return response

    def cut(self) -> web.StreamResponse:
        """Break the connection to the client."""
        if self.request.transport is not None:
            self.request.transport.abort()
        return web.Response()


Match = Callable[[Passage], bool]
Fault = Callable[[Passage], Awaitable[web.StreamResponse]]
#: What becomes of the lines of a watch.
Change = Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]]


@dataclass(slots=True)
class Rule:
    """Which requests meet which fault, how often at most, and how often they did."""

    match: Match
    fault: Fault
    times: int | None = None
    met: int = 0


class FaultyProxy:
    """Stands between a client and the API server for as long as a `with` block lasts."""

    def __init__(self, control_plane: ControlPlane, kubeconfig: Path) -> None:
        self._folder = control_plane.ca.parent
        self._server = control_plane.url
        self._access = load_access(str(kubeconfig), None)
        self._user = yaml.safe_load(kubeconfig.read_text())
        self._rules: list[Rule] = []
        self._open: list[Passage] = []
        self._turn = threading.Lock()
        self._undo = ExitStack()
        #: The same user's way to the server, through here.
        self.kubeconfig = self._folder / f"proxy-{next(_NUMBERS)}.kubeconfig"

    def __enter__(self) -> Self:
        self._loop = self._undo.enter_context(beside(self._serve))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def on(self, match: Match, fault: Fault, times: int | None = None) -> Rule:
        """From now on matching requests meet the fault; the newest rule that matches holds."""
        rule = Rule(match, fault, times)
        with self._turn:
            self._rules.insert(0, rule)
        return rule

    def calm(self) -> None:
        """Let everything through from now on."""
        with self._turn:
            self._rules.clear()

    def cut_all(self) -> None:
        """Break every connection that is open now: watches begin anew, under the rules of now."""
        for passage in list(self._open):
            self._loop.call_soon_threadsafe(passage.cut)

    def _fault(self, passage: Passage) -> Fault | None:
        with self._turn:
            for rule in self._rules:
                if (rule.times is None or rule.met < rule.times) and rule.match(passage):
                    rule.met += 1
                    return rule.fault
        return None

    async def _serve(self, ready: Callable[[], None]) -> None:
        inside = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        inside.load_cert_chain(self._folder / "server.crt", self._folder / "server.key")
        connector = aiohttp.TCPConnector(limit=0, ssl=self._access.ssl())
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session:

            async def handle(request: web.BaseRequest) -> web.StreamResponse:
                passage = Passage(request, await request.read(), session, self._server)
                fault = self._fault(passage)
                self._open.append(passage)
                try:
                    return await (fault(passage) if fault else passage.through())
                except (aiohttp.ClientError, OSError):
                    return passage.cut()
                finally:
                    self._open.remove(passage)

            runner = web.ServerRunner(web.Server(handle, access_log=None), shutdown_timeout=0.1)
            await runner.setup()
            try:
                site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=inside)
                await site.start()
                self._write_kubeconfig(runner.addresses[0][1])
                ready()
                await asyncio.Event().wait()
            finally:
                await runner.cleanup()

    def _write_kubeconfig(self, port: int) -> None:
        self._user["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
        write_private(self.kubeconfig, yaml.safe_dump(self._user).encode())


def binds(passage: Passage) -> bool:
    """Match the requests that bind a pod."""
    return passage.request.method == "POST" and passage.request.path.endswith("/binding")


def watches(plural: str) -> Match:
    """Match the watches of one kind, such as `pods`."""
    return lambda passage: passage.watch and passage.request.path.endswith(f"/{plural}")


async def _lines(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in answer.content.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
