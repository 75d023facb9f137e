"""Whether the port for health and metrics can be listened on, or a scheduler of ours listens there already."""

import asyncio

from phalanx.kube.choices import ListenError
from phalanx.kube.doctor.finding import Finding, failed, ok, warning
from phalanx.kube.server import listen

ABOUT = "port"
#: Every scheduler of ours has this figure.
_OURS = b"phalanx_build_info"
_PATIENCE = 2.0


async def look_at_port(address: str, port: int) -> Finding:
    """Listen for a moment."""
    try:
        server = await listen(_nothing, address, port)
    except ListenError as error:
        if port and await _is_ours(address or "localhost", port):
            says = f"{address or 'every address'}, port {port}: a phalanx run on this machine has it"
            return warning(
                ABOUT, says, "nothing, if that one is meant; a second one here needs another --port (0: any)"
            )
        remedy = "stop what listens there, or give another with --port (0 takes any free one)"
        return failed(ABOUT, str(error), remedy)
    server.close()
    where = address or "every address"
    return ok(ABOUT, f"{where}, {f'port {port}' if port else 'any free port'}: free, for /healthz, /readyz, /metrics")


async def _is_ours(address: str, port: int) -> bool:
    """Ask whoever listens there for figures."""
    try:
        async with asyncio.timeout(_PATIENCE):
            reader, writer = await asyncio.open_connection(address, port)
            try:
                writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return _OURS in await reader.read()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


async def _nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()
