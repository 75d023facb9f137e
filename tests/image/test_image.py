"""The image: built from nothing but packages, with nothing in it that run time does not need, and run as in a pod."""

import os
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from phalanx.kube.install import PORT, UID, Installation, objects
from phalanx.kube.local.nodes import node_manifest
from phalanx.kube.playground import grant
from phalanx.testing.control_plane import ControlPlane
from phalanx.testing.objects import create_all, gang_manifests
from phalanx.testing.running import eventually, places
from tests.image.containers import Container, Mirror, Store, missing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    # Of which a base and the image take most, where the packages have to be fetched.
    pytest.mark.timeout(900),
]

IMAGE = "localhost/phalanx:test"
#: Programs, parts of Python and folders that nobody needs who runs the image.
UNWANTED = (
    "*/bin/sh", "*/bin/bash", "*/bin/dash", "*/bin/busybox", "*/bin/perl*", "*/bin/apt*", "*/bin/dpkg*", "*/bin/tar",
    "*/bin/uv", "*/bin/pip*", "*/bin/gcc*", "*/bin/cc", "*/bin/ld*", "*/site-packages/pip", "*/dist-packages/pip",
    "*/site-packages/uv", "*/ensurepip", "*/python-wheels", "*/idlelib", "*/tkinter", "*/lib/python3*/test",
    "*/site-packages/*/tests", "*/site-packages/pytest", "*/site-packages/hypothesis", "*/site-packages/cryptography",
    "*/share/man/*", "/usr/include/*", "/uv", "/build", "/run/lean.py", "/run/secrets",
    "*/gconv", "*/lib/python3*/distutils", "*/numpy/distutils", "*/site-packages/pygments",
    "*/site-packages/markdown_it", "*/bin/py3*", "*/start-stop-daemon",
    "*/libdb-*.so*", "*/libkrb5.so*", "*/libsqlite3.so*", "*/libselinux.so*", "*/libncurses*.so*",
    "*/status.d/*pip*", "*/status.d/*setuptools*", "*/status.d/*venv*",
)  # fmt: skip

#: Names the modules of ours that do not load.
LOADING = """
import importlib, pkgutil, phalanx
for module in pkgutil.walk_packages(phalanx.__path__, "phalanx."):
    if not module.name.startswith(("phalanx.testing", "phalanx.__main__")):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError:
            print(module.name)
"""


@pytest.fixture(scope="module")
def mirror(pytestconfig: pytest.Config) -> Iterator[Mirror]:
    """What a company has in place of the public index."""
    locked = tomllib.loads((pytestconfig.rootpath / "uv.lock").read_text())
    public = next(package["source"]["registry"] for package in locked["package"] if package["name"] == "numpy")
    mirror = Mirror(os.environ.get("PIP_INDEX_URL", public))
    yield mirror
    mirror.stop()


@pytest.fixture(scope="module")
def store(mirror: Mirror, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Store]:
    """A store with the image, built of packages from a mirror."""
    store = Store(tmp_path_factory.mktemp("images"))
    store.environment |= {"PIP_INDEX_URL": mirror.url}
    store.environment.pop("UV_DEFAULT_INDEX", None)
    tool = str(pytestconfig.rootpath / "tools" / "image")
    store.run(tool, "base", "localhost/phalanx-base")
    print(store.run(tool, "build", IMAGE, "localhost/phalanx-base").splitlines()[-1])  # noqa: T201
    yield store
    store.run("buildah", "rm", "--all")


@pytest.fixture(scope="module")
def root(store: Store) -> Path:
    return store.root(IMAGE)


def test_nothing_is_in_it_that_run_time_does_not_need(root: Path) -> None:
    found = [f"/{path.relative_to(root)}" for path in root.rglob("*")]
    assert [path for path in found if any(fnmatch(path, pattern) for pattern in UNWANTED)] == []
    gains = [path for path in root.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o6000]
    assert [path for path in gains if path.is_file()] == []


def test_it_holds_what_it_runs_with_compiled(root: Path) -> None:
    """Nobody can keep what Python compiles when the root cannot be written: each start would compile all of it."""
    sources = list(root.glob("opt/phalanx/lib/python3*/site-packages/phalanx/**/*.py"))
    assert len(sources) > 200
    assert [path for path in sources if not list(path.parent.glob(f"__pycache__/{path.stem}.*.pyc"))] == []
    assert list(root.glob("usr/lib/python3.*/asyncio/__pycache__/events.*.pyc"))


def test_every_module_and_the_interpreter_find_their_libraries(root: Path) -> None:
    """What was taken out is missed by nothing that stayed, says the image's own dynamic loader."""
    loader = next(path for path in root.glob("lib64/ld-linux*"))
    modules = [path for path in root.rglob("*.so") if not path.is_symlink()]
    assert len(modules) > 50
    found = {path: inside(root, f"/{loader.relative_to(root)}", "--list", f"/{path.relative_to(root)}")
             for path in [*modules, *root.glob("usr/bin/python3.*")]}  # fmt: skip
    assert [f"{path.name}: {text}" for path, text in found.items() if "not found" in text] == []


