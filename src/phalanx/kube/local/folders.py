"""The folder of a control plane: private, and gone when its keeper is, or at the latest when the next one starts."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from phalanx.kube.local.errors import LocalError

_PREFIX = "phalanx-local-"


def temporary_folder() -> Path:
    """Return a new folder that only this user can look into."""
    sweep()
    return Path(tempfile.mkdtemp(prefix=_PREFIX))


def kept_folder(path: Path) -> Path:
    """Return a folder that the user named and that stays. Old state under new keys would start half-broken."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if any(path.iterdir()):
        raise LocalError(f"folder {path} is not empty: name a new one for a new control plane")
    return path.absolute()


def sweep() -> None:
    """Remove the folders of control planes whose keeper was killed and could not do it."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            lock = os.open(folder / "lock", os.O_RDWR)
        except OSError:
            # Another user's, already gone, or so new that its keeper has not locked it yet.
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
