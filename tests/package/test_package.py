"""The package: what is in the wheel, what it says of itself, and that it installs and works alone."""

import email.message
import email.parser
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from phalanx import __version__

pytestmark = pytest.mark.slow

PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def call(command: Sequence[str | Path], folder: Path, **environment: str) -> str:
    """Run a command where none of our sources can be imported by accident; return what it prints."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        command, cwd=folder, env=inherited | environment, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """A folder with the source archive, and with the wheel that was built from that archive alone."""
    folder = tmp_path_factory.mktemp("dist")
    call([uv(), "build", "--quiet", "--out-dir", folder, pytestconfig.rootpath], folder, UV_SYSTEM_CERTS="true")
    return folder


def uv() -> str:
    """Return the uv that the development environment has."""
    found = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert found
    return found


def wheel(folder: Path) -> Path:
    return folder / f"phalanx-{__version__}-py3-none-any.whl"


def test_the_wheel_holds_every_file_of_the_package_and_no_other(built: Path, pytestconfig: pytest.Config) -> None:
    source = pytestconfig.rootpath / "src"
    ours = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    told = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    with zipfile.ZipFile(wheel(built)) as archive:
        assert set(archive.namelist()) == ours | {f"phalanx-{__version__}.dist-info/{name}" for name in told}
    assert {"phalanx/kube/manifests/4-deployment.yaml", "phalanx/policy/presets/default.yaml"} <= ours


def test_the_source_archive_has_what_the_wheel_is_built_of_and_what_tests_it(built: Path) -> None:
    with tarfile.open(built / f"phalanx-{__version__}.tar.gz") as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "uv.lock", "Makefile", "LICENSE", "src/phalanx/__init__.py", "tests/conftest.py"} <= found


def test_the_package_says_what_it_is(built: Path) -> None:
    with zipfile.ZipFile(wheel(built)) as archive:
        text = archive.read(f"phalanx-{__version__}.dist-info/METADATA").decode()
    found: email.message.Message = email.parser.Parser().parsestr(text)
    assert (found["Name"], found["Version"], found["Requires-Python"]) == ("phalanx", __version__, ">=3.11")
    assert (found["License-Expression"], found["License-File"]) == ("Apache-2.0", "LICENSE")
    classifiers = found.get_all("Classifier")
    assert classifiers is not None
    assert [f"Programming Language :: Python :: {python}" in classifiers for python in PYTHONS] == [True] * 4
    assert "Typing :: Typed" in classifiers
    # Licence classifiers were replaced by the expression; an index refuses both together.
    assert not [one for one in classifiers if one.startswith("License ::")]
    always = [one for one in found.get_all("Requires-Dist") or [] if "extra ==" not in one]
    assert not [one for one in always if one.startswith(("pytest", "hypothesis", "cryptography", "aiohttp"))]


def interpreter(version: str) -> str | None:
    """Return a Python of this version: from the PATH, or one that pyenv keeps without choosing it."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *sorted(kept.glob(f"{version}.*/bin/python{version}"))]
    for candidate in candidates:
        # pyenv's stand-ins are there for every version, and refuse to run the ones that were not chosen.
        if candidate and subprocess.run([candidate, "-V"], capture_output=True, check=False).returncode == 0:
            return str(candidate)
    return None


@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_alone_installs_and_works(
    version: str, built: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    home = tmp_path / "environment"
    call([uv(), "venv", "--quiet", "--python", python, home], tmp_path)
    call([uv(), "pip", "install", "--quiet", "--python", home, wheel(built)], tmp_path, UV_SYSTEM_CERTS="true")
    phalanx = home / "bin" / "phalanx"
    examples = pytestconfig.rootpath / "examples" / "deadlock" / "arriving"
    assert call([phalanx, "--version"], tmp_path).strip() == __version__
    assert "Deadlock" in call([phalanx, "demo"], tmp_path)
    assert "training" in call([phalanx, "plan", "-f", examples], tmp_path)
    assert "--kubeconfig" in call([phalanx, "run", "--help"], tmp_path)
    # What runs on a cluster loads without any extra, and says what it misses.
    for command in ("run", "check"):
        done = subprocess.run(
            [phalanx, command, "--kubeconfig", "nowhere"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, "nowhere" in done.stderr + done.stdout) == (2, True), done.stderr
    assert "kind: Deployment" in call([phalanx, "install", "--print"], tmp_path)
    assert "schedulerNames" in call([phalanx, "policy", "show", "default"], tmp_path)
