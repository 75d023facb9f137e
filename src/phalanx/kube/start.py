"""The first moments of `phalanx run`: the API server is asked for pods and nodes before we are loaded ourselves.

To load the engine takes as long as a first page of pods takes the server; so both happen at the same time.
"""

import asyncio
import gc
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from phalanx.kube.choices import Choices
from phalanx.kube.client import Client, Unanswered
from phalanx.kube.credentials import Access, load_access

if TYPE_CHECKING:
    from phalanx.kube.dry_run import Tell
    from phalanx.kube.process import Work
    from phalanx.kube.reading import ReadingClient

#: The first page of a list; more than fits one is asked for page by page.
PAGE = {"limit": "1000"}
#: What there is much of, and what is asked for in the same words by the reflectors.
FIRST = ("/api/v1/pods", "/api/v1/nodes")
#: How many pages of each are asked for before anybody reads them: as many as the server makes until we are loaded. A
#: page of pods takes two to four MiB.
AHEAD_MAX = 8
#: Seconds after which one thread lets the other go on. Python's own are five times as long as a handshake's turn.
_TURN = 0.001
#: How often Python looks for garbage. What is loaded and listed first stays, and so does what the first decision keeps:
#: to look for garbage among it took a tenth of a start's processor time.
_STARTING, _RUNNING = (1_000_000, 20, 100), (50_000, 20, 100)


class _Meta(msgspec.Struct):
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _Meta


_page = msgspec.json.Decoder(_Page)


Beside = Callable[[Any], "Iterable[Work]"]


class _Process(Protocol):
    async def run(self, choices: Choices, access: Access, client: Client, beside: "Beside") -> int: ...

    async def run_dry(self, choices: Choices, client: "ReadingClient", tell: "Tell") -> int: ...


def serve(choices: Choices, tell: "Tell | None" = None, beside: "Beside" = lambda _: ()) -> int:
    """Run until told to stop; return the exit status. With `tell` it is a dry run, which writes nothing.

    `beside`: what else runs in the process, given its scheduler.
    """
    try:
        import uvloop  # noqa: PLC0415 (there is none for Windows)
    except ModuleNotFoundError:
        return asyncio.run(_serve(choices, tell, beside))
    return uvloop.run(_serve(choices, tell, beside))


async def _serve(choices: Choices, tell: "Tell | None", beside: "Beside") -> int:
    access = load_access(choices.kubeconfig, choices.context)
    if tell is not None:
        from phalanx.kube.reading import ReadingClient  # noqa: PLC0415 (no other run needs it)

        async with ReadingClient(access) as reader:
            process = await _loaded(reader)
            return await process.run_dry(choices, reader, tell)
    gc.set_threshold(*_STARTING)
    async with Client(access) as client:
        process = await _loaded(client)
        return await process.run(choices, access, client, beside)


def keep_all() -> None:
    """What is there now stays: it is never again looked at for garbage."""
    gc.freeze()
    gc.set_threshold(*_RUNNING)


async def _loaded(client: Client) -> "_Process":
    asking = [asyncio.create_task(_ask_ahead(client, path)) for path in FIRST]
    # They ask before the other thread has its turn.
    await asyncio.sleep(0)
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        return await asyncio.to_thread(_load)
    finally:
        sys.setswitchinterval(before)
        for task in asking:
            task.cancel()


async def _ask_ahead(client: Client, path: str) -> None:
    """Ask for the first pages of a list, one after the other. Whoever lists it gets the answers, whatever they are."""
    query: dict[str, str] = PAGE
    for _ in range(AHEAD_MAX):
        try:
            reply = await asyncio.shield(client.ahead(path, query))
            following = _page.decode(reply.body).metadata.continue_ if reply.ok else ""
        except (Unanswered, msgspec.DecodeError):
            return
        if not following:
            return
        query = {**PAGE, "continue": following}


def _load() -> "_Process":
    from phalanx.kube import process  # noqa: PLC0415 (see above)

    return process
