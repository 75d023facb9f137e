"""Volcano's own files, from its Go module: definitions and examples are looked at there and not copied."""

import json
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest

#: Of this one definitions, examples and the command line can be had, of the one below the controllers too.
NEWEST = "volcano.sh/volcano@v1.15.1"


@lru_cache
def module(version: str = NEWEST) -> Path:
    """Return the folder of a module, or skip."""
    if shutil.which("go") is None:
        pytest.skip("Volcano's files need go, to download its module")
    ask = ["go", "mod", "download", "-json", version]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    folder = json.loads(done.stdout or "{}").get("Dir") if done.returncode == 0 else None
    if not folder:
        pytest.skip(f"{version} cannot be downloaded here")
    return Path(folder)


def definitions(*plurals: str) -> list[Path]:
    """Return the files of some of its definitions, by `group_plural`."""
    return [module() / "config" / "crd" / "volcano" / "bases" / f"{plural}.yaml" for plural in plurals]
