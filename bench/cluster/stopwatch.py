"""`phalanx`, with a stopwatch: writes to a file when each phase of a start is over, and then runs as always.

Run as a script: FILE, then the arguments of `phalanx`. Each line is a phase, the time by the monotonic clock, and the
processor time of this process until then.
"""

import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TextIO

PHASES = (
    "Python is there", "command line read", "server asked for pods and nodes", "engine loaded", "scheduler set up",
    "everything listed", "decided", "first bind sent", "first bind answered",
)  # fmt: skip
(_THERE, _READ, _ASKED, _LOADED, _SET_UP, _LISTED, _DECIDED, _SENT, _ANSWERED) = PHASES


class Stopwatch:
    """Each phase is over once."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._over: set[str] = set()

    def over(self, phase: str) -> None:
        """Note that a phase is over, the first time."""
        if phase not in self._over:
            self._over.add(phase)
            self._file.write(f"{phase}\t{time.monotonic()}\t{time.process_time()}\n")
            self._file.flush()


def measured(stopwatch: Stopwatch) -> None:
    """Put the stopwatch where one phase ends and the next begins."""
    from phalanx.kube import start  # noqa: PLC0415 (what it loads belongs to the command line)
    from phalanx.kube.client import Client, Reply  # noqa: PLC0415

    serve, load, ahead, request = start.serve, start._load, Client.ahead, Client.request  # noqa: SLF001

    def served(*arguments: Any) -> int:
        stopwatch.over(_READ)
        return serve(*arguments)

    def asked(client: Client, path: str, query: Mapping[str, str]) -> Any:
        task = ahead(client, path, query)
        stopwatch.over(_ASKED)
        return task

    async def requested(client: Client, method: str, path: str, **options: Any) -> Reply:
        binds = path.endswith("/binding")
        if binds:
            stopwatch.over(_SENT)
        reply = await request(client, method, path, **options)
        if binds:
            stopwatch.over(_ANSWERED)
        return reply

    def loaded() -> Any:
        process = load()
        stopwatch.over(_LOADED)
        _measured_scheduler(stopwatch)
        return process

    for owner, name, function in (
        (start, "serve", served), (start, "_load", loaded), (Client, "ahead", asked), (Client, "request", requested),
    ):  # fmt: skip
        setattr(owner, name, function)


def _measured_scheduler(stopwatch: Stopwatch) -> None:
    from phalanx.kube.scheduler import Scheduler  # noqa: PLC0415 (it loads the engine)

    run: Callable[[Scheduler], Awaitable[None]] = Scheduler.run
    cycle: Callable[[Scheduler], None] = Scheduler.cycle

    async def running(scheduler: Scheduler) -> None:
        stopwatch.over(_SET_UP)
        await run(scheduler)

    def cycled(scheduler: Scheduler) -> None:
        # Asked for only when every kind was listed.
        stopwatch.over(_LISTED)
        cycle(scheduler)
        stopwatch.over(_DECIDED)

    Scheduler.run, Scheduler.cycle = running, cycled  # type: ignore[assignment, method-assign]


def main() -> int:
    """Run `phalanx` with a stopwatch."""
    with open(sys.argv[1], "a", encoding="utf-8") as file:  # noqa: PTH123 (pathlib is loaded by what is measured)
        stopwatch = Stopwatch(file)
        stopwatch.over(_THERE)
        from phalanx.cli.main import main as command  # noqa: PLC0415 (as above)

        measured(stopwatch)
        return command(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
