"""Whether the port for health and metrics can be listened on."""

import asyncio

from phalanx.kube.choices import ListenError
from phalanx.kube.doctor.finding import Finding, failed, ok
from phalanx.kube.server import listen

ABOUT = "port"


async def look_at_port(address: str, port: int) -> Finding:
    """Listen for a moment."""
    try:
        server = await listen(_nothing, address, port)
    except ListenError as error:
        remedy = "stop what listens there, or give another with --port (0 takes any free one)"
        return failed(ABOUT, str(error), remedy)
    server.close()
    where = address or "every address"
    return ok(ABOUT, f"{where}, {f'port {port}' if port else 'any free port'}: free, for /healthz, /readyz, /metrics")


async def _nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()
