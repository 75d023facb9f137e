"""Find the programs of a control plane where people have them; build only what is nowhere."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from phalanx.kube.local.build import build
from phalanx.kube.local.versions import COMMANDS, HELM, Module, module_of

_QUESTIONS = {"kubectl": ["version", "--client"], HELM: ["version", "--short"]}
_VERSION = re.compile(r"\bv?(\d+)\.(\d+)\.\d+")


def binaries(commands: Iterable[str], version: str) -> dict[str, Path]:
    """Return where each command is, after building those that are neither installed nor built yet."""
    names = sorted(commands, key=(*COMMANDS, HELM).index)
    missing: dict[Module, list[str]] = {}
    for name in names:
        if find(name, version) is None:
            missing.setdefault(module_of(name, version), []).append(name)
    for module, absent in missing.items():
        build(module, absent, cache_folder(module))
    paths = {}
    for name in names:
        path = find(name, version)
        assert path, f"{name} {version} was built and is not there"
        paths[name] = path
    return paths


def find(command: str, version: str) -> Path | None:
    """Return a program that is here already: in KUBEBUILDER_ASSETS, on PATH, or built before."""
    module = module_of(command, version)
    for installed in _installed(command):
        if _minor_of(installed) == module.minor:
            return installed
    built = cache_folder(module) / command
    return built if built.exists() else None


def cache_folder(module: Module) -> Path:
    """Return where a module's programs are kept between runs, outside any tree."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "phalanx" / module.label


def _installed(command: str) -> Iterator[Path]:
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    for found in (assets and shutil.which(command, path=assets), shutil.which(command)):
        if found:
            yield Path(found).absolute()


@cache
def _minor_of(program: Path) -> tuple[int, int] | None:
    """Ask a program for its version; one that does not answer is not used."""
    question = _QUESTIONS.get(program.name, ["--version"])
    try:
        answer = subprocess.run([program, *question], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(answer.stdout + answer.stderr)
    return (int(match[1]), int(match[2])) if match else None
