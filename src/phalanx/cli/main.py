"""The command `phalanx`: what can go wrong in any command ends here as one line and an exit status."""

import errno
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

from phalanx import __version__
from phalanx.cli.commands import COMMANDS, SUMMARY, page, unfolded
from phalanx.cli.output import Mistake, complain

if TYPE_CHECKING:
    from cyclopts import App

OURS, THEIRS, INTERRUPTED = 1, 2, 130
#: A disk that is full, a quota that is used up, a device that fails.
_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EIO}


def app(wanted: str | None = None) -> "App":
    """Return the command line: the one command that is wanted, so that nobody waits for the others; else all."""
    # Here and not above: it takes a tenth of a second to load, and the first page of help needs none of it.
    from cyclopts import App  # noqa: PLC0415

    phalanx = App(
        name="phalanx",
        version=__version__,
        # Ctrl-C is caught below, once for all commands.
        suppress_keyboard_interrupt=False,
        help=SUMMARY,
        # Our help is plain sentences; to draw Markdown costs as much time as all the rest of a page.
        help_format="plaintext",
    )
    for name in [wanted] if wanted in COMMANDS else COMMANDS:
        import_module(f"phalanx.cli.{name}").register(phalanx)
    _unfold(phalanx)
    return phalanx


def _unfold(command: "App") -> None:
    """Make each paragraph of a command's help one line: a terminal folds it at its own width."""
    function = command.default_command
    if function is not None:
        function.__doc__ = unfolded(function.__doc__ or "")
    for name in command:
        if not name.startswith("-"):
            _unfold(command[name])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0 done, 1 our mistake, 2 the user's."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the program.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except Mistake as mistake:
        complain(str(mistake))
        return THEIRS
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        _forget(sys.stdout)
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 (the last resort: whatever it is, it is ours)
        return _ours(error)


def _ours(error: Exception) -> int:
    if isinstance(error, OSError) and error.errno in _UNWRITABLE:
        complain(f"cannot write: {os.strerror(error.errno).lower()}")
        _forget(sys.stdout)
        return OURS
    if os.environ.get("PHALANX_DEBUG"):
        import traceback  # noqa: PLC0415 (nobody else needs it)

        traceback.print_exc()
    complain(f"internal error: {_one_line(error)} (set PHALANX_DEBUG=1 for the traceback)")
    return OURS


def _open_streams() -> None:
    """Give a process that was started with closed streams (`>&-`) some to write to."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 (for as long as we live)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 (as above)


def _forget(stream: TextIO) -> None:
    """Let a stream go nowhere from now on: Python would complain once more when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(arguments: Sequence[str]) -> int:
    match arguments:
        case [] | ["--help" | "-h"]:
            status: object = print(page(), end="")
        case ["--version"]:
            status = print(__version__)
        case ["__complete", *words]:
            # Asked by shells, not by people: no command, and in no page.
            from phalanx.cli.completing import complete  # noqa: PLC0415

            status = complete(words)
        case [wanted, *_]:
            status = _command(wanted, arguments)
    sys.stdout.flush()
    return status if isinstance(status, int) else 0


def _command(wanted: str, arguments: Sequence[str]) -> object:
    # To load a command makes many objects and almost no garbage: looking for it again and again took a quarter of the
    # time of a start.
    gc.set_threshold(50_000, 20, 100)
    from cyclopts import CycloptsError, UnusedCliTokensError  # noqa: PLC0415 (as above)

    try:
        return app(wanted)(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except UnusedCliTokensError as error:
        odd = (error.unused_tokens or [""])[0]
        raise Mistake(f"{wanted}: found {odd}, which means nothing here; see phalanx {wanted} --help") from None
    except CycloptsError as error:
        raise Mistake(" ".join(str(error).split())) from None


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:500]}" if text else type(error).__name__
