"""The processes of one control plane by name, run by a keeper so that none outlives us."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from phalanx.kube.local import keeper
from phalanx.kube.local.errors import LocalError

_LOG_LINES = 20


class Processes:
    """Start, pause, resume and kill processes; usable from any thread."""

    def __init__(self, folder: Path, *, removed_at_end: bool) -> None:
        self.pids: dict[str, int] = {}
        self._folder = folder
        self._commands: dict[str, Sequence[str]] = {}
        self._turn = threading.Lock()
        self._keeper = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", keeper.__file__, str(folder), "remove" if removed_at_end else "keep"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def start(self, name: str, command: Sequence[str]) -> None:
        """Start a process under a name; what it says is added to `log(name)`."""
        assert name not in self.pids, f"{name} is running"
        answer = self._order({"start": [str(word) for word in command], "log": str(self._log(name))})
        self._commands[name] = command
        self.pids[name] = answer["pid"]

    def kill(self, name: str) -> None:
        """End a process at once, as a crash would, paused or not, and return when it is gone."""
        self._order({"end": self._pid(name)})
        del self.pids[name]

    def restart(self, name: str) -> None:
        """Start a process again as it was started before, after killing it if it still runs."""
        if name not in self._commands:
            raise LocalError(f"{name} was never started here, there are {', '.join(self._commands)}")
        if name in self.pids:
            self.kill(name)
        self.start(name, self._commands[name])

    def pause(self, name: str) -> None:
        """Stop a process where it stands (SIGSTOP): its connections stay open and nothing answers."""
        os.kill(self._pid(name), signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Let a paused process go on."""
        os.kill(self._pid(name), signal.SIGCONT)

    def log(self, name: str) -> str:
        """Return all that a process has said since the first start."""
        path = self._log(name)
        return path.read_text("utf-8", errors="replace") if path.exists() else ""

    def check(self) -> None:
        """Raise, with the end of its log, when a process has ended by itself."""
        for name, pid in list(self.pids.items()):
            status = self._order({"ask": pid})["status"]
            if status is not None:
                raise LocalError(
                    f"{name} ended by itself with status {status}; its last words:\n{self.last_words(name)}"
                )

    def last_words(self, name: str) -> str:
        """Return the end of a log, enough to see why a process gave up."""
        return "\n".join(self.log(name).splitlines()[-_LOG_LINES:])

    def close(self) -> None:
        """End all processes, and remove the folder if that was wanted."""
        assert self._keeper.stdin
        assert self._keeper.stdout
        with suppress(BrokenPipeError):
            self._keeper.stdin.close()
        self._keeper.wait()
        self._keeper.stdout.close()
        self.pids.clear()

    def _pid(self, name: str) -> int:
        # The keeper reaps a child only when ordered to, so a pid in the table is never another process's.
        if name not in self.pids:
            raise LocalError(f"{name} is not running here, running are {', '.join(self.pids) or 'none'}")
        return self.pids[name]

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self._keeper.stdin
        assert self._keeper.stdout
        with self._turn:
            try:
                self._keeper.stdin.write(json.dumps(order).encode() + b"\n")
                self._keeper.stdin.flush()
                line = self._keeper.stdout.readline()
            except OSError:
                line = b""
        if not line:
            raise LocalError("the keeper of this control plane was killed, and its processes with it")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise LocalError(answer["error"])
        return answer