def test_every_module_of_ours_loads_and_every_command_says_its_help(root: Path) -> None:
    """What was taken out of the packages that we depend on is missed by nothing that we do with them."""
    # pytest, hypothesis and cryptography are what the extras bring.
    assert inside(root, "/opt/phalanx/bin/python", "-c", LOADING).split() == [
        "phalanx.kube.local",
        "phalanx.kube.playground",
    ]
    commands = re.findall(r"^  ([a-z]+)  ", inside(root, "/opt/phalanx/bin/phalanx", "--help"), re.MULTILINE)
    assert len(commands) > 10
    helps = {command: inside(root, "/opt/phalanx/bin/phalanx", command, "--help") for command in commands}
    assert [command for command, text in helps.items() if not text.startswith(f"Usage: phalanx {command}")] == []


def inside(root: Path, *command: str) -> str:
    """Run a command inside the image, as its user, and return all that it prints."""
    done = subprocess.run(
        ["/usr/sbin/chroot", f"--userspec={UID}:{UID}", root, *command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env={"PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    return done.stdout


def test_nothing_in_it_is_there_for_debuggers_alone(root: Path) -> None:
    """A library ends where what is loaded of it ends; behind that come symbols, three quarters of some."""
    site = next(root.glob("opt/phalanx/lib/python3*/site-packages"))
    libraries = [path for path in site.rglob("*.so*") if path.is_file()]
    assert len(libraries) > 10
    assert [path for path in libraries if path.read_bytes()[40:48] != bytes(8)] == []


@pytest.mark.usefixtures("store")
def test_every_package_in_it_comes_from_the_mirror_that_the_environment_names(mirror: Mirror, root: Path) -> None:
    """The lock file names the public index, which many networks do not reach."""
    site = next(root.glob("opt/phalanx/lib/python3*/site-packages"))
    inside = {path.name.split("-")[0].replace("_", "-").lower() for path in site.glob("*.dist-info")} - {"phalanx"}
    assert len(inside) > 8
    assert inside | {"uv", "hatchling"} <= mirror.asked


def test_no_address_or_secret_of_the_machine_that_built_it_stays(store: Store, root: Path) -> None:
    for name in ("resolv.conf", "hostname", "hosts", "apt/sources.list"):
        path = root / "etc" / name
        assert not path.exists() or path.read_bytes() == b"", name
    assert list(root.glob("etc/apt/sources.list.d/*")) == []
    config = store.config(IMAGE)
    assert (config["User"], config["Entrypoint"]) == (f"{UID}:{UID}", ["phalanx"])
    assert sorted(line.split("=")[0] for line in config["Env"]) == [
        "LANG", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED",
    ]  # fmt: skip
    assert not (root / "etc/pip.conf").exists()


@pytest.fixture
def pod(
    store: Store, root: Path, tmp_path: Path, fresh_control_plane: Callable[..., ControlPlane]
) -> Iterator[tuple[ControlPlane, Callable[[str], Container]]]:
    """A control plane, and a way to start replicas on it as its Deployment would."""
    plane = fresh_control_plane()
    grant(plane)
    token = tmp_path / "token"
    token.mkdir()
    (token / "token").write_text(plane.kubectl("create", "token", "phalanx", "--namespace=phalanx-system"))
    (token / "ca.crt").write_bytes(plane.ca.read_bytes())
    (token / "namespace").write_text("phalanx-system")
    running: list[Container] = []

    def start(name: str) -> Container:
        host, port = plane.url.removeprefix("https://").split(":")
        environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "POD_NAME": name}
        # The lease's times and all the rest as installed; but two replicas on one machine cannot have one port.
        arguments = [*deployment()["args"]]
        arguments[arguments.index(f"--port={PORT}")] = "--port=0"
        running.append(Container(name, store.config(IMAGE), root, tmp_path, arguments, environment, token))
        return running[-1]

    yield plane, start
    for one in running:
        if one.process.poll() is None:
            one.stop("KILL")


def deployment() -> dict[str, Any]:
    """Return the container of the Deployment that is installed."""
    installed = objects(Installation(namespace="phalanx-system"))
    (found,) = (one for one in installed if one["kind"] == "Deployment")
    container: dict[str, Any] = found["spec"]["template"]["spec"]["containers"][0]
    return container


def test_two_replicas_in_containers_bind_gangs_and_the_second_takes_over(
    pod: tuple[ControlPlane, Callable[[str], Container]],
) -> None:
    plane, start = pod
    create_all(plane.kubeconfig, [node_manifest("n1", gpus=16), *gang_manifests("first", 4)])
    one = start("one")
    eventually("the first gang is bound", lambda: len(places(plane, "first")) == 4, one.log)
    two = start("two")
    eventually("the second replica follows", lambda: " following " in two.said(), two.log)
    assert status_of(one) == {
        "Uid": f"{UID}\t{UID}\t{UID}\t{UID}", "Gid": f"{UID}\t{UID}\t{UID}\t{UID}",
        "CapEff": "0" * 16, "CapPrm": "0" * 16, "CapBnd": "0" * 16, "NoNewPrivs": "1",
    }  # fmt: skip
    assert one.stop() == 0
    assert "Traceback" not in one.said()
    eventually("the second replica leads", lambda: " leading " in two.said(), two.log)
    create_all(plane.kubeconfig, gang_manifests("second", 4))
    eventually("the second gang is bound", lambda: len(places(plane, "second")) == 4, two.log)
    assert two.stop() == 0


def status_of(container: Container) -> dict[str, str]:
    """Return what the kernel says about the rights of the process in a container."""
    lines = Path(f"/proc/{container.pid()}/status").read_text().splitlines()
    found = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    return {name: found[name] for name in ("Uid", "Gid", "CapEff", "CapPrm", "CapBnd", "NoNewPrivs")}
