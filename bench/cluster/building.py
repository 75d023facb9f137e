"""Build other schedulers from their Go modules, once, into the user's cache: the comparison is with the real ones."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from phalanx.kube.local import LocalError, MissingError
from phalanx.kube.local.progress import Progress


@dataclass(frozen=True, slots=True)
class Source:
    """A Go module at one version, and the programs in it."""

    module: str
    version: str
    #: Package by program name.
    programs: Mapping[str, str]
    #: Modules to take at another version than its go.mod says, because that one is a folder of its repository.
    replace: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where its sources and programs are kept between runs."""
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(home) / "phalanx" / "peers" / f"{self.module.rpartition('/')[2]}-{self.version}"


def build(source: Source) -> Path:
    """Return a folder with the module's sources and, under `bin`, its programs."""
    go = shutil.which("go")
    if go is None:
        raise MissingError(f"{source.module} needs Go to be built: install it, or leave PEERS unset")
    folder = source.folder
    if not folder.exists():
        _copy(go, source, folder)
    for program, package in source.programs.items():
        if not (folder / "bin" / program).exists():
            with Progress(f"building {program} {source.version}", "programs"):
                _go(go, folder, "build", "-mod=mod", "-o", f"bin/{program}", package)
    return folder


def _copy(go: str, source: Source, folder: Path) -> None:
    """Copy the module to where it can be built with its own replacements; it appears whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    answer = json.loads(_go(go, folder.parent, "mod", "download", "-json", f"{source.module}@{source.version}"))
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(answer["Dir"], unfinished)
    for path in [unfinished, *unfinished.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    for change in source.replace:
        _go(go, unfinished, "mod", "edit", f"-replace={change}")
    unfinished.rename(folder)


def _go(go: str, folder: Path, *words: str) -> str:
    # The user's own workspace or flags could change what is built.
    settings = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
    done = subprocess.run([go, *words], cwd=folder, env=os.environ | settings, capture_output=True, text=True)  # noqa: S603, PLW1510
    if done.returncode:
        raise LocalError(f"go {' '.join(words)}: {done.stderr.strip()[-2000:]}")
    return done.stdout
