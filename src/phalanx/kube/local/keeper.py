"""The keeper: parent of a control plane's processes, and its undertaker.

It runs as a process of its own, from this file alone, and takes orders as lines of JSON. When whoever started it is
gone, killed or not, it ends every process and removes the folder. When the keeper itself is killed, the kernel ends its
children (on Linux), and the next control plane removes the folder: `folders.sweep`.
"""

import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def main() -> None:
    """Keep the processes of one folder until the parent has gone or closed the line."""
    folder, removed_at_end = Path(sys.argv[1]), sys.argv[2] == "remove"
    for ending in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: sys.exit())
    lock = _lock(folder)
    children: dict[int, subprocess.Popen[bytes]] = {}
    try:
        with suppress(BrokenPipeError):
            for order in _orders():
                os.write(1, json.dumps(_obey(order, children, folder)).encode() + b"\n")
    finally:
        for child in children.values():
            child.kill()
        for child in children.values():
            child.wait()
        if removed_at_end:
            shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _lock(folder: Path) -> int:
    """Mark the folder as lived in. It is renamed when held, so that nobody sees it unheld while we live."""
    lock = os.open(folder / "lock.new", os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    (folder / "lock.new").rename(folder / "lock")
    return lock


def _orders() -> Iterator[dict[str, Any]]:
    """Yield orders until the line closes. A fork of the parent may keep it open: then its new parent tells."""
    parent, pending = os.getppid(), b""
    while os.getppid() == parent:
        if not select.select([0], [], [], 1.0)[0]:
            continue
        received = os.read(0, 65536)
        if not received:
            return
        *lines, pending = (pending + received).split(b"\n")
        for line in lines:
            yield json.loads(line)


def _obey(order: dict[str, Any], children: dict[int, subprocess.Popen[bytes]], folder: Path) -> dict[str, Any]:
    match order:
        case {"start": argv, "log": log}:
            try:
                child = _start(argv, folder, Path(log))
            except OSError as error:
                return {"error": str(error)}
            children[child.pid] = child
            return {"pid": child.pid}
        case {"ask": pid} | {"end": pid} if pid not in children:
            # Two threads of the parent may ask and end at once.
            return {"status": None}
        case {"end": pid}:
            children[pid].kill()
            return {"status": children.pop(pid).wait()}
        case {"ask": pid}:
            return {"status": children[pid].poll()}
        case _:
            return {"error": f"no such order: {order}"}


def _start(argv: list[str], folder: Path, log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603
            argv,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Safe because the keeper has one thread.
            preexec_fn=_die_with_parent,  # noqa: PLW1509
        )


def _die_with_parent() -> None:
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
