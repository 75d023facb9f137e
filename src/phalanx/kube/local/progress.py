"""Show that a long build is alive: one line that changes on a terminal, one line every 20 s anywhere else."""

import sys
import threading
import time
from types import TracebackType
from typing import Self, TextIO

TERMINAL_SECONDS = 0.5
PLAIN_SECONDS = 20.0


class Progress:
    """Count what is done and say so from time to time, with the seconds since the start."""

    def __init__(self, what: str, unit: str, stream: TextIO | None = None) -> None:
        self.done = 0
        self._what, self._unit = what, unit
        self._stream = stream if stream is not None else sys.stderr
        self._terminal = self._stream.isatty()
        self._start = time.monotonic()
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        self._write(f"{self._what}…")
        self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._ticker.join()
        self._write(f"{self._line()}: {'done' if error is None else 'stopped'}", last=True)

    def _line(self) -> str:
        return f"{self._what}: {self.done:,} {self._unit}, {time.monotonic() - self._start:.0f} s"

    def _tick(self) -> None:
        while not self._over.wait(TERMINAL_SECONDS if self._terminal else PLAIN_SECONDS):
            self._write(self._line())

    def _write(self, line: str, *, last: bool = False) -> None:
        if self._terminal:
            end = "\n" if last else ""
            self._stream.write(f"\r{line}\x1b[K{end}")
        else:
            self._stream.write(f"{line}\n")
        self._stream.flush()
