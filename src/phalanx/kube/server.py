"""The port that the kubelet and Prometheus ask: /healthz, /readyz, /metrics. It answers questions and takes no orders.

The default is loopback, for whoever runs the scheduler by hand. In a pod the kubelet asks from outside, so the
manifests listen on every address; what is told there names no tenant's object.
"""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from phalanx.kube.metrics import Metrics

#: Where kube-scheduler had the same questions before it wanted TLS for them; nothing listens there since 1.23.
PORT = 10251
LISTEN = f"127.0.0.1:{PORT}"

#: Whoever connects and says nothing is gone after this many seconds.
_IDLE = 15.0
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^\[\]:\s]*)):(?P<port>[0-9]{1,5})", re.ASCII)


class ListenError(Exception):
    """An address cannot be listened on; the text is one line."""


@asynccontextmanager
async def serve(listen: str, metrics: Metrics, lacking: Callable[[], Sequence[str]]) -> AsyncIterator[int]:
    """Answer while the block lasts; yield the port. `lacking` names what is not there yet."""
    match = _ADDRESS.fullmatch(listen)
    if not match or int(match["port"]) > 65535:
        raise ListenError(
            f"--listen: found {listen!r}, allowed is HOST:PORT such as {LISTEN}, or :PORT for every address"
        )
    runner = web.AppRunner(_app(metrics, lacking), access_log=None, keepalive_timeout=_IDLE)
    await runner.setup()
    try:
        site = web.TCPSite(runner, match["six"] or match["host"] or None, int(match["port"]))
        try:
            await site.start()
        except OSError as error:
            raise ListenError(f"--listen: {listen}: {error.strerror or error}") from None
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _app(metrics: Metrics, lacking: Callable[[], Sequence[str]]) -> web.Application:
    async def health(_: web.Request) -> web.Response:
        # Decisions, binds and this answer share one event loop: to be answered at all is the sign of life.
        return web.Response(text="ok\n")

    async def readiness(_: web.Request) -> web.Response:
        missing = lacking()
        told = "".join(f"not listed yet: {name}\n" for name in missing)
        return web.Response(status=503 if missing else 200, text=told or "ok\n")

    async def figures(_: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.add_routes([web.get("/healthz", health), web.get("/readyz", readiness), web.get("/metrics", figures)])
    return app
