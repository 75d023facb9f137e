"""The command `phalanx`: what can go wrong in any command ends here as one line and an exit status."""

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from cyclopts import App, CycloptsError

from phalanx import __version__
from phalanx.cli.output import Mistake, complain

#: Modules that register a command each, in the order of `--help`.
_COMMANDS = ("plan", "simulate", "demo", "policy", "queues", "run", "playground", "install")

OURS, THEIRS, INTERRUPTED = 1, 2, 130


def app(wanted: str | None = None) -> App:
    """Return the command line: the one command that is wanted, so that nobody waits for the others; else all."""
    phalanx = App(
        name="phalanx",
        version=__version__,
        # Ctrl-C is caught below, once for all commands.
        suppress_keyboard_interrupt=False,
        help="All together, or not at all: an AI-native workload scheduler for Kubernetes.",
    )
    for name in [wanted] if wanted in _COMMANDS else _COMMANDS:
        import_module(f"phalanx.cli.{name}").register(phalanx)
    return phalanx


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0 done, 1 our mistake, 2 the user's."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the program.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except Mistake as mistake:
        complain(str(mistake))
        return THEIRS
    except CycloptsError as error:
        complain(" ".join(str(error).split()))
        return THEIRS
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 (the last resort: whatever it is, it is ours)
        if os.environ.get("PHALANX_DEBUG"):
            traceback.print_exc()
        complain(f"internal error: {_one_line(error)} (set PHALANX_DEBUG=1 for the traceback)")
        return OURS


def _run(arguments: Sequence[str]) -> int:
    status = app(next(iter(arguments), None))(
        arguments, exit_on_error=False, print_error=False, result_action="return_value"
    )
    sys.stdout.flush()
    return status if isinstance(status, int) else 0


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:500]}" if text else type(error).__name__
