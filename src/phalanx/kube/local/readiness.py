"""Wait until an API server is ready for work, or tell why it never was."""

import http.client
import ssl
import time
from collections.abc import Callable
from pathlib import Path

from phalanx.kube.local.errors import LocalError

# Ready in 3 to 6 s on two idle cores; a busy machine gets twenty times as much before we give up.
SECONDS_MAX = 120.0
_PAUSE_SECONDS = 0.1

#: The server creates the namespace a moment after it calls itself ready, and pods are refused until then.
_QUESTIONS = ("/readyz", "/api/v1/namespaces/default")


def wait_until_ready(port: int, folder: Path, check: Callable[[], None]) -> None:
    """Ask as the admin until everything is answered with 200; `check` raises when a process has ended meanwhile."""
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    context.load_cert_chain(folder / "admin.crt", folder / "admin.key")
    deadline = time.monotonic() + SECONDS_MAX
    answers = _ask(port, context)
    while any(not answer.startswith("200 ") for answer in answers.values()):
        check()
        if time.monotonic() > deadline:
            shown = "; ".join(f"{path} says {answer}" for path, answer in answers.items())
            raise LocalError(f"kube-apiserver is not ready after {SECONDS_MAX:.0f} s: {shown}")
        time.sleep(_PAUSE_SECONDS)
        answers = _ask(port, context)


def _ask(port: int, context: ssl.SSLContext) -> dict[str, str]:
    return {path: _answer(port, context, path) for path in _QUESTIONS}


def _answer(port: int, context: ssl.SSLContext, path: str) -> str:
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return f"{response.status} {response.read(2000).decode(errors='replace')}"
    except (OSError, http.client.HTTPException) as error:
        return f"nothing ({error or type(error).__name__})"
    finally:
        connection.close()
