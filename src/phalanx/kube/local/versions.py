"""Which Kubernetes is wanted, and the exact versions pinned for everything a local control plane is made of."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from phalanx.kube.local.errors import LocalError

VERSIONS = ("1.35", "1.36", "1.37")
DEFAULT = "1.36"
#: What a control plane is made of, and helm, which only the tests of the chart ask for.
COMMANDS = ("kube-apiserver", "etcd", "kubectl", "kube-controller-manager", "kube-scheduler", "kwok")
HELM = "helm"

_MODULES = Path(__file__).parent / "modules"
_REQUIRE = re.compile(r"^require (?P<path>\S+) v(?P<version>\S+)$", re.MULTILINE)
_GO = re.compile(r"^go (\S+)$", re.MULTILINE)
_IMPORT = re.compile(r'_ "([^"]+)"')


@dataclass(frozen=True, slots=True)
class Module:
    """A folder with a committed go.mod and go.sum: one product, pinned with all that it is built from."""

    name: str
    folder: Path
    path: str
    version: str
    #: The oldest Go that may build it.
    go: str

    @property
    def label(self) -> str:
        """The product and its exact version, as a cache folder and a progress line name it."""
        return f"{self.name}-{self.version}"

    @property
    def minor(self) -> tuple[int, int]:
        """The part of the version that must match when a program is found elsewhere."""
        major, minor, *_ = self.version.split(".")
        return int(major), int(minor)

    def package(self, command: str) -> str:
        """Return the Go package of a command: the only one imported, or the one that ends in its name."""
        packages: list[str] = _IMPORT.findall((self.folder / "tools.go").read_text("utf-8"))
        return next(package for package in packages if len(packages) == 1 or package.endswith(f"/{command}"))


def wanted(version: str | None = None) -> str:
    """Return the Kubernetes version to use: the argument, else the environment's K8S, else the default."""
    source, found = ("version", version) if version is not None else ("K8S", os.environ.get("K8S") or DEFAULT)
    if found not in VERSIONS:
        raise LocalError(f"{source} is {found!r}, allowed are {', '.join(VERSIONS)}")
    return found


def module_of(command: str, version: str) -> Module:
    """Return the module that a command is built from."""
    name = command if command in {"etcd", "kwok", HELM} else "kubernetes"
    folder = _MODULES / (name if name != "kubernetes" else f"kubernetes-{version}")
    text = (folder / "go.mod").read_text("utf-8")
    require, go = _REQUIRE.search(text), _GO.search(text)
    assert require, f"{folder.name}/go.mod names no version"
    assert go, f"{folder.name}/go.mod names no Go"
    return Module(name, folder, require["path"], require["version"], go[1])
