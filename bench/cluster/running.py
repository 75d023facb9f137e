"""A contender's processes for as long as a block lasts; whatever happens to us, they end."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from phalanx.kube.local.processes import Processes


@contextmanager
def running(commands: dict[str, Sequence[str]]) -> Iterator[Processes]:
    """Start the commands in this order."""
    processes = Processes(Path(tempfile.mkdtemp(prefix="phalanx-bench-")), removed_at_end=True)
    try:
        for name, command in commands.items():
            processes.start(name, command)
        yield processes
    finally:
        processes.close()
