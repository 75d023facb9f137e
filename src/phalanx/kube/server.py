"""The port that the kubelet and Prometheus ask: /healthz, /readyz, /metrics. It answers questions and takes no orders.

The default is loopback, for whoever runs the scheduler by hand. In a pod the kubelet asks from outside, so the
manifests listen on every address; what is told there names queues, and nobody's gangs or pods.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from phalanx.kube.metrics import Metrics
from phalanx.kube.scheduler import Scheduler

#: Whoever connects and says nothing is gone after this many seconds.
_IDLE = 15.0


class ListenError(Exception):
    """An address cannot be listened on; the text is one line."""


@asynccontextmanager
async def serve_health(address: str, port: int, scheduler: Scheduler, metrics: Metrics) -> AsyncIterator[int]:
    """Answer while the block lasts; yield the port. An empty address is every address."""
    _attach(metrics, scheduler)
    runner = web.AppRunner(_app(metrics, scheduler), access_log=None, keepalive_timeout=_IDLE)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, address or None, port).start()
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ListenError(f"--address and --port: {address}:{port}: {reason}") from None
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _attach(metrics: Metrics, scheduler: Scheduler) -> None:
    """Let a scrape see how the scheduler is now."""
    leader, feed, clock = scheduler.leader, scheduler.feed, scheduler.clock
    metrics.live.leading = leader.holds if leader is not None else lambda: True
    metrics.live.ready = lambda: scheduler.ready
    metrics.live.queues = scheduler.queues.figures
    metrics.live.silence = lambda: {
        f"{kind.kind} {kind.api_version}": clock.monotonic() - heard for kind, heard in feed.heard_at.items()
    }


def _app(metrics: Metrics, scheduler: Scheduler) -> web.Application:
    async def health(_: web.Request) -> web.Response:
        # Decisions, binds and this answer share one event loop: to be answered at all is the sign of life.
        return web.Response(text="ok\n")

    async def readiness(_: web.Request) -> web.Response:
        lacking = scheduler.feed.lacking
        told = "".join(f"not listed yet: {name}\n" for name in lacking)
        return web.Response(status=503 if lacking else 200, text=told or "ok\n")

    async def figures(_: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.add_routes([web.get("/healthz", health), web.get("/readyz", readiness), web.get("/metrics", figures)])
    return app
