"""A file in which a simulation remembers what the queues used, so that the next one goes on from there.

Virtual time begins at zero in every run. What is stored is therefore moved to just before zero, by whole slots of
the window, so that nothing in it is divided anew.
"""

import json
from pathlib import Path

from phalanx.world.usage_text import SLOTS
from phalanx.world.world import World


class MemoryFileError(Exception):
    """A file that cannot be used: one line that says why."""


def read_memory(world: World, path: Path) -> None:
    """Let a world begin with what a file remembers. A file that is not there remembers nothing."""
    usage = world.queues.usage
    if usage is None:
        raise MemoryFileError(
            "the policy remembers nothing, allowed is a file only with share.arguments.memory in the policy"
        )
    try:
        stored = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return
    except OSError as error:
        raise MemoryFileError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, RecursionError):
        raise MemoryFileError(f"{path}: not JSON, allowed is a file that an earlier run has written") from None
    sentence = usage.load(_from_zero(stored))
    if sentence is not None:
        raise MemoryFileError(f"{path}: {sentence}")


def write_memory(world: World, path: Path, now: float) -> None:
    """Keep what the queues have used until now."""
    # Whatever was used since the last cycle counts too.
    world.compile(now)
    usage = world.queues.usage
    if usage is None:
        return
    try:
        path.write_text(json.dumps(usage.export(), indent=1) + "\n", "utf-8")
    except OSError as error:
        raise MemoryFileError(f"{path}: {(error.strerror or str(error)).lower()}") from None


def _from_zero(stored: object) -> object:
    """Return it as if the run it comes from had ended in the slot that begins at zero; what is no export stays so."""
    if not isinstance(stored, dict):
        return stored
    try:
        return {**stored, "at": stored["at"] % (stored["window"] / SLOTS)}
    except (KeyError, TypeError, ZeroDivisionError, OverflowError):
        return stored
